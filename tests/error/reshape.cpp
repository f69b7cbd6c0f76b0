// error: shape mismatch in reshape
//   at tests/error/reshape.cpp:LINE   auto y = reshape(x, {5, -1});
//   x: f32[6,4], asked for [5,-1]
//   24 elements do not divide by 5
//   fix: pass a shape with as many elements; -1 leaves one extent open
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_reshape(__FILE__, [](const std::string&) {
  const Tensor x = zeros({6, 4});
  auto y = reshape(x, {5, -1});
});
}  // namespace hone::test
