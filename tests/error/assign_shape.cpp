// error: cannot assign f32[10,784] to variable 'weights'
//   at tests/error/assign_shape.cpp:LINE   weights.assign(zeros({10, 784}));
//   expected: f32[784,10]
//   fix: a variable keeps its dtype and shape; make a new one for another
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_assign_shape(__FILE__, [](const std::string&) {
  const Variable weights(zeros({784, 10}), {.name = "weights"});
  weights.assign(zeros({10, 784}));
});
}  // namespace hone::test
