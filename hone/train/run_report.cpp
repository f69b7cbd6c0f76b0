#include "hone/train/run_report.h"

#include <sys/resource.h>

#include <algorithm>
#include <numeric>

#include "hone/base/probe.h"
#include "hone/device/device.h"

namespace hone::nn {

void RunTimer::on_train_begin(Model&, FitState&) {
  cpu().reset_peak();
  report_ = {};
  step_ms_.clear();
  examples_ = 0;
  begin_ns_ = probe::now_ns();
}

void RunTimer::on_epoch_begin(Model&, FitState&) { last_ns_ = probe::now_ns(); }

void RunTimer::on_train_batch_end(Model&, FitState& state, const Logs&) {
  const int64_t now = probe::now_ns();
  step_ms_.push_back(static_cast<double>(now - last_ns_) * 1e-6);
  last_ns_ = now;
  examples_ += state.batch_size;
}

void RunTimer::on_train_end(Model&, FitState&) {
  report_.train_seconds = static_cast<double>(probe::now_ns() - begin_ns_) * 1e-9;
  report_.steps = static_cast<int64_t>(step_ms_.size());
  const double total_ms = std::accumulate(step_ms_.begin(), step_ms_.end(), 0.0);
  if (total_ms > 0) report_.images_per_s = static_cast<double>(examples_) * 1e3 / total_ms;
  if (!step_ms_.empty()) {
    const auto middle = step_ms_.begin() + static_cast<int64_t>(step_ms_.size() / 2);
    std::nth_element(step_ms_.begin(), middle, step_ms_.end());
    report_.step_ms_median = *middle;
  }
  report_.peak_bytes = memory_stats().peak;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  report_.peak_rss_bytes = static_cast<size_t>(usage.ru_maxrss) * 1024;
}

}  // namespace hone::nn
