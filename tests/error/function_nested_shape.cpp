// error: shape mismatch in dot_general
//   at tests/error/function_nested_shape.cpp:LINE   const auto layer = function([](const Tensor& x, const Tensor& w) { return matmul(x, w); }, {.name = "layer"});
//   x: f32[3,8]   w: f32[4,2]
//   with {lhs_batch = [], rhs_batch = [], lhs_contract = [1], rhs_contract = [0]}
//   contracting sizes differ: x axis 1 is 8, w axis 0 is 4
//   in 'layer', called at tests/error/function_nested_shape.cpp:LINE   return layer(hidden, ones({4, 2}));
//   in 'network', called at tests/error/function_nested_shape.cpp:LINE   network(ones({3, 4}));
//   fix: the layer before gives 8 features; build w as [8, n]
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_function_nested_shape(__FILE__, [](const std::string&) {
  const auto layer = function([](const Tensor& x, const Tensor& w) { return matmul(x, w); }, {.name = "layer"});
  const auto network = function(
      [&](const Tensor& x) {
        const Tensor hidden = layer(x, ones({4, 8}));
        return layer(hidden, ones({4, 2}));
      },
      {.name = "network"});
  network(ones({3, 4}));
});
}  // namespace hone::test
