// error: shape mismatch in dot_general
//   at tests/error/matmul_shape.cpp:LINE   auto y = matmul(x, w);
//   x: f32[128,784]   w: f32[512,10]
//   with {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]}
//   contracting sizes differ: x axis 1 is 784, w axis 0 is 512
//   fix: the layer before gives 784 features; build w as [784, n]
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_matmul_shape(__FILE__, [](const std::string&) {
  const Tensor x = zeros({128, 784}), w = zeros({512, 10});
  auto y = matmul(x, w);
});
}  // namespace hone::test
