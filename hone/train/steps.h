// The steps of fit, evaluate and predict: each one call of a traced function. For hone/train/ only.
#pragma once
#include <functional>
#include <vector>

#include "hone/nn/metric.h"
#include "hone/train/model.h"

namespace hone::nn {

/// Steps of one model as it was compiled. Metrics, moving statistics, random states, schedules and the optimizer's
/// slots are Variables that the graphs update; nothing is read by the host.
class Steps {
 public:
  /// `inference`: what gives outputs without training, if not the layer.
  Steps(Layer layer, const CompileOptions& compile, std::function<Tensor(const Tensor&)> inference = {});
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  /// Each batch is {x, y[, sample_weight]}; several batches are several steps in one call.
  void train(std::span<const std::vector<Tensor>> batches, Location location);
  void test(const std::vector<Tensor>& batch, Location location);
  Tensor predict(const Tensor& x, Location location);

  void reset_metrics();
  /// Loss and metrics since the reset.
  Logs logs(const std::string& prefix) const;

 private:
  using Batch = std::vector<Tensor>;
  void train_one(const Batch& batch, Location location);
  Tensor forward(const Tensor& x, bool training, Location location);
  void update_metrics(const Batch& batch, const Tensor& output, const Tensor& loss, Location location);
  void see(const Tensor& x, Location location);
  void check_batch_labels(const Batch& batch, Location location) const;
  uint64_t layout(bool training);

  Layer layer_;
  const CompileOptions& compile_;
  std::function<Tensor(const Tensor&)> inference_;
  metrics::Mean loss_mean_{{.name = "loss"}};
  bool seen_ = false;               // the layers have their variables
  int64_t classes_ = -1;            // last extent of the output
  std::vector<const void*> built_;  // trainable variables that have their slots
  std::function<void(const std::vector<Batch>&, uint64_t)> train_;
  std::function<void(const Batch&, uint64_t)> test_;
  std::function<Tensor(const Tensor&, uint64_t)> predict_;
  Location location_;
};

}  // namespace hone::nn
