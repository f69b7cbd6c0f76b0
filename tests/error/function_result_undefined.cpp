// error: result 1 of 'forward' is an undefined tensor
//   in 'forward', called at tests/error/function_result_undefined.cpp:LINE   forward(ones({3}));
//   fix: set each result before the function returns
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_function_result_undefined(__FILE__, [](const std::string&) {
  const auto forward = function(
      [](const Tensor& x) {
        Tensor hidden, output;
        hidden = tanh(x);
        return std::pair{hidden, output};
      },
      {.name = "forward"});
  forward(ones({3}));
});
}  // namespace hone::test
