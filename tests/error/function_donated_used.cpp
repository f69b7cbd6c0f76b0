// error: a donated tensor is used
//   at tests/error/function_donated_used.cpp:LINE   (void)(state + 1);
//   value: f32[3]
//   its memory was given to the call at tests/error/function_donated_used.cpp:LINE   step(state, ones({3}));
//   fix: use what that call returned, or call it with identity(x), which leaves x as it is
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_function_donated_used(__FILE__, [](const std::string&) {
  const auto step = function([](const Tensor& state, const Tensor& x) { return state * 0.9F + x; },
                             {.name = "step", .donate_args = {0}});
  const Tensor state = zeros({3});
  step(state, ones({3}));
  (void)(state + 1);
});
}  // namespace hone::test
