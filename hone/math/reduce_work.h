// Reductions as works.
#pragma once
#include "hone/math/convert.h"
#include "hone/math/reduce.h"
#include "hone/math/work.h"

namespace hone::math {

/// [outer, extent, inner] to [outer, inner], extent > 0. Items are rows of `outer` where inner is 1, else tiles of
/// kReduceColumns columns of them. Scratch: reduce_scratch.
struct ReduceParams {
  int64_t extent, inner;
};
inline constexpr int64_t kReducePart = kReduceRows * kReduceGroup;  ///< rows that a pass over columns takes at once
inline int64_t reduce_tiles(const ReduceParams& p) {
  return p.inner == 1 ? 1 : (p.inner + kReduceColumns - 1) / kReduceColumns;
}
inline int64_t reduce_scratch(const ReduceParams& p) {
  return p.inner == 1 || p.extent <= kReducePart ? 0 : (p.extent + kReducePart - 1) / kReducePart * kReduceColumns * 8;
}

namespace HONE_LEVEL {

/// Work: memory is the operand and the result, which has the accumulator's type.
template <class Op, class T>
void reduce_work(const WorkArgs& args, int64_t begin, int64_t end) {
  constexpr ReduceKernels kKernels = reduce_entry<Op, T>();
  constexpr int64_t kItem = sizeof(T), kResult = kIsHalfFloat<T> ? 4 : sizeof(T);
  const ReduceParams& p = *static_cast<const ReduceParams*>(args.params);
  const std::byte* const x = args.memory[0];
  std::byte* const result = args.memory[1];
  if (p.inner == 1) {
    for (int64_t i = begin; i < end; ++i) kKernels.row(x + i * p.extent * kItem, p.extent, result + i * kResult);
    return;
  }
  const int64_t tiles = reduce_tiles(p), parts = (p.extent + kReducePart - 1) / kReducePart;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t block = i / tiles, column = i % tiles * kReduceColumns, left = p.inner - column;
    const int64_t columns = left < kReduceColumns ? left : kReduceColumns;
    const std::byte* const from = x + (block * p.extent * p.inner + column) * kItem;
    std::byte* const to = result + (block * p.inner + column) * kResult;
    if (parts == 1) {
      kKernels.columns(from, p.extent, p.inner, columns, to);
      continue;
    }
    std::byte* const part = args.scratch;
    const int64_t bytes = columns * kResult;
    for (int64_t k = 0; k < parts; ++k) {
      const int64_t row = k * kReducePart, rows = p.extent - row < kReducePart ? p.extent - row : kReducePart;
      kKernels.columns(from + row * p.inner * kItem, rows, p.inner, columns, part + k * bytes);
    }
    for (int64_t step = 1; step < parts; step *= 2) {  // neighbours first
      for (int64_t k = 0; k + step < parts; k += 2 * step)
        kKernels.combine(part + k * bytes, part + (k + step) * bytes, columns);
    }
    __builtin_memcpy(to, part, static_cast<size_t>(bytes));
  }
}

}  // namespace HONE_LEVEL
}  // namespace hone::math
