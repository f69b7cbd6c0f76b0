// error: shape mismatch in convolution
//   at tests/error/conv_channels.cpp:LINE   conv(zeros({1, 28, 28, 3}));
//   x: f32[1,28,28,3]   kernel: f32[3,3,1,8]   bias: f32[8]
//   with {strides = [1, 1], low = [0, 0], high = [0, 0], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1, shape = []}
//   channels differ: x has 3, the kernel takes 1 in each of 1 group(s)
//   in layer conv2d
//   fix: build the kernel as [spatial..., 3, out]
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_conv_channels(__FILE__, [](const std::string&) {
  const nn::Conv2D conv(8, 3);
  conv(zeros({1, 28, 28, 1}));
  conv(zeros({1, 28, 28, 3}));
});
}  // namespace hone::test
