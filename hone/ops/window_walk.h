// Walks the windows of reduce_window and select_and_scatter, for the kernels of all back ends.
#pragma once
#include "hone/ops/attrs.h"

namespace hone {

class WindowWalk {
 public:
  WindowWalk(const WindowAttrs& attrs, const Shape& x, const Shape& grid)
      : attrs_(attrs), x_(x.numbers()), grid_(grid.numbers()) {}

  /// Calls f(offset into x) for each element of window number `index`, in the window's row-major order; padding is
  /// skipped.
  template <class F>
  void for_each(int64_t index, F f) const {
    Ints corner = grid_;
    for (size_t axis = grid_.size(); axis-- > 0;) {
      corner[axis] = index % grid_[axis] * attrs_.strides[axis] - attrs_.low[axis];
      index /= grid_[axis];
    }
    walk(0, 0, corner, f);
  }

 private:
  template <class F>
  void walk(size_t axis, int64_t offset, const Ints& corner, F& f) const {
    if (axis == x_.size()) return f(offset);
    for (int64_t i = 0; i < attrs_.window[axis]; ++i) {
      const int64_t at = corner[axis] + i * attrs_.window_dilation[axis], base = attrs_.base_dilation[axis];
      if (at < 0 || at % base != 0 || at / base >= x_[axis]) continue;
      walk(axis + 1, offset * x_[axis] + at / base, corner, f);
    }
  }

  const WindowAttrs& attrs_;
  Ints x_, grid_;
};

}  // namespace hone
