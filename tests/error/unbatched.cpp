// error: the dataset gives single examples, not batches
//   at tests/error/unbatched.cpp:LINE   model.fit(examples, {.verbose = 0});
//   the first is f32[]
//   fix: batch it: .batch(128)
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_unbatched(__FILE__, [](const std::string&) {
  nn::Sequential model{nn::Dense(10)};
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const auto examples = data::from_tensor_slices(zeros({8}), zeros({8}));
  model.fit(examples, {.verbose = 0});
});
}  // namespace hone::test
