// error: shape mismatch in SparseCategoricalCrossentropy
//   at tests/error/label_one_hot.cpp:LINE   loss(zeros({4, 10}), zeros({4, 10}));
//   y_true: f32[4,10]   y_pred: f32[4,10]
//   fix: labels are class numbers here; use the categorical form for one-hot labels
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_label_one_hot(__FILE__, [](const std::string&) {
  const nn::SparseCategoricalCrossentropy loss({.from_logits = true});
  loss(zeros({4, 10}), zeros({4, 10}));
});
}  // namespace hone::test
