// error: 'step' does not take these arguments
//   at tests/error/function_signature.cpp:LINE   step(ones({32, 28, 28}));
//   expected: f32[batch,784]
//   got: f32[32,28,28]
//   fix: convert or reshape them, or widen input_signature
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_function_signature(__FILE__, [](const std::string&) {
  const auto step = function([](const Tensor& x) { return mean(x, {1}); },
                             {.name = "step", .input_signature = std::vector<Spec>{{f32, {Dim("batch"), 784}}}});
  step(ones({32, 28, 28}));
});
}  // namespace hone::test
