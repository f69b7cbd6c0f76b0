// error: shape mismatch in subtract
//   at tests/error/broadcast.cpp:LINE   auto centred = images - mean;
//   a: f32[32,28,28,3]   b: f32[4]
//   shapes [32,28,28,3] and [4] do not broadcast: aligned from the last axis, extents must be equal or 1
//   fix: reshape one operand so that its axes line up
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_broadcast(__FILE__, [](const std::string&) {
  const Tensor images = zeros({32, 28, 28, 3}), mean = zeros({4});
  auto centred = images - mean;
});
}  // namespace hone::test
