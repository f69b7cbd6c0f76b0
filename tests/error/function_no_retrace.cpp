// error: 'step' would be recorded again, which expect_no_retrace forbids
//   at tests/error/function_no_retrace.cpp:LINE   step(ones({3}), 0.09F);
//   argument 1 is 0.09, before 0.1
//   fix: call it with the kinds of before; pass a number that changes as a tensor, and name an extent that changes: Spec{f32, {Dim("batch"), 784}} in input_signature
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_function_no_retrace(__FILE__, [](const std::string&) {
  const auto step = function([](const Tensor& x, float rate) { return x * rate; }, {.name = "step"});
  step(ones({3}), 0.1F);
  step.expect_no_retrace();
  step(ones({3}), 0.09F);
});
}  // namespace hone::test
