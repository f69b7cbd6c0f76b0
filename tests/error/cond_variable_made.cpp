// error: a variable is made inside a branch or loop that is being recorded
//   at tests/error/cond_variable_made.cpp:LINE   sum(x) > 0, [](const Tensor& v) { return Variable(v * 2).value(); }, [](const Tensor& v) { return v; }, x);
//   its first value is not known while the program is recorded: f32[3], made at tests/error/cond_variable_made.cpp:LINE   sum(x) > 0, [](const Tensor& v) { return Variable(v * 2).value(); }, [](const Tensor& v) { return v; }, x);
//   in 'function', called at tests/error/cond_variable_made.cpp:LINE   forward(ones({3}));
//   fix: make the variable (build the layer) before the branch or loop
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_cond_variable_made(__FILE__, [](const std::string&) {
  const auto forward = function([](const Tensor& x) {
    return cond(
        sum(x) > 0, [](const Tensor& v) { return Variable(v * 2).value(); }, [](const Tensor& v) { return v; }, x);
  });
  forward(ones({3}));
});
}  // namespace hone::test
