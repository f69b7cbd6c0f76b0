// error: the condition of while_loop assigns variable 'tries'
//   at tests/error/while_condition_assigns.cpp:LINE   return while_loop(
//   in 'function', called at tests/error/while_condition_assigns.cpp:LINE   forward(Tensor(1.0F));
//   fix: assign it in the body
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_while_condition_assigns(__FILE__, [](const std::string&) {
  const Variable tries(Tensor(0.0F), {.name = "tries"});
  const auto forward = function([&](const Tensor& x) {
    return while_loop(
        [&](const Tensor& c) {
          tries.assign_add(Tensor(1.0F));
          return c < 10;
        },
        [](const Tensor& c) { return c * 2; }, x);
  });
  forward(Tensor(1.0F));
});
}  // namespace hone::test
