// error: 'step' is given one tensor as argument 1 and as argument 0, which it donates
//   at tests/error/function_donated_twice.cpp:LINE   step(x, x);
//   fix: pass identity(x) as the donated one: it is copied, and x stays
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_function_donated_twice(__FILE__, [](const std::string&) {
  const auto step = function([](const Tensor& state, const Tensor& x) { return state * 0.9F + x; },
                             {.name = "step", .donate_args = {0}});
  const Tensor x = ones({3});
  step(x, x);
});
}  // namespace hone::test
