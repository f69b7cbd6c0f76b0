// error: label [2] is 10, but the model has 10 classes
//   at tests/error/label_out_of_range.cpp:LINE   model.fit(zeros({4, 2}), Tensor::of<int32_t>({3, 1, 10, 2}), {.verbose = 0, .shuffle = false});
//   labels: i32[4]
//   expected: integers from 0 to 9
//   fix: labels that count from 1 need labels - 1; otherwise give the last layer one more unit
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_label_out_of_range(__FILE__, [](const std::string&) {
  nn::Sequential model{nn::Dense(10)};
  model.compile({.optimizer = "sgd", .loss = nn::SparseCategoricalCrossentropy({.from_logits = true})});
  model.fit(zeros({4, 2}), Tensor::of<int32_t>({3, 1, 10, 2}), {.verbose = 0, .shuffle = false});
});
}  // namespace hone::test
