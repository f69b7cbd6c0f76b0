// error: 3 values do not fill a tensor of f32[2,2]
//   at tests/error/from_count.cpp:LINE   auto x = Tensor::from(std::vector<float>{1, 2, 3}, {2, 2});
//   expected: 4 values, got: 3
//   fix: pass a shape whose extents multiply to the number of values
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_from_count(__FILE__, [](const std::string&) {
  auto x = Tensor::from(std::vector<float>{1, 2, 3}, {2, 2});
});
}  // namespace hone::test
