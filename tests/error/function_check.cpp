// error: check failed: weights must not be all zero
//   at tests/error/function_check.cpp:LINE   check(total > 0, "weights must not be all zero");
//   x: bool[], false at 1 of 1 elements, first at flat index 0
//   in 'normalized', called at tests/error/function_check.cpp:LINE   normalized(zeros({3}));
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_function_check(__FILE__, [](const std::string&) {
  const auto normalized = function(
      [](const Tensor& x) {
        const Tensor total = sum(x);
        check(total > 0, "weights must not be all zero");
        return x / total;
      },
      {.name = "normalized"});
  normalized(zeros({3}));
});
}  // namespace hone::test
