#include "hone/backend/cpu/box.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "hone/backend/cpu/transpose.h"
#include "hone/base/parallel.h"

namespace hone {
namespace {

constexpr int64_t kGrainBytes = 128 << 10;  // what is worth a thread

// Short runs without a call.
inline void copy_run(std::byte* to, const std::byte* from, int64_t bytes) {
  if (bytes > 64) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return;
  }
  for (; bytes >= 16; bytes -= 16, to += 16, from += 16) std::memcpy(to, from, 16);
  if (bytes >= 8) {
    std::memcpy(to, from, 8);
    to += 8, from += 8, bytes -= 8;
  }
  if (bytes >= 4) {
    std::memcpy(to, from, 4);
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
  std::memcpy(&value, from, sizeof value);
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * static_cast<int64_t>(sizeof value), &value, sizeof value);
}

template <class T>
void copy_strided(std::byte* to, int64_t to_step, const std::byte* from, int64_t from_step, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * to_step, from + i * from_step, sizeof(T));
}

}  // namespace

BoxCopy::BoxCopy(const Box& box, size_t item) : item_(static_cast<int64_t>(item)) { normalize(box); }

// Target order, neighbours joined where both sides run on.
void BoxCopy::merge(Box& box) const {
  Box out;
  for (size_t i = 0; i < box.size.size(); ++i) {
    if (box.size[i] == 1) continue;
    size_t at = out.size.size();
    while (at > 0 && out.to[at - 1] < box.to[i]) --at;
    out.size.insert(at, box.size[i]);
    out.to.insert(at, box.to[i]);
    out.from.insert(at, box.from[i]);
  }
  for (size_t i = out.size.size(); i-- > 1;) {
    if (out.to[i - 1] != out.to[i] * out.size[i] || out.from[i - 1] != out.from[i] * out.size[i]) continue;
    out.to[i - 1] = out.to[i];
    out.from[i - 1] = out.from[i];
    out.size[i - 1] *= out.size[i];
    out.size.erase(i);
    out.to.erase(i);
    out.from.erase(i);
  }
  box = out;
}

// A last axis that is one machine word becomes the element.
void BoxCopy::widen(Box& box) {
  if (box.size.size() < 2 || box.to.back() != 1 || box.from.back() != 1) return;
  const int64_t n = box.size.back(), bytes = n * item_;
  if (bytes > 8 || (bytes & (bytes - 1)) != 0) return;
  for (size_t i = 0; i + 1 < box.size.size(); ++i) {
    if (box.to[i] % n != 0 || box.from[i] % n != 0) return;
  }
  const size_t rank = box.size.size() - 1;
  box.size.resize(rank), box.to.resize(rank), box.from.resize(rank);
  for (size_t i = 0; i < rank; ++i) box.to[i] /= n, box.from[i] /= n;
  item_ = bytes;
}

void BoxCopy::normalize(Box box) {
  if (box.size.contains(0)) {
    outer_ = 0;
    return;
  }
  merge(box);
  widen(box);
  size_t rank = box.size.size();
  if (rank == 0) box.size.push_back(1), box.to.push_back(1), box.from.push_back(1), ++rank;
  const size_t last = rank - 1;
  size_t row = rank;  // the axis of rows: where the source runs on, else the one before the last
  if (box.to[last] == 1 && box.from[last] == 1) {
    inner_ = Inner::Run;
  } else if (box.to[last] == 1 && box.from[last] == 0) {
    inner_ = Inner::Fill;
  } else {
    inner_ = Inner::Strided;
    for (size_t i = 0; i < last; ++i) {
      if (box.to[last] == 1 && box.from[i] == 1) row = i, inner_ = Inner::Tile;
    }
  }
  if (row == rank && rank > 1) row = rank - 2;
  for (size_t i = 0; i < last; ++i) {
    if (i == row) continue;
    outer_size_[outer_rank_] = box.size[i];
    outer_to_[outer_rank_] = box.to[i] * item_;
    outer_from_[outer_rank_++] = box.from[i] * item_;
    outer_ *= box.size[i];
  }
  if (row < rank) rows_ = box.size[row], row_to_ = box.to[row] * item_, row_from_ = box.from[row] * item_;
  columns_ = box.size[last];
  column_to_ = box.to[last] * item_;
  column_from_ = box.from[last] * item_;
}

void BoxCopy::run(std::byte* to, const std::byte* from) const {
  if (inner_ == Inner::Run && outer_ * rows_ == 1)
    copy_run(to, from, columns_ * item_);
  else if (outer_ > 0)
    copy(to, from, {0, outer_ * rows_, 0, columns_});
}

void BoxCopy::run_parallel(std::byte* to, const std::byte* from) const {
  if (bytes() <= kGrainBytes) return run(to, from);
  const int64_t rows = outer_ * rows_;
  if (rows >= 4 * threads()) {
    const int64_t grain = std::max<int64_t>(1, kGrainBytes / (columns_ * item_));
    parallel_for(
        rows, grain, [&](int64_t begin, int64_t end) { copy(to, from, {begin, end, 0, columns_}); },
        inner_ == Inner::Tile ? 16 : 1);
  } else {
    const int64_t grain = std::max<int64_t>(1, kGrainBytes / (rows * item_));
    parallel_for(columns_, grain, [&](int64_t begin, int64_t end) { copy(to, from, {0, rows, begin, end}); });
  }
}

void BoxCopy::copy(std::byte* to, const std::byte* from, const Range& range) const {
  int64_t outer = range.first_row / rows_, row = range.first_row % rows_, left = range.last_row - range.first_row;
  int64_t at[kMaxRank] = {};
  for (int64_t axis = outer_rank_ - 1; axis >= 0; --axis) {
    at[axis] = outer % outer_size_[axis];
    outer /= outer_size_[axis];
    to += at[axis] * outer_to_[axis];
    from += at[axis] * outer_from_[axis];
  }
  const int64_t columns = range.last_column - range.first_column;
  to += range.first_column * column_to_;
  from += range.first_column * column_from_;
  while (left > 0) {
    const int64_t rows = std::min(left, rows_ - row);
    copy_rows(to + row * row_to_, from + row * row_from_, rows, columns);
    left -= rows;
    row = 0;
    for (int axis = outer_rank_ - 1; axis >= 0; --axis) {
      to += outer_to_[axis];
      from += outer_from_[axis];
      if (++at[axis] < outer_size_[axis]) break;
      to -= at[axis] * outer_to_[axis];
      from -= at[axis] * outer_from_[axis];
      at[axis] = 0;
    }
  }
}

void BoxCopy::copy_rows(std::byte* to, const std::byte* from, int64_t rows, int64_t columns) const {
  switch (inner_) {
    case Inner::Run:
      for (int64_t r = 0; r < rows; ++r) copy_run(to + r * row_to_, from + r * row_from_, columns * item_);
      return;
    case Inner::Fill:
      return with_item(item_, [&](auto kind) {
        for (int64_t r = 0; r < rows; ++r) fill_run<decltype(kind)>(to + r * row_to_, from + r * row_from_, columns);
      });
    case Inner::Tile:
      return with_item(
          item_, [&](auto kind) { transpose_tiles<decltype(kind)>(to, row_to_, from, column_from_, rows, columns); });
    case Inner::Strided:
      return with_item(item_, [&](auto kind) {
        for (int64_t r = 0; r < rows; ++r) {
          copy_strided<decltype(kind)>(to + r * row_to_, column_to_, from + r * row_from_, column_from_, columns);
        }
      });
  }
}

void fill_box(std::byte* to, const std::byte* element, const Ints& size, const Ints& strides, size_t item) {
  copy_box(to, element, {size, strides, Ints(size.size(), 0)}, item);
}

}  // namespace hone
