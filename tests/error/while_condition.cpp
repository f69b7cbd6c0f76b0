// error: the condition of while_loop is not one bool
//   at tests/error/while_condition.cpp:LINE   return while_loop([](const Tensor& c) { return c < 10; }, [](const Tensor& c) { return c * 2; }, x);
//   it returned bool[3], made at tests/error/while_condition.cpp:LINE   return while_loop([](const Tensor& c) { return c < 10; }, [](const Tensor& c) { return c * 2; }, x);
//   in 'function', called at tests/error/while_condition.cpp:LINE   forward(ones({3}));
//   fix: return a comparison of scalars, or reduce it: all(...), any(...)
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_while_condition(__FILE__, [](const std::string&) {
  const auto forward = function([](const Tensor& x) {
    return while_loop([](const Tensor& c) { return c < 10; }, [](const Tensor& c) { return c * 2; }, x);
  });
  forward(ones({3}));
});
}  // namespace hone::test
