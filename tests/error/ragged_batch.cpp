// error: elements of different shapes or dtypes cannot form a batch
//   component 0: element 0 of the batch is f32[28,28,1], element 3 is f32[32,28,1]
//   fix: give all elements one shape in a map before batch, or use batch(1)
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_ragged_batch(__FILE__, [](const std::string&) {
  auto images = data::range(4).map([](int64_t i) { return zeros({i < 3 ? 28 : 32, 28, 1}); });
  for (const Tensor& batch : images.batch(4)) std::ignore = batch;
});
}  // namespace hone::test
