// error: variable 'last' is assigned another value for each example
//   at tests/error/vmap_assign.cpp:LINE   last.assign(x);
//   value: f32[3], under vmap over 8 examples
//   fix: return the value and assign it outside, or reduce it over the examples there
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_vmap_assign(__FILE__, [](const std::string&) {
  const Variable last(zeros({3}), {.name = "last"});
  const auto remember = [&](const Tensor& x) {
    last.assign(x);
    return sum(x);
  };
  vmap(remember)(ones({8, 3}));
});
}  // namespace hone::test
