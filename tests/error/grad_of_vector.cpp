// error: grad needs a function that returns a scalar of floating dtype
//   at tests/error/grad_of_vector.cpp:LINE   auto g = grad([](Tensor v) { return v * v; })(x);
//   it returned f32[2]
//   fix: reduce the result (sum, mean), or use jacobian
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_grad_of_vector(__FILE__, [](const std::string&) {
  const Tensor x = Tensor::of<float>({1, 2});
  auto g = grad([](Tensor v) { return v * v; })(x);
});
}  // namespace hone::test
