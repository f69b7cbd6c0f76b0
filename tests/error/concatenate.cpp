// error: shape mismatch in concatenate
//   at tests/error/concatenate.cpp:LINE   auto c = concatenate({a, b}, 0);
//   x: f32[2,3]   x: f32[2,4]
//   with {axis = 0}
//   parts may differ along axis 0 only: axis 1 is 3 in part 0, 4 in part 1
//   fix: pad or slice the parts, or join them along another axis
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_concatenate(__FILE__, [](const std::string&) {
  const Tensor a = zeros({2, 3}), b = zeros({2, 4});
  auto c = concatenate({a, b}, 0);
});
}  // namespace hone::test
