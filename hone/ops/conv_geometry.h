// A convolution's sizes, always over three spatial axes (leading ones of extent 1 are added): what its kernels loop
// over.
#pragma once
#include <array>

#include "hone/ops/attrs.h"
#include "hone/ops/table.h"

namespace hone {

struct ConvGeometry {
  int axes = 0;                                    ///< spatial axes as the caller wrote them
  int64_t batch = 0, in = 0, out = 0, groups = 1;  ///< samples, channels
  std::array<int64_t, 3> input, kernel, result, stride, low, high, base, dilation;

  ConvGeometry(const Shape& x, const Shape& w, const Shape& y, const ConvAttrs& attrs)
      : axes(x.rank() - 2),
        batch(x[0].number()),
        in(x.dim(-1).number()),
        out(y.dim(-1).number()),
        groups(attrs.groups) {
    input.fill(1), kernel.fill(1), result.fill(1), stride.fill(1), low.fill(0), high.fill(0), base.fill(1),
        dilation.fill(1);
    for (size_t i = 0; i < static_cast<size_t>(axes); ++i) {
      const size_t at = 3 - static_cast<size_t>(axes) + i;
      input[at] = x[i + 1].number(), kernel[at] = w[i].number(), result[at] = y[i + 1].number();
      stride[at] = attrs.strides[i], low[at] = attrs.low[i], high[at] = attrs.high[i];
      base[at] = attrs.base_dilation[i], dilation[at] = attrs.window_dilation[i];
    }
  }
  /// Of a call of one of the three ops, from its types alone.
  static ConvGeometry of(const Op& op, AttrRef attrs, const Shape& first, const Shape& second, const Shape& out) {
    const auto& a = attrs.as<ConvAttrs>();
    if (&op == &ops::convolution) return {first, second, out, a};
    if (&op == &ops::convolution_input_grad) return {out, second, first, a};
    return {first, out, second, a};
  }

  int64_t in_per_group() const { return in / groups; }
  int64_t out_per_group() const { return out / groups; }
  /// Input position that result position `at` meets with kernel element `tap`, or -1 in padding or between dilated
  /// elements.
  int64_t source(size_t axis, int64_t at, int64_t tap) const {
    const int64_t position = at * stride[axis] + tap * dilation[axis] - low[axis];
    if (position < 0 || position % base[axis] != 0 || position / base[axis] >= input[axis]) return -1;
    return position / base[axis];
  }
};

}  // namespace hone
