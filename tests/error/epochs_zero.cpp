// error: epochs must be >= 1, got 0
//   at tests/error/epochs_zero.cpp:LINE   model.fit(zeros({4, 2}), zeros({4, 1}), {.epochs = 0});
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_epochs_zero(__FILE__, [](const std::string&) {
  nn::Sequential model{nn::Dense(1)};
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(zeros({4, 2}), zeros({4, 1}), {.epochs = 0});
});
}  // namespace hone::test
