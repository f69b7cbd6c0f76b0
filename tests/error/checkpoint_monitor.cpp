// error: ModelCheckpoint monitors 'val_acc', which this run does not report
//   fix: monitor one of: loss
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_checkpoint_monitor(__FILE__, [](const std::string& folder) {
  nn::Sequential model{nn::Dense(1)};
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const auto best = std::make_shared<nn::ModelCheckpoint>(
      folder + "/model.hone", nn::ModelCheckpointOptions{.monitor = "val_acc", .save_best_only = true});
  model.fit(zeros({4, 2}), zeros({4, 1}), {.verbose = 0, .callbacks = {best}});
});
}  // namespace hone::test
