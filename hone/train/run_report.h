// What a training run cost: time, steps, memory.
#pragma once
#include <cstdint>
#include <vector>

#include "hone/train/callback.h"

namespace hone::nn {

struct RunReport {
  double train_seconds = 0;   ///< of fit, validation included
  double step_ms_median = 0;  ///< from the end of one batch to the end of the next, so data waits count
  double images_per_s = 0;    ///< examples of all steps over their time
  int64_t steps = 0;
  size_t peak_bytes = 0;      ///< most that tensors held at once during the run
  size_t peak_rss_bytes = 0;  ///< of the process since its start
};

/// Measures a run of fit; report() is whole after it.
class RunTimer : public Callback {
 public:
  void on_train_begin(Model& model, FitState& state) override;
  void on_epoch_begin(Model& model, FitState& state) override;
  void on_train_batch_end(Model& model, FitState& state, const Logs& logs) override;
  void on_train_end(Model& model, FitState& state) override;
  const RunReport& report() const { return report_; }

 private:
  RunReport report_;
  std::vector<double> step_ms_;
  int64_t begin_ns_ = 0, last_ns_ = 0, examples_ = 0;
};

}  // namespace hone::nn
