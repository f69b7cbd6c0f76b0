// error: shape mismatch in dot_general
//   at tests/error/vmap_shape_inside.cpp:LINE   const auto layer = [&](const Tensor& x) { return matmul(x, w); };
//   x: f32[3]   w: f32[4,2]
//   with {lhs_batch = [], rhs_batch = [], lhs_contract = [0], rhs_contract = [0]}
//   contracting sizes differ: x axis 0 is 3, w axis 0 is 4
//   fix: the layer before gives 3 features; build w as [3, n]
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_vmap_shape_inside(__FILE__, [](const std::string&) {
  const Tensor w = zeros({4, 2});
  const auto layer = [&](const Tensor& x) { return matmul(x, w); };
  vmap(layer)(zeros({8, 3}));
});
}  // namespace hone::test
