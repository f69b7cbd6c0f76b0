// Copies of n-dimensional boxes between strided places: the one loop nest behind transposes, slices, padding,
// concatenation and gathers.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hone/tensor/shape.h"

namespace hone {

/// Extents of a box and the strides (in elements, may be 0 in `from` or negative) by which each side steps through it.
struct Box {
  Ints size, to, from;
};

/// A box ready to be copied any number of times between places of the same strides. The result of a copy does not
/// depend on how it is split over threads. Source and target must not overlap.
class BoxCopy {
 public:
  BoxCopy(const Box& box, size_t item);

  /// On this thread.
  void run(std::byte* to, const std::byte* from) const;
  /// On the team, where that pays.
  void run_parallel(std::byte* to, const std::byte* from) const;
  int64_t bytes() const { return outer_ * rows_ * columns_ * item_; }

 private:
  enum class Inner { Run, Fill, Tile, Strided };  // what the last two axes are: rows of
  struct Range {
    int64_t first_row, last_row;        // of outer * rows
    int64_t first_column, last_column;  // of columns
  };

  void normalize(Box box);
  void merge(Box& box) const;
  void widen(Box& box);
  void copy(std::byte* to, const std::byte* from, const Range& range) const;
  void copy_rows(std::byte* to, const std::byte* from, int64_t rows, int64_t columns) const;

  // All in bytes, outermost first; the last two axes apart.
  int64_t item_;
  int outer_rank_ = 0;
  int64_t outer_size_[kMaxRank], outer_to_[kMaxRank], outer_from_[kMaxRank];
  int64_t outer_ = 1, rows_ = 1, columns_ = 1;
  int64_t row_to_ = 0, row_from_ = 0, column_to_ = 0, column_from_ = 0;
  Inner inner_ = Inner::Run;
};

/// Copies once, on the team where that pays.
inline void copy_box(std::byte* to, const std::byte* from, const Box& box, size_t item) {
  BoxCopy(box, item).run_parallel(to, from);
}

/// Fills a box with one element.
void fill_box(std::byte* to, const std::byte* element, const Ints& size, const Ints& strides, size_t item);

}  // namespace hone
