// error: shape mismatch in convolution
//   at tests/error/conv_window.cpp:LINE   conv(zeros({1, 4, 4, 1}));
//   x: f32[1,4,4,1]   kernel: f32[7,7,1,8]   bias: f32[8]
//   with {strides = [1, 1], low = [0, 0], high = [0, 0], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1, shape = []}
//   the kernel spans 7 along spatial axis 0, the padded input has only 4
//   in layer conv2d
//   fix: use padding "same", a smaller kernel, or fewer strides before this layer
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_conv_window(__FILE__, [](const std::string&) {
  const nn::Conv2D conv(8, 7);
  conv(zeros({1, 4, 4, 1}));
});
}  // namespace hone::test
