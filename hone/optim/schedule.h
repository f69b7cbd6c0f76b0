// Learning rates that follow the step.
#pragma once
#include <memory>
#include <optional>

#include "hone/optim/options.h"
#include "hone/tensor/tensor.h"

namespace hone::optim {

/// What a schedule computes; derive from it for a schedule of one's own.
class ScheduleRule {
 public:
  virtual ~ScheduleRule() = default;
  /// The learning rate, an f32 scalar, of the update after `step` finished ones (an i64 scalar, 0 at first). In public
  /// ops, no host read.
  virtual Tensor rate(const Tensor& step) const = 0;
  /// {"type": ..., options...}.
  virtual Config config() const = 0;
  /// The run's number of updates; fit() tells it before the first one. The last call counts.
  virtual void set_total_steps(int64_t) {}
};

/// A shared handle: copies are the same schedule.
class Schedule {
 public:
  explicit Schedule(std::shared_ptr<ScheduleRule> rule) : rule_(std::move(rule)) {}
  Tensor operator()(const Tensor& step) const { return rule_->rate(step); }
  Config config() const { return rule_->config(); }
  void set_total_steps(int64_t steps) const { rule_->set_total_steps(steps); }

 private:
  std::shared_ptr<ScheduleRule> rule_;
};

struct CosineDecayOptions {
  double initial_learning_rate = 1e-3;
  int64_t decay_steps = 0;  ///< 0: the whole run without its warm-up, which fit() fills in before the first step
  double alpha = 0;         ///< where the decay ends, as a share of where it starts
  std::string name = "CosineDecay";
  std::optional<double>
      warmup_target{};  ///< linear warm-up from the initial rate to this one, from which the decay then starts
  int64_t warmup_steps = 0;
  template <class V>
  void visit(V& v) {
    v.field("initial_learning_rate", initial_learning_rate), v.field("decay_steps", decay_steps),
        v.field("alpha", alpha);
    v.field("name", name), v.field("warmup_target", warmup_target), v.field("warmup_steps", warmup_steps);
  }
};
/// start ((1 - alpha) (1 + cos(pi t / decay_steps)) / 2 + alpha) with t = min(step, decay_steps), as Keras'
/// (Loshchilov, Hutter: SGDR, 2017). Error kInvalidArgument for negative or non-finite options and for warmup_steps
/// without warmup_target; kFailedPrecondition where decay_steps is 0 and nobody told the run's length.
class CosineDecay : public Schedule {
 public:
  explicit CosineDecay(CosineDecayOptions options);
};

/// A number, or a schedule.
class LearningRate {
 public:
  LearningRate(double value) : value_(value) {}                        // NOLINT: a number is a learning rate
  LearningRate(Schedule schedule) : schedule_(std::move(schedule)) {}  // NOLINT: and so is a schedule
  const std::optional<Schedule>& schedule() const { return schedule_; }
  /// The number; 0 for a schedule.
  double value() const { return value_; }
  Config config() const { return schedule_ ? schedule_->config() : Config(value_); }
  /// A number, or {"type": "CosineDecay", ...}. Error kInvalidArgument otherwise.
  static LearningRate from_config(const Config& config, std::string_view where = "learning_rate");

 private:
  double value_ = 0;
  std::optional<Schedule> schedule_;
};

}  // namespace hone::optim
