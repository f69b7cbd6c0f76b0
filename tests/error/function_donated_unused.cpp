// error: 'loss' cannot use the memory of tensor 0 among its arguments, which it donates
//   donated: f32[3]
//   results: f32[]
//   a donated tensor serves one result of its dtype and shape that the function computes
//   in 'loss', called at tests/error/function_donated_unused.cpp:LINE   loss(ones({3}), zeros({3}));
//   fix: take the argument out of donate_args, or return its new value
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_function_donated_unused(__FILE__, [](const std::string&) {
  const auto loss = function([](const Tensor& x, const Tensor& y) { return mean(abs(x - y)); },
                             {.name = "loss", .donate_args = {0, 1}});
  loss(ones({3}), zeros({3}));
});
}  // namespace hone::test
