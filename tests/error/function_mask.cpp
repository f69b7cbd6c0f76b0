// error: selection by a mask inside a trace: the number of elements is not known
//   at tests/error/function_mask.cpp:LINE   const auto positive = function([](const Tensor& x) { return sum(x[x > 0]); });
//   x: f32[3]
//   in 'function', called at tests/error/function_mask.cpp:LINE   positive(ones({3}));
//   fix: use where(mask, x, 0), or select outside the traced function
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_function_mask(__FILE__, [](const std::string&) {
  const auto positive = function([](const Tensor& x) { return sum(x[x > 0]); });
  positive(ones({3}));
});
}  // namespace hone::test
