// reduce_window and select_and_scatter over any window as works.
#pragma once
#include "hone/math/convert.h"
#include "hone/math/index_works.h"
#include "hone/math/reduce.h"
#include "hone/math/work.h"

namespace hone::math {

/// Windows over x, one for each point of a grid; axes as WindowAttrs has them.
struct WindowParams {
  int32_t rank = 0;
  int64_t each = 1;  ///< windows of an item of select_and_scatter
  int64_t size = 0;  ///< elements of x for an item of it
  struct Axis {
    int64_t x, grid, window, stride, low, base_dilation, window_dilation;
  };
  Axis axes[kIndexRank] = {};
};

namespace HONE_LEVEL {

namespace window_detail {

template <class F>
void walk(const WindowParams& p, int axis, int64_t offset, const int64_t* corner, F& f) {
  if (axis == p.rank) return f(offset);
  const WindowParams::Axis& a = p.axes[axis];
  for (int64_t i = 0; i < a.window; ++i) {
    const int64_t at = corner[axis] + i * a.window_dilation;
    if (at < 0 || at % a.base_dilation != 0 || at / a.base_dilation >= a.x) continue;
    walk(p, axis + 1, offset * a.x + at / a.base_dilation, corner, f);
  }
}
/// f(offset into x) for each element of a window, row-major; padding is skipped.
template <class F>
void for_each(const WindowParams& p, int64_t index, F f) {
  int64_t corner[kIndexRank];
  for (int axis = p.rank; axis-- > 0; index /= p.axes[axis].grid)
    corner[axis] = index % p.axes[axis].grid * p.axes[axis].stride - p.axes[axis].low;
  walk(p, 0, 0, corner, f);
}

}  // namespace window_detail

/// Items are windows. Memory: x, result. A sum of nothing is +0.
template <class Op, class T>
void reduce_window_work(const WorkArgs& args, int64_t begin, int64_t end) {
  using C = WorkingType<T>;
  const auto& p = *static_cast<const WindowParams*>(args.params);
  const T* const x = work_in<T>(args, 0);
  for (int64_t i = begin; i < end; ++i) {
    C acc = Op::template kIdentity<C>;
    bool any = false;
    window_detail::for_each(p, i, [&](int64_t at) { acc = apply_one<Op>(acc, convert_lane<C>(x[at])), any = true; });
    work_out<T>(args, 1)[i] = convert_lane<T>(any || !__is_same(Op, SumOf) ? acc : C(0));
  }
}

/// Items are groups of windows that meet elements of their own. Memory: x, source, result.
template <bool kLargest, class T>
void select_and_scatter_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const WindowParams*>(args.params);
  const T *const x = work_in<T>(args, 0), *const source = work_in<T>(args, 1);
  T* const out = work_out<T>(args, 2);
  for (int64_t i = begin * p.size; i < end * p.size; ++i) out[i] = T(0);
  for (int64_t i = begin * p.each; i < end * p.each; ++i) {
    int64_t best = -1;
    window_detail::for_each(p, i, [&](int64_t at) {
      if (best < 0 || (x[best] == x[best] && (x[at] != x[at] || (kLargest ? x[at] > x[best] : x[at] < x[best]))))
        best = at;
    });
    if (best >= 0) out[best] = apply_one<SumOf>(out[best], source[i]);
  }
}

}  // namespace HONE_LEVEL
}  // namespace hone::math
