#include "hone/optim/schedule.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "hone/base/error.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"

namespace hone::optim {
namespace {

void check_rate(const char* name, double value) {
  if (std::isfinite(value) && value >= 0) return;
  throw Error(Code::kInvalidArgument, fmt::format("CosineDecay: {} is {}", name, value),
              "it must be a finite number >= 0");
}

class CosineDecayRule final : public ScheduleRule {
 public:
  explicit CosineDecayRule(CosineDecayOptions options)
      : options_(std::move(options)), decay_steps_(options_.decay_steps) {
    check_rate("initial_learning_rate", options_.initial_learning_rate);
    check_rate("alpha", options_.alpha);
    check_rate("warmup_target", options_.warmup_target.value_or(0));
    if (options_.decay_steps < 0 || options_.warmup_steps < 0) {
      throw Error(Code::kInvalidArgument,
                  fmt::format("CosineDecay: decay_steps is {}, warmup_steps is {}", options_.decay_steps,
                              options_.warmup_steps),
                  "numbers of steps must be >= 0");
    }
    if (options_.warmup_steps > 0 && !options_.warmup_target) {
      throw Error(Code::kInvalidArgument,
                  fmt::format("CosineDecay: warmup_steps is {}, but there is no warmup_target", options_.warmup_steps),
                  "set warmup_target, the rate at which the warm-up ends, or leave warmup_steps out");
    }
  }

  Tensor rate(const Tensor& step) const override {
    if (decay_steps_ == 0) {
      throw Error(Code::kFailedPrecondition,
                  "CosineDecay: decay_steps = 0 stands for the whole run, whose length nobody told",
                  "train with fit(), call optimizer.set_total_steps(n), or set decay_steps");
    }
    const auto warmup = static_cast<double>(options_.warmup_target ? options_.warmup_steps : 0),
               decay = static_cast<double>(decay_steps_);
    const double start = options_.warmup_target.value_or(options_.initial_learning_rate);
    const Tensor now = minimum(cast(step, f32), decay + warmup);
    const Tensor cosine = cos((now - warmup) / decay * std::numbers::pi) * 0.5 + 0.5;
    const Tensor decayed = (cosine * (1 - options_.alpha) + options_.alpha) * start;
    if (warmup == 0) return decayed;
    const Tensor rising = now / warmup * (start - options_.initial_learning_rate) + options_.initial_learning_rate;
    return where(now < warmup, rising, decayed);
  }

  Config config() const override { return write_options("CosineDecay", options_); }

  void set_total_steps(int64_t steps) override {
    if (options_.decay_steps != 0) return;
    decay_steps_ = std::max<int64_t>(steps - (options_.warmup_target ? options_.warmup_steps : 0), 1);
  }

 private:
  CosineDecayOptions options_;
  int64_t decay_steps_;
};

}  // namespace

CosineDecay::CosineDecay(CosineDecayOptions options)
    : Schedule(std::make_shared<CosineDecayRule>(std::move(options))) {}

LearningRate LearningRate::from_config(const Config& config, std::string_view where) {
  if (!config.is_table()) return config.as_number(where);
  const std::string& name = type_name(config, where);
  constexpr std::string_view kSchedules[] = {"CosineDecay"};
  if (name != kSchedules[0]) fail_unknown("schedule", where, name, kSchedules);
  return Schedule(CosineDecay(read_options<CosineDecayOptions>(config, where)));
}

}  // namespace hone::optim
