// Copies of n-dimensional boxes between strided places: the one loop nest behind transposes, slices, padding,
// concatenation and gathers.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hone/ops/box.h"

namespace hone {

/// A box ready to be copied any number of times between places of the same strides. The result of a copy does not
/// depend on how it is split over threads. Source and target must not overlap.
class BoxCopy {
 public:
  BoxCopy(const Box& box, size_t item) : loops_(box_loops(box, item)) {}

  /// On this thread.
  void run(std::byte* to, const std::byte* from) const;
  /// On the team, where that pays.
  void run_parallel(std::byte* to, const std::byte* from) const;
  int64_t bytes() const { return loops_.outer * loops_.rows * loops_.columns * loops_.item; }
  const math::BoxLoops& loops() const { return loops_; }

 private:
  math::BoxLoops loops_;
};

/// Copies once, on the team where that pays.
inline void copy_box(std::byte* to, const std::byte* from, const Box& box, size_t item) {
  BoxCopy(box, item).run_parallel(to, from);
}

/// Fills a box with one element.
void fill_box(std::byte* to, const std::byte* element, const Ints& size, const Ints& strides, size_t item);

}  // namespace hone
