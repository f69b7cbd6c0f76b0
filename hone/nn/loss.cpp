#include "hone/nn/loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "hone/base/error.h"
#include "hone/nn/targets.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/nn.h"
#include "hone/ops/reduction.h"
#include "hone/optim/options.h"
#include "hone/tensor/interpreter.h"

namespace hone::nn {
namespace {

constexpr double kEpsilon = 1e-7;  // Keras' backend epsilon
constexpr std::string_view kReductions[] = {"sum_over_batch_size", "sum", "none", "mean_with_sample_weight"};

Tensor clipped(const Tensor& probability) { return clamp(kEpsilon, probability, 1 - kEpsilon); }
// Sums of predicted probabilities; a row of zeros is left as it is.
Tensor divisor(const Tensor& total) { return where(total == 0, 1, total); }
Tensor last_mean(const Tensor& values, int axis = -1) { return values.rank() == 0 ? values : mean(values, axis); }

// y_true and y_pred as floats of one type and shape.
struct Pair {
  Tensor y_true, y_pred;
};
Pair matched(const Tensor& y_true, const Tensor& y_pred, const char* what) {
  Pair pair{y_true, in_float(y_pred)};
  match_ranks(pair.y_true, pair.y_pred);
  check_same_shape(pair.y_true, pair.y_pred, what, {});
  pair.y_true = cast(pair.y_true, pair.y_pred.dtype());
  return pair;
}

class SquaredRule final : public LossRule {
 public:
  std::string type() const override { return "MeanSquaredError"; }
  Config config() const override { return Config::Table{{"type", type()}}; }
  Tensor values(const Tensor& y_true, const Tensor& y_pred) const override {
    const Pair pair = matched(y_true, y_pred, "MeanSquaredError");
    return last_mean(square(pair.y_true - pair.y_pred));
  }
};

class AbsoluteRule final : public LossRule {
 public:
  std::string type() const override { return "MeanAbsoluteError"; }
  Config config() const override { return Config::Table{{"type", type()}}; }
  Tensor values(const Tensor& y_true, const Tensor& y_pred) const override {
    const Pair pair = matched(y_true, y_pred, "MeanAbsoluteError");
    return last_mean(abs(pair.y_true - pair.y_pred));
  }
};

void check_smoothing(const char* type, double smoothing) {
  if (smoothing >= 0 && smoothing <= 1) return;
  throw Error(Code::kInvalidArgument, fmt::format("{}: label_smoothing is {}", type, smoothing),
              "it must be in [0, 1]");
}

class BinaryRule final : public LossRule {
 public:
  explicit BinaryRule(CrossentropyOptions options) : options_(std::move(options)) {
    check_smoothing("BinaryCrossentropy", options_.label_smoothing);
  }
  std::string type() const override { return "BinaryCrossentropy"; }
  Config config() const override { return optim::write_options(type(), options_); }
  bool from_logits() const override { return options_.from_logits; }
  Tensor values(const Tensor& y_true, const Tensor& y_pred) const override {
    auto [target, output] = matched(y_true, y_pred, "BinaryCrossentropy");
    if (options_.label_smoothing > 0) target = target * (1 - options_.label_smoothing) + options_.label_smoothing / 2;
    const auto axis = static_cast<int>(options_.axis);
    if (options_.from_logits) return last_mean(target * softplus(-output) + (1 - target) * softplus(output), axis);
    const Tensor p = clipped(output);
    return last_mean(-(target * log(p) + (1 - target) * log(1 - p)), axis);
  }

 private:
  CrossentropyOptions options_;
};

class CategoricalRule final : public LossRule {
 public:
  explicit CategoricalRule(CrossentropyOptions options) : options_(std::move(options)) {
    check_smoothing("CategoricalCrossentropy", options_.label_smoothing);
  }
  std::string type() const override { return "CategoricalCrossentropy"; }
  Config config() const override { return optim::write_options(type(), options_); }
  bool from_logits() const override { return options_.from_logits; }
  Tensor values(const Tensor& y_true, const Tensor& y_pred) const override {
    const Tensor output = in_float(y_pred);
    check_same_shape(y_true, output, "CategoricalCrossentropy", {});
    Tensor target = cast(y_true, output.dtype());
    const auto axis = static_cast<int>(options_.axis);
    if (options_.label_smoothing > 0) {
      const Tensor classes = element_count(output, {output.shape().normalize_axis(axis)}, output.dtype());
      target = target * (1 - options_.label_smoothing) + options_.label_smoothing / classes;
    }
    const Tensor log_p =
        options_.from_logits ? log_softmax(output, axis) : log(clipped(output / divisor(sum(output, axis, true))));
    return -sum(target * log_p, axis);
  }

 private:
  CrossentropyOptions options_;
};

class SparseRule final : public LossRule {
 public:
  explicit SparseRule(SparseCategoricalCrossentropyOptions options) : options_(std::move(options)) {}
  std::string type() const override { return kType; }
  Config config() const override { return optim::write_options(type(), options_); }
  bool sparse() const override { return true; }
  bool from_logits() const override { return options_.from_logits; }

  Tensor values(const Tensor& y_true, const Tensor& y_pred) const override {
    const Tensor output = in_float(y_pred);
    Tensor labels = sparse_labels(y_true, output, kType, {});
    if (!options_.ignore_class) return values_of(labels, output);
    const Tensor wide = cast(labels, i64), ignored = wide == *options_.ignore_class;
    return where(ignored, 0, values_of(where(ignored, 0, wide), where(expand_dims(ignored, -1), 0, output)));
  }

  Tensor mask(const Tensor& y_true) const override {
    if (!options_.ignore_class) return {};
    const Tensor wide = is_floating(y_true.dtype()) ? y_true : cast(y_true, i64);
    return cast(wide != *options_.ignore_class, f32);
  }

 private:
  static constexpr const char* kType = "SparseCategoricalCrossentropy";

  Tensor values_of(const Tensor& labels, const Tensor& output) const {
    if (!options_.from_logits) return of_probabilities(labels, output);
    if (output.rank() == 2) return sparse_softmax_cross_entropy(output, labels);
    return reshape(sparse_softmax_cross_entropy(reshape(output, {-1, output.shape().dim(-1)}), flatten(labels)),
                   labels.shape());
  }

  static Tensor of_probabilities(const Tensor& labels, const Tensor& output) {
    const Tensor wide = cast(labels, i64);
    const Tensor known = (wide >= 0) & (wide < element_count(output, {output.rank() - 1}, i64));
    const Tensor picked = squeeze(take_along_axis(output, expand_dims(where(known, wide, 0), -1), -1), {-1});
    return where(known, -log(clipped(picked / divisor(sum(output, -1)))), __builtin_nan(""));
  }

  SparseCategoricalCrossentropyOptions options_;
};

constexpr const char* kCustom = "Custom";

class FunctionRule final : public LossRule {
 public:
  explicit FunctionRule(std::function<Tensor(const Tensor&, const Tensor&)> function)
      : function_(std::move(function)) {}
  std::string type() const override { return kCustom; }
  Config config() const override { return Config::Table{{"type", type()}}; }
  Tensor values(const Tensor& y_true, const Tensor& y_pred) const override {
    return in_float(function_(y_true, y_pred));
  }

 private:
  std::function<Tensor(const Tensor&, const Tensor&)> function_;
};

// --- names ---

struct Type {
  std::string_view name, short_name;
  Loss (*make)(const Config& config, std::string_view where);
};
template <class L, class Options>
Loss make(const Config& config, std::string_view where) {
  return L(config.is_string() ? Options() : optim::read_options<Options>(config, where));
}
constexpr Type kTypes[] = {
    {"MeanSquaredError", "mse", make<MeanSquaredError, LossOptions>},
    {"MeanAbsoluteError", "mae", make<MeanAbsoluteError, LossOptions>},
    {"BinaryCrossentropy", "bce", make<BinaryCrossentropy, CrossentropyOptions>},
    {"CategoricalCrossentropy", "", make<CategoricalCrossentropy, CrossentropyOptions>},
    {"SparseCategoricalCrossentropy", "", make<SparseCategoricalCrossentropy, SparseCategoricalCrossentropyOptions>},
};

}  // namespace

Tensor LossRule::mask(const Tensor&) const { return {}; }

Loss::Loss(const std::string& name) : Loss(loss_from_config(Config(name))) {}
Loss::Loss(std::shared_ptr<const LossRule> rule, std::string reduction)
    : rule_(std::move(rule)), reduction_(std::move(reduction)) {
  if (std::ranges::find(kReductions, reduction_) == std::end(kReductions))
    optim::fail_unknown("reduction", rule_->type(), reduction_, kReductions);
}
Loss::Loss(std::function<Tensor(const Tensor&, const Tensor&)> values, std::string reduction)
    : Loss(std::make_shared<FunctionRule>(std::move(values)), std::move(reduction)) {}

const LossRule& Loss::rule() const {
  if (!rule_)
    throw Error(Code::kFailedPrecondition, "this loss was never made", "construct one: nn::MeanSquaredError()");
  return *rule_;
}

Tensor Loss::operator()(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight,
                        Location location) const {
  const LocationScope where(location);
  Tensor values = rule().values(y_true, y_pred), mask = rule().mask(y_true), weights;
  if (sample_weight.defined()) weights = match_weights(values, sample_weight, location);
  if (mask.defined()) {
    mask = match_weights(values, mask, location);
    weights = weights.defined() ? weights * mask : mask;
  }
  if (weights.defined()) values = values * weights;
  if (reduction_ == "none") return values;
  if (reduction_ == "sum") return sum(values);
  const bool by_weight = weights.defined() && reduction_ == "mean_with_sample_weight";
  if (!by_weight && !mask.defined()) return mean(values);
  const Tensor count = sum(by_weight ? weights : mask);
  return hone::where(count == 0, 0, sum(values) / divisor(count));
}

std::string Loss::name() const { return optim::snake_case(type()); }

Config Loss::config() const {
  Config config = rule().config();
  config.set("reduction", reduction_);
  return config;
}

MeanSquaredError::MeanSquaredError(LossOptions options) : Loss(std::make_shared<SquaredRule>(), options.reduction) {}
MeanAbsoluteError::MeanAbsoluteError(LossOptions options) : Loss(std::make_shared<AbsoluteRule>(), options.reduction) {}
BinaryCrossentropy::BinaryCrossentropy(CrossentropyOptions options)
    : Loss(std::make_shared<BinaryRule>(options), options.reduction) {}
CategoricalCrossentropy::CategoricalCrossentropy(CrossentropyOptions options)
    : Loss(std::make_shared<CategoricalRule>(options), options.reduction) {}
SparseCategoricalCrossentropy::SparseCategoricalCrossentropy(SparseCategoricalCrossentropyOptions options)
    : Loss(std::make_shared<SparseRule>(options), options.reduction) {}

Loss loss_from_config(const Config& config, std::string_view where) {
  const std::string& name = optim::type_name(config, where);
  if (name == kCustom) {
    throw Error(Code::kUnsupported, fmt::format("{} is a function of one's own, which a config cannot hold", where),
                "build the model in code, compile it with the function, and call load_weights");
  }
  std::vector<std::string> snakes;
  for (const Type& type : kTypes) {
    snakes.push_back(optim::snake_case(type.name));
    if (name == type.name || name == snakes.back() || (!type.short_name.empty() && name == type.short_name))
      return type.make(config, where);
  }
  const std::vector<std::string_view> names(snakes.begin(), snakes.end());
  optim::fail_unknown("loss", where, name, names);
}

}  // namespace hone::nn
