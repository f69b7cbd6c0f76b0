// error: axis 2 is out of range in reduction
//   at tests/error/axis.cpp:LINE   auto y = sum(x, 2);
//   x has shape [2,3]
//   fix: use an axis in [-2, 1]
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_axis(__FILE__, [](const std::string&) {
  const Tensor x = zeros({2, 3});
  auto y = sum(x, 2);
});
}  // namespace hone::test
