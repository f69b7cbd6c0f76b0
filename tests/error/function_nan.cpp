// error: an infinity in the result of log
//   at tests/error/function_nan.cpp:LINE   const auto entropy = function([](const Tensor& p) { return -sum(p * log(p)); }, {.name = "entropy"});
//   result: f32[3] in [-0.693147, -0.693147], 0 NaN and 1 infinite of 3 elements, first at flat index 2
//   x: f32[3] in [0, 0.5]
//   in 'entropy', called at tests/error/function_nan.cpp:LINE   entropy(Tensor::of<float>({0.5F, 0.5F, 0}));
//   fix: all operands are finite: bound them before this call, or compute in a wider dtype
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_function_nan(__FILE__, [](const std::string&) {
  const bool before = std::exchange(settings.check_numerics, true);
  const std::shared_ptr<void> restore(nullptr, [=](void*) { settings.check_numerics = before; });
  const auto entropy = function([](const Tensor& p) { return -sum(p * log(p)); }, {.name = "entropy"});
  entropy(Tensor::of<float>({0.5F, 0.5F, 0}));
});
}  // namespace hone::test
