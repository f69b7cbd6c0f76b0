// error: an element of the dataset has 1 tensor(s); 2 are needed
//   at tests/error/batches_without_labels.cpp:LINE   model.fit(data::from_tensor_slices(zeros({8, 4})).batch(2), {.verbose = 0});
//   the first is f32[2,4]
//   fix: give pairs {x, y}, in batches: .batch(128)
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_batches_without_labels(__FILE__, [](const std::string&) {
  nn::Sequential model{nn::Dense(10)};
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(data::from_tensor_slices(zeros({8, 4})).batch(2), {.verbose = 0});
});
}  // namespace hone::test
