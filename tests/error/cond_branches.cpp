// error: branches of cond return different types
//   at tests/error/cond_branches.cpp:LINE   return cond(sum(x) > 1, [](const Tensor& v) { return v / sum(v); }, [](const Tensor& v) { return sum(v); }, x);
//   result 0 of branch 0: f32[3], made at tests/error/cond_branches.cpp:LINE   return cond(sum(x) > 1, [](const Tensor& v) { return v / sum(v); }, [](const Tensor& v) { return sum(v); }, x);
//   result 0 of branch 1: f32[], made at tests/error/cond_branches.cpp:LINE   return cond(sum(x) > 1, [](const Tensor& v) { return v / sum(v); }, [](const Tensor& v) { return sum(v); }, x);
//   in 'function', called at tests/error/cond_branches.cpp:LINE   clipped(ones({3}));
//   fix: cast or reshape the results, so that each branch returns the same dtypes and shapes
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_cond_branches(__FILE__, [](const std::string&) {
  const auto clipped = function([](const Tensor& x) {
    return cond(sum(x) > 1, [](const Tensor& v) { return v / sum(v); }, [](const Tensor& v) { return sum(v); }, x);
  });
  clipped(ones({3}));
});
}  // namespace hone::test
