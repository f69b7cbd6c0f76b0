// Reductions of one instruction-set level. Sums have one order on every level (docs/numerics.md).
#pragma once
#include <cstdint>

namespace hone::math {

enum ReduceKind : int { kReduceSum, kReduceProd, kReduceMax, kReduceMin, kReduceAnd, kReduceOr, kReduceKinds };

/// The canonical order. Contiguous elements: blocks of kReduceBlock, in each of them element i goes to accumulator i
/// mod 64 (64-bit types: 32), the accumulators are folded in halves. Rows of columns: blocks of kReduceRows rows, one
/// after another. Block results are combined pairwise, neighbours first, an odd one is carried over. Accumulators start
/// at the identity (-0 for sums).
inline constexpr int64_t kReduceBlock = 4096, kReduceRows = 64;
/// Blocks that one call combines: a whole subtree.
inline constexpr int64_t kReduceGroup = 16;
/// Columns that one call takes at most.
inline constexpr int64_t kReduceColumns = 1024;

/// Results have the accumulator's type: f32 for 16-bit floats, else the elements'.
struct ReduceKernels {
  /// n >= 1 contiguous elements.
  void (*row)(const void* x, int64_t n, void* result);
  /// Each of `columns` columns over 1 <= rows <= kReduceRows * kReduceGroup rows that lie `stride` elements apart.
  void (*columns)(const void* x, int64_t rows, int64_t stride, int64_t columns, void* result);
  /// into[i] = into[i] op with[i], in the accumulator's type.
  void (*combine)(void* into, const void* with, int64_t n);
};

}  // namespace hone::math
