// Copies of n-dimensional boxes between strided places, as plain loops.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hone/math/transpose.h"
#include "hone/math/work.h"

namespace hone::math {

/// A box ready to be copied. All in bytes, outermost first; the last two axes are rows of columns.
struct BoxLoops {
  static constexpr int kMaxOuter = 12;
  enum Inner : int32_t { Run, Fill, Tile, Strided };  ///< what rows are; Tile: columns of a source that runs on by rows
  int64_t item = 1;
  int32_t outer_rank = 0;
  Inner inner = Run;
  int64_t outer_size[kMaxOuter] = {}, outer_to[kMaxOuter] = {}, outer_from[kMaxOuter] = {};
  int64_t outer = 1, rows = 1, columns = 1;
  int64_t row_to = 0, row_from = 0, column_to = 0, column_from = 0;
};
/// Rows of all outer axes, and columns of each.
struct BoxRange {
  int64_t first_row, last_row, first_column, last_column;
};

namespace HONE_LEVEL {

namespace box_detail {

// Short runs without a call.
inline void copy_run(std::byte* to, const std::byte* from, int64_t bytes) {
  if (bytes > 64) return static_cast<void>(__builtin_memcpy(to, from, static_cast<size_t>(bytes)));
  for (; bytes >= 16; bytes -= 16, to += 16, from += 16) __builtin_memcpy(to, from, 16);
  if (bytes >= 8) {
    __builtin_memcpy(to, from, 8);
    to += 8, from += 8, bytes -= 8;
  }
  if (bytes >= 4) {
    __builtin_memcpy(to, from, 4);
    to += 4, from += 4, bytes -= 4;
  }
  for (; bytes > 0; --bytes) *to++ = *from++;
}

template <class F>
void with_item(int64_t item, F&& f) {
  switch (item) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    default:
      return f(uint64_t{});
  }
}

template <class T>
void fill_run(std::byte* to, const std::byte* from, int64_t n) {
  T value;
  __builtin_memcpy(&value, from, sizeof value);
  for (int64_t i = 0; i < n; ++i) __builtin_memcpy(to + i * static_cast<int64_t>(sizeof value), &value, sizeof value);
}

template <class T>
void copy_strided(std::byte* to, int64_t to_step, const std::byte* from, int64_t from_step, int64_t n) {
  for (int64_t i = 0; i < n; ++i) __builtin_memcpy(to + i * to_step, from + i * from_step, sizeof(T));
}

inline void copy_rows(const BoxLoops& b, std::byte* to, const std::byte* from, int64_t rows, int64_t columns) {
  switch (b.inner) {
    case BoxLoops::Run:
      for (int64_t r = 0; r < rows; ++r) copy_run(to + r * b.row_to, from + r * b.row_from, columns * b.item);
      return;
    case BoxLoops::Fill:
      return with_item(b.item, [&](auto kind) {
        for (int64_t r = 0; r < rows; ++r) fill_run<decltype(kind)>(to + r * b.row_to, from + r * b.row_from, columns);
      });
    case BoxLoops::Tile:
      return with_item(b.item, [&](auto kind) {
        transpose_tiles<decltype(kind)>(to, b.row_to, from, b.column_from, rows, columns);
      });
    case BoxLoops::Strided:
      return with_item(b.item, [&](auto kind) {
        for (int64_t r = 0; r < rows; ++r) {
          copy_strided<decltype(kind)>(to + r * b.row_to, b.column_to, from + r * b.row_from, b.column_from, columns);
        }
      });
  }
}

}  // namespace box_detail

/// A part of a box; source and target do not overlap.
inline void copy_box(const BoxLoops& b, std::byte* to, const std::byte* from, const BoxRange& range) {
  int64_t outer = range.first_row / b.rows, row = range.first_row % b.rows, left = range.last_row - range.first_row;
  int64_t at[BoxLoops::kMaxOuter] = {};
  for (int axis = b.outer_rank - 1; axis >= 0; --axis) {
    at[axis] = outer % b.outer_size[axis];
    outer /= b.outer_size[axis];
    to += at[axis] * b.outer_to[axis];
    from += at[axis] * b.outer_from[axis];
  }
  to += range.first_column * b.column_to;
  from += range.first_column * b.column_from;
  while (left > 0) {
    const int64_t rows = left < b.rows - row ? left : b.rows - row;
    box_detail::copy_rows(b, to + row * b.row_to, from + row * b.row_from, rows,
                          range.last_column - range.first_column);
    left -= rows;
    row = 0;
    for (int axis = b.outer_rank - 1; axis >= 0; --axis) {
      to += b.outer_to[axis];
      from += b.outer_from[axis];
      if (++at[axis] < b.outer_size[axis]) break;
      to -= at[axis] * b.outer_to[axis];
      from -= at[axis] * b.outer_from[axis];
      at[axis] = 0;
    }
  }
}

/// Work: memory is the source and the target, params BoxLoops; items are rows of all outer axes.
inline void copy_box_rows(const WorkArgs& args, int64_t begin, int64_t end) {
  const BoxLoops& box = *static_cast<const BoxLoops*>(args.params);
  copy_box(box, args.memory[1], args.memory[0], {begin, end, 0, box.columns});
}

}  // namespace HONE_LEVEL
}  // namespace hone::math
