// error: label [1] is NaN
//   at tests/error/label_nan.cpp:LINE   model.fit(zeros({2, 2}), Tensor::of<float>({1, std::numeric_limits<float>::quiet_NaN()}),
//   labels: f32[2]
//   expected: integers from 0 to 2
//   fix: drop rows without a label, or repair the file that they come from
#include <limits>

#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_label_nan(__FILE__, [](const std::string&) {
  nn::Sequential model{nn::Dense(3)};
  model.compile({.optimizer = "sgd", .loss = nn::SparseCategoricalCrossentropy({.from_logits = true})});
  model.fit(zeros({2, 2}), Tensor::of<float>({1, std::numeric_limits<float>::quiet_NaN()}),
            {.verbose = 0, .shuffle = false});
});
}  // namespace hone::test
