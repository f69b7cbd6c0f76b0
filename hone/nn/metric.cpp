#include "hone/nn/metric.h"

#include <fmt/format.h>

#include "hone/base/error.h"
#include "hone/function/tape.h"
#include "hone/nn/loss.h"
#include "hone/nn/targets.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/reduction.h"
#include "hone/optim/options.h"
#include "hone/tensor/interpreter.h"

namespace hone::nn {
namespace {

constexpr const char* kCustom = "Custom";

using Values = std::function<Tensor(const Tensor& y_true, const Tensor& y_pred)>;

Ints axes_from(int first, int rank) {
  Ints axes;
  for (int axis = first; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

// A mean of values over samples. The sums are f64: f32 would stop counting at 2^24 samples.
class MeanRule final : public MetricRule {
 public:
  MeanRule(Config config, Values values)
      : config_(std::move(config)),
        values_(std::move(values)),
        total_(Tensor(0.0), {.name = "total", .trainable = false}),
        count_(Tensor(0.0), {.name = "count", .trainable = false}) {}
  std::string type() const override { return config_.find("type")->as_string(); }
  Config config() const override { return config_; }

  void update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) const override {
    Tensor values = in_float(values_(y_true, y_pred));
    if (sample_weight.defined()) {
      const Tensor weights = in_float(sample_weight);
      if (const int rank = weights.rank(); rank > 0 && rank < values.rank())
        values = mean(values, axes_from(rank, values.rank()));
      const Tensor matched = match_weights(values, weights, {});
      return add(sum(values * matched), sum(matched));
    }
    if (values.rank() > 1) values = mean(values, axes_from(1, values.rank()));
    add(sum(values), element_count(values, axes_from(0, values.rank()), f64));
  }
  Tensor result() const override {
    const Tensor count = count_;
    return cast(where(count == 0, 0, total_ / where(count == 0, 1, count)), f32);
  }
  std::vector<Variable> variables() const override { return {total_, count_}; }

 private:
  void add(const Tensor& total, const Tensor& count) const {
    total_.assign_add(cast(total, f64));
    count_.assign_add(cast(count, f64));
  }
  Config config_;
  Values values_;
  Variable total_, count_;
};

// --- values of a batch ---

Tensor sparse_accuracy(const Tensor& y_true, const Tensor& y_pred) {
  const Tensor labels = sparse_labels(y_true, y_pred, "SparseCategoricalAccuracy", {});
  return cast(argmax(y_pred, -1) == cast(labels, i64), f32);
}

Tensor categorical_accuracy(const Tensor& y_true, const Tensor& y_pred) {
  check_same_shape(y_true, y_pred, "CategoricalAccuracy", {});
  return cast(argmax(y_pred, -1) == argmax(y_true, -1), f32);
}

Tensor binary_accuracy(const Tensor& y_true, const Tensor& y_pred, double threshold) {
  Tensor labels = y_true, output = y_pred;
  match_ranks(labels, output);
  check_same_shape(labels, output, "BinaryAccuracy", {});
  return cast(cast(output > threshold, f32) == cast(labels, f32), f32);
}

Tensor accuracy(const Tensor& y_true, const Tensor& y_pred, double threshold) {
  const auto last = [](const Tensor& x) { return x.rank() > 0 ? x.shape().dim(-1) : Dim(1); };
  if (last(y_pred) == Dim(1) || y_pred.rank() < 2) return binary_accuracy(y_true, y_pred, threshold);
  if (y_true.rank() < y_pred.rank() || last(y_true) == Dim(1)) return sparse_accuracy(y_true, y_pred);
  return categorical_accuracy(y_true, y_pred);
}

Tensor top_k_accuracy(const Tensor& y_true, const Tensor& y_pred, int64_t k) {
  const Tensor labels = cast(sparse_labels(y_true, y_pred, "SparseTopKCategoricalAccuracy", {}), i64);
  const Tensor known = (labels >= 0) & (labels < element_count(y_pred, {y_pred.rank() - 1}, i64));
  const Tensor at_label = take_along_axis(y_pred, expand_dims(where(known, labels, 0), -1), -1);
  const Tensor above = sum(cast(y_pred > at_label, i32), -1);
  return cast(known & (above < k) & is_finite(squeeze(at_label, {-1})), f32);
}

// --- types ---

template <class Options>
Metric metric(std::string_view type, Options options, Values values) {
  const std::string default_name =
      type == "SparseTopKCategoricalAccuracy" ? "sparse_top_k_categorical_accuracy" : optim::snake_case(type);
  if (options.name.empty()) options.name = default_name;
  return {std::make_shared<MeanRule>(optim::write_options(std::string(type), options), std::move(values)),
          options.name};
}

struct Type {
  std::string_view name, snake, short_name;
  Metric (*make)(const Config& config, std::string_view where);
};
template <class M, class Options>
Metric make(const Config& config, std::string_view where) {
  return M(config.is_string() ? Options{.name = config.as_string()} : optim::read_options<Options>(config, where));
}
template <class M>
Metric make_top_k(const Config& config, std::string_view where) {
  return M(config.is_string() ? metrics::TopKOptions{.name = config.as_string()}
                              : optim::read_options<metrics::TopKOptions>(config, where));
}
constexpr Type kTypes[] = {
    {"Accuracy", "accuracy", "acc", make<metrics::Accuracy, metrics::BinaryAccuracyOptions>},
    {"SparseCategoricalAccuracy", "sparse_categorical_accuracy", "",
     make<metrics::SparseCategoricalAccuracy, metrics::MetricOptions>},
    {"CategoricalAccuracy", "categorical_accuracy", "", make<metrics::CategoricalAccuracy, metrics::MetricOptions>},
    {"BinaryAccuracy", "binary_accuracy", "", make<metrics::BinaryAccuracy, metrics::BinaryAccuracyOptions>},
    {"SparseTopKCategoricalAccuracy", "sparse_top_k_categorical_accuracy", "",
     make_top_k<metrics::SparseTopKCategoricalAccuracy>},
    {"MeanSquaredError", "mean_squared_error", "mse", make<metrics::MeanSquaredError, metrics::MetricOptions>},
    {"MeanAbsoluteError", "mean_absolute_error", "mae", make<metrics::MeanAbsoluteError, metrics::MetricOptions>},
};

}  // namespace

Metric::Metric(const std::string& name) : Metric(metric_from_config(Config(name))) {}
Metric::Metric(std::shared_ptr<const MetricRule> rule, std::string name)
    : rule_(std::move(rule)), name_(std::move(name)) {}
Metric::Metric(std::function<Tensor(const Tensor&, const Tensor&)> values, std::string name)
    : Metric(std::make_shared<MeanRule>(Config(Config::Table{{"type", kCustom}, {"name", name}}), std::move(values)),
             name) {}

const MetricRule& Metric::rule() const {
  if (!rule_)
    throw Error(Code::kFailedPrecondition, "this metric was never made", "construct one: nn::metrics::Accuracy()");
  return *rule_;
}

void Metric::update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight,
                          Location location) const {
  const LocationScope where(location);
  const NoGradScope no_grad;
  rule().update(y_true, y_pred, sample_weight);
}

Tensor Metric::result() const {
  const NoGradScope no_grad;
  return rule().result();
}

void Metric::reset_state() const {
  for (const Variable& variable : rule().variables()) variable.assign(zeros(variable.shape(), variable.dtype()));
}

Config Metric::config() const { return rule().config(); }

namespace metrics {

Mean::Mean(MetricOptions options)
    : Metric(metric("Mean", std::move(options), [](const Tensor&, const Tensor& values) { return values; })) {}
void Mean::update_state(const Tensor& values, const Tensor& sample_weight, Location location) const {
  Metric::update_state({}, values, sample_weight, location);
}
Accuracy::Accuracy(BinaryAccuracyOptions options)
    : Metric(metric("Accuracy", options, [t = options.threshold](const Tensor& y_true, const Tensor& y_pred) {
        return accuracy(y_true, y_pred, t);
      })) {}
SparseCategoricalAccuracy::SparseCategoricalAccuracy(MetricOptions options)
    : Metric(metric("SparseCategoricalAccuracy", std::move(options), sparse_accuracy)) {}
CategoricalAccuracy::CategoricalAccuracy(MetricOptions options)
    : Metric(metric("CategoricalAccuracy", std::move(options), categorical_accuracy)) {}
BinaryAccuracy::BinaryAccuracy(BinaryAccuracyOptions options)
    : Metric(metric("BinaryAccuracy", options, [t = options.threshold](const Tensor& y_true, const Tensor& y_pred) {
        return binary_accuracy(y_true, y_pred, t);
      })) {}
SparseTopKCategoricalAccuracy::SparseTopKCategoricalAccuracy(TopKOptions options)
    : Metric(metric(
          "SparseTopKCategoricalAccuracy", options,
          [k = options.k](const Tensor& y_true, const Tensor& y_pred) { return top_k_accuracy(y_true, y_pred, k); })) {
  if (options.k < 1)
    throw Error(Code::kInvalidArgument, fmt::format("SparseTopKCategoricalAccuracy: k is {}", options.k),
                "k must be 1 or more");
}
MeanSquaredError::MeanSquaredError(MetricOptions options)
    : Metric(metric("MeanSquaredError", std::move(options),
                    [loss = nn::MeanSquaredError({.reduction = "none"})](const Tensor& y_true, const Tensor& y_pred) {
                      return loss(y_true, y_pred);
                    })) {}
MeanAbsoluteError::MeanAbsoluteError(MetricOptions options)
    : Metric(metric("MeanAbsoluteError", std::move(options),
                    [loss = nn::MeanAbsoluteError({.reduction = "none"})](const Tensor& y_true, const Tensor& y_pred) {
                      return loss(y_true, y_pred);
                    })) {}

}  // namespace metrics

Metric metric_from_config(const Config& config, std::string_view where) {
  const std::string& name = optim::type_name(config, where);
  if (name == kCustom) {
    throw Error(Code::kUnsupported, fmt::format("{} is a function of one's own, which a config cannot hold", where),
                "build the model in code, compile it with the function, and call load_weights");
  }
  std::vector<std::string_view> names;
  for (const Type& type : kTypes) {
    if (name == type.name || name == type.snake || (!type.short_name.empty() && name == type.short_name))
      return type.make(config, where);
    names.push_back(type.snake);
  }
  optim::fail_unknown("metric", where, name, names);
}

}  // namespace hone::nn
