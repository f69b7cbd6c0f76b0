// Clusters of elementwise calls as works: machine code over rows of operands that lie anywhere.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hone/math/level.h"
#include "hone/math/work.h"

namespace hone::math {

/// Elements of a cluster: rows of `row` contiguous ones of the results, over outer axes. An operand is contiguous
/// within a row or one element, as the code was made for it.
struct MapRows {
  static constexpr int kMaxArrays = 96, kMaxOuter = 6;
  int64_t row = 1;
  int32_t arrays = 0, operands = 0, outer_rank = 0;
  int32_t lanes = 1;  ///< elements that the code takes at least
  int64_t outer_size[kMaxOuter] = {};
  int64_t outer_step[kMaxOuter][kMaxArrays] = {};  ///< bytes
  uint8_t item[kMaxArrays] = {};                   ///< bytes of an element
  bool one[kMaxArrays] = {};                       ///< one element a row
};

/// Rows of a cluster that reduces them.
struct ReducedRows {
  int64_t length = 1;
  int32_t arrays = 0, kept = 0;
  int64_t step[MapRows::kMaxArrays] = {};  ///< bytes from row to row, by array
};
/// Bytes of scratch for a value that is kept.
inline int64_t kept_bytes(int64_t length) { return (length * 8 + 256 + 63) / 64 * 64; }

namespace HONE_LEVEL {

namespace map_detail {

inline constexpr int kPadBytes = 256;  // lanes of any type take no more (compiler/codegen.h)

// The last elements of a row, repeated to fill the lanes: others do what these do.
inline void run_rest(const MapRows& m, const WorkArgs& args, std::byte* const* at, int64_t begin, int64_t n) {
  struct alignas(64) Pad {
    std::byte bytes[kPadBytes];
  };
  Pad* const pads = reinterpret_cast<Pad*>(args.scratch);
  void* moved[MapRows::kMaxArrays];
  for (int32_t i = 0; i < m.arrays; ++i) {
    if (m.one[i]) {
      moved[i] = at[i];
      continue;
    }
    std::byte* const pad = pads[i].bytes;
    moved[i] = pad;
    if (i >= m.operands) continue;
    const int64_t item = m.item[i], bytes = m.lanes * item;
    __builtin_memcpy(pad, at[i] + begin * item, static_cast<size_t>(n * item));
    for (int64_t filled = n * item; filled < bytes; filled *= 2) {
      const int64_t more = filled < bytes - filled ? filled : bytes - filled;
      __builtin_memcpy(pad + filled, pad, static_cast<size_t>(more));
    }
  }
  args.code(moved, nullptr, 1, m.lanes);
  for (int32_t i = m.operands; i < m.arrays; ++i) {
    const int64_t item = m.item[i];
    __builtin_memcpy(at[i] + begin * item, pads[i].bytes, static_cast<size_t>(n * item));
  }
}

// Elements [begin, end) of one row.
inline void run_row(const MapRows& m, const WorkArgs& args, std::byte* const* row, int64_t begin, int64_t end) {
  const int64_t n = end - begin, whole = n - n % m.lanes;
  void* at[MapRows::kMaxArrays];
  if (whole > 0) {
    for (int32_t i = 0; i < m.arrays; ++i) at[i] = m.one[i] ? row[i] : row[i] + begin * m.item[i];
    args.code(at, nullptr, 1, whole);
  }
  if (whole < n) run_rest(m, args, row, begin + whole, n - whole);
}

}  // namespace map_detail

/// Work: memory is the operands, then the results; items are elements; scratch kPadBytes for each array.
inline void map_rows(const WorkArgs& args, int64_t begin, int64_t end) {
  const MapRows& m = *static_cast<const MapRows*>(args.params);
  for (int64_t at = begin; at < end;) {
    int64_t row = at / m.row;
    const int64_t first = at % m.row, left = end - at;
    const int64_t stop = left < m.row - first ? first + left : m.row;
    std::byte* place[MapRows::kMaxArrays];
    for (int32_t i = 0; i < m.arrays; ++i) place[i] = args.memory[i];
    for (int axis = m.outer_rank - 1; axis >= 0; --axis) {
      const int64_t index = row % m.outer_size[axis];
      row /= m.outer_size[axis];
      for (int32_t i = 0; i < m.arrays; ++i) place[i] += index * m.outer_step[axis][i];
    }
    map_detail::run_row(m, args, place, first, stop);
    at += stop - first;
  }
}

/// Work: memory is the operands, then the results; items are rows; scratch kept_bytes for each kept value.
inline void map_reduced_rows(const WorkArgs& args, int64_t begin, int64_t end) {
  const ReducedRows& m = *static_cast<const ReducedRows*>(args.params);
  void* at[2 * MapRows::kMaxArrays];
  for (int32_t i = 0; i < m.arrays; ++i) at[i] = args.memory[i] + begin * m.step[i];
  for (int32_t i = 0; i < m.kept; ++i) at[m.arrays + i] = args.scratch + i * kept_bytes(m.length);
  args.code(at, m.step, end - begin, m.length);
}

}  // namespace HONE_LEVEL
}  // namespace hone::math
