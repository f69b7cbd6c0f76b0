// A dot_general as a loop over matrix products: which axes are looped over, what the strides of rows, columns and terms
// are.
#pragma once
#include <optional>
#include <span>

#include "hone/compiler/works.h"
#include "hone/math/packed_contraction.h"
#include "hone/ops/attrs.h"
#include "hone/ops/kernel.h"

namespace hone {

/// c[l, i, j] = sum over t of a[l, i, t] b[l, t, j] (+ bias[j]) for each l of `loops`; strides in elements, c dense
/// row-major but for `loops`.
struct GemmPlan {
  struct Loop {
    int64_t extent, a, b, c;
  };
  int64_t m = 1, n = 1, k = 1;
  int64_t a_row = 0, a_k = 0, b_k = 0, b_column = 0, c_row = 0;
  FixedVector<Loop, 2 * kMaxRank> loops;
  int64_t count = 1;  ///< product of the loops' extents

  struct Offsets {
    int64_t a = 0, b = 0, c = 0;
  };
  Offsets at(int64_t index) const {
    Offsets o;
    for (size_t i = loops.size(); i-- > 0; index /= loops[i].extent) {
      const int64_t j = index % loops[i].extent;
      o.a += j * loops[i].a, o.b += j * loops[i].b, o.c += j * loops[i].c;
    }
    return o;
  }
};

/// An operand whose strides fit no matrix, and how it lies where it is packed: dense, in the order of `strides`.
struct GemmPacking {
  TensorType type;
  Ints strides;  ///< of the operand, axis by axis of `type`
};
/// A plan by types and layouts alone.
struct GemmLayout {
  GemmPlan plan;
  std::optional<GemmPacking> a, b;
};

/// Of a dot_general or dense call. `unit_strides`: each matrix must have a unit stride along rows or columns (what BLAS
/// can read).
GemmLayout layout_gemm(const Op& op, AttrRef attrs, std::span<const Tensor> inputs, bool unit_strides);

/// The plan for functions of works, uncut.
math::ProductParams product_params(const GemmPlan& plan, bool bias);
/// a, b, result and the bias if there is one, as the layout needs them: copies are works put in front.
SmallVector<WorkMemory, 4> product_operands(Works& works, const KernelQuery& query, const GemmLayout& layout);

/// A plan and the operands it speaks of: the call's own, or packed copies.
struct Gemm {
  GemmPlan plan;
  Tensor a, b;
};
Gemm plan_gemm(const KernelCall& call, bool unit_strides);

}  // namespace hone
