// What one instruction-set level offers: plain functions over plain memory. Knows nothing of tensors or threads.
#pragma once
#include <cstdint>

#include "hone/math/nn_kernels.h"
#include "hone/math/reduce_kernels.h"
#include "hone/math/types.h"
#include "hone/math/work.h"

namespace hone::math {

/// Operands of a tile: contiguous arrays of one element type (compare and is_finite write bool; select's in[0] is
/// bool). `out` may equal any input of the same element size.
struct TileArgs {
  const void* in[3];
  void* out;
  double params[2];  ///< attributes of functors that have some (leaky_relu's alpha, reduce_precision's bits)
};
/// Elements [begin, end) of the arrays. The same bits for any split and any level (of a NaN only that it is one).
using TileFn = void (*)(const TileArgs& args, int64_t begin, int64_t end);

/// One tile for each element type in DType's order; null where the type is not taken.
struct TileRow {
  TileFn tiles[kElementTypes];
  constexpr TileFn operator[](int type) const { return tiles[type]; }
};

template <class... T>
struct TypeList {};
template <class Tuple>
struct TypeListOf;
template <class... T>
struct TypeListOf<std::tuple<T...>> {
  using Type = TypeList<T...>;
};
using ElementTypeList = TypeListOf<ElementTypes>::Type;

/// c[i, j] = sum over k of a[i, k] b[k, j] for one panel of at most kPanelBytes of columns: k ascending from +0 (or
/// from c if `accumulate`), by fma for floats, wrapping for integers; then + bias[j] if there is one. The same bits at
/// any level.
struct PanelArgs {
  const void* a = nullptr;
  int64_t a_row = 0, a_k = 0;  ///< strides in elements
  const void* b;  ///< rows of one full panel (what lies beyond `columns` is read, not used), or of several if rows = 1
  int64_t b_k;
  void* c;
  int64_t c_row;
  int64_t rows, columns, k;
  const void* bias = nullptr;
  bool accumulate = false;
};
inline constexpr int kPanelBytes = 64;

/// One row of attention scores s[0, n), readable and writable up to the next multiple of 16 (what is there is lost):
/// online softmax over blocks of keys. mask (true = attend) may be null.
struct AttentionRow {
  float* s;
  int64_t n;
  const bool* mask;
  float scale;
};
struct ContractionKernels {
  void (*panel[6])(const PanelArgs&);  ///< f32, f64, integers of 1, 2, 4, 8 bytes
  /// s becomes exp(scale s - new maximum), 0 where masked; updates maximum (from -Inf) and sum; returns the factor for
  /// what was accumulated before.
  float (*softmax_row)(const AttentionRow&, float& maximum, float& sum);
  /// s becomes the probability exp(scale s - lse), 0 where masked.
  void (*probability_row)(const AttentionRow&, float lse);
  /// ds[i] = p[i] (dp[i] - delta) scale, over dp; both padded as AttentionRow's s.
  void (*score_gradient_row)(const float* p, float* dp, int64_t n, float delta, float scale);
  float (*dot)(const float* a, const float* b, int64_t n);  ///< in kPanelBytes / 4 partial sums, folded in halves
  void (*scale_row)(float* x, int64_t n, float factor);
};

/// All kernels of a level. A header of loops x.h offers fill_x(Kernels&); backend/cpu/isa_table.h calls them.
struct Kernels {
  const TileRow* elementwise;      ///< [row of ops.def's ELEMENTWISE][type of the operands; select's: of the branches]
  TileRow convert[kElementTypes];  ///< [from][to]
  ContractionKernels contraction;
  ReduceKernels reduce[kReduceKinds][kElementTypes];
  NnKernels nn;
  const WorkFn* works;  ///< by WorkId
};

}  // namespace hone::math
