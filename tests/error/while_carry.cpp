// error: the body of while_loop changes the type of the carry
//   at tests/error/while_carry.cpp:LINE   return while_loop([](const Tensor& c) { return sum(c) < 10; },
//   leaf 0, expected: f32[3]
//   leaf 0, got:      f32[6], made at tests/error/while_carry.cpp:LINE   [](const Tensor& c) { return concatenate({c, c}, 0); }, x);
//   in 'function', called at tests/error/while_carry.cpp:LINE   forward(ones({3}));
//   fix: a carry keeps its dtypes and shapes: cast or reshape it in the body, or start from another init
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_while_carry(__FILE__, [](const std::string&) {
  const auto forward = function([](const Tensor& x) {
    return while_loop([](const Tensor& c) { return sum(c) < 10; },
                      [](const Tensor& c) { return concatenate({c, c}, 0); }, x);
  });
  forward(ones({3}));
});
}  // namespace hone::test
