// error: a variable made in 'centered' depends on an argument
//   at tests/error/function_variable_of_argument.cpp:LINE   const Variable center(mean(x));
//   its first value is computed once, when the function is recorded
//   in 'centered', called at tests/error/function_variable_of_argument.cpp:LINE   centered(ones({3}));
//   fix: start it from a constant or another variable, and assign the value inside
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_function_variable_of_argument(__FILE__, [](const std::string&) {
  const auto centered = function(
      [](const Tensor& x) {
        const Variable center(mean(x));
        return x - center;
      },
      {.name = "centered"});
  centered(ones({3}));
});
}  // namespace hone::test
