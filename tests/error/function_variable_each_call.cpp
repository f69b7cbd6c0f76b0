// error: 'forward' makes a variable in a later recording
//   at tests/error/function_variable_each_call.cpp:LINE   return dense(x);
//   a function may make variables in its first recording only: later ones would start afresh
//   in layer dense
//   in 'forward', called at tests/error/function_variable_each_call.cpp:LINE   forward(ones({1, 3}));
//   fix: make the variable outside, or keep it in an object that makes it once
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_function_variable_each_call(__FILE__, [](const std::string&) {
  const auto forward = function(
      [](const Tensor& x) {
        const nn::Layer dense = nn::Dense(2);
        return dense(x);
      },
      {.name = "forward"});
  forward(ones({1, 3}));
  forward(cast(ones({1, 3}), f64));
});
}  // namespace hone::test
