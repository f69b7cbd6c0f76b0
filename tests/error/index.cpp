// error: index 2 is out of range for axis 0
//   at tests/error/index.cpp:LINE   auto row = x[2];
//   x: f32[2,3]
//   fix: use an index in [-2, 1]
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_index(__FILE__, [](const std::string&) {
  const Tensor x = zeros({2, 3});
  auto row = x[2];
});
}  // namespace hone::test
