// error: 'scale' cannot donate argument 1
//   at tests/error/function_donated_number.cpp:LINE   scale(ones({3}), 2.0F);
//   it holds no tensor
//   fix: donate_args holds positions of arguments, from 0
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_function_donated_number(__FILE__, [](const std::string&) {
  const auto scale = function([](const Tensor& x, float by) { return x * by; }, {.name = "scale", .donate_args = {1}});
  scale(ones({3}), 2.0F);
});
}  // namespace hone::test
