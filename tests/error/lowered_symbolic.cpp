// error: a memory report needs numbers for all extents
//   fix: lower the function for a static Spec, {f32, {128, 28, 28, 1}}
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_lowered_symbolic(__FILE__, [](const std::string&) {
  const auto forward = function([](const Tensor& x) { return tanh(x); });
  (void)forward.lower(Spec{f32, {Dim("batch"), 4}}).memory();
});
}  // namespace hone::test
