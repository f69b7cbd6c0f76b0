// error: gradient() was called before on this tape
//   at tests/error/gradient_twice.cpp:LINE   tape.gradient(y, x);
//   fix: make it persistent: GradientTape tape({.persistent = true})
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_gradient_twice(__FILE__, [](const std::string&) {
  const Tensor x = Tensor::of<float>({1, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sum(x * x);
  tape.gradient(y, x);
  tape.gradient(y, x);
});
}  // namespace hone::test
