// error: history has no series 'accuracy'
//   fix: it has: loss
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_history_series(__FILE__, [](const std::string&) {
  nn::Sequential model{nn::Dense(1)};
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(zeros({4, 2}), zeros({4, 1}), {.verbose = 0}).series("accuracy");
});
}  // namespace hone::test
