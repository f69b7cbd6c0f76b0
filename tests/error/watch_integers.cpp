// error: cannot differentiate with respect to i32[2]
//   fix: convert it first: cast(x, f32)
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_watch_integers(__FILE__, [](const std::string&) {
  const Tensor x = Tensor::of<int32_t>({1, 2});
  GradientTape tape;
  tape.watch(x);
});
}  // namespace hone::test
