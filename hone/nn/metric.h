// Metrics: sums over batches, kept in Variables and updated in public ops without a host read. Names and formulas are
// Keras'.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hone/base/config.h"
#include "hone/function/variable.h"

namespace hone::nn {

/// What one metric keeps and computes; derive from it for a metric of one's own.
class MetricRule {
 public:
  virtual ~MetricRule() = default;
  /// "SparseCategoricalAccuracy"
  virtual std::string type() const = 0;
  virtual Config config() const = 0;
  /// Adds a batch; sample_weight may be undefined. No tape records it.
  virtual void update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) const = 0;
  /// The value over everything since the reset: an f32 scalar.
  virtual Tensor result() const = 0;
  /// All state; 0 after a reset.
  virtual std::vector<Variable> variables() const = 0;
};

/// A shared handle: copies are the same metric with the same sums. Not to be updated from several threads at once.
class Metric {
 public:
  Metric() = default;
  /// By name: "accuracy" (or "acc"), "sparse_categorical_accuracy", "SparseCategoricalAccuracy",
  /// "categorical_accuracy", "binary_accuracy", "sparse_top_k_categorical_accuracy", "mse", "mae",
  /// "mean_squared_error", ... The metric's name is the name given. Error kInvalidArgument for others.
  Metric(const char* name) : Metric(std::string(name)) {}  // NOLINT: a name stands for a metric
  Metric(const std::string& name);                         // NOLINT
  Metric(std::shared_ptr<const MetricRule> rule, std::string name);
  /// The mean of a function's values, one a sample: Metric(f, "my_score").
  Metric(std::function<Tensor(const Tensor& y_true, const Tensor& y_pred)> values, std::string name);

  bool defined() const { return static_cast<bool>(rule_); }
  /// Adds a batch. Weights as in Loss. Error kInvalidArgument for shapes that do not fit.
  void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {},
                    Location location = Location::current()) const;
  /// An f32 scalar; 0 before the first update.
  Tensor result() const;
  void reset_state() const;
  std::vector<Variable> variables() const { return rule().variables(); }

  const std::string& name() const { return name_; }
  std::string type() const { return rule().type(); }
  Config config() const;

 protected:
  const MetricRule& rule() const;

 private:
  std::shared_ptr<const MetricRule> rule_;
  std::string name_;
};

/// Classes of metrics; a name other than the default distinguishes several.
namespace metrics {

struct MetricOptions {
  std::string name{};  ///< default: the type in snake case
  template <class V>
  void visit(V& v) {
    v.field("name", name);
  }
};

/// The weighted mean of values; each counts once, or with its weight.
class Mean : public Metric {
 public:
  explicit Mean(MetricOptions options = {});
  void update_state(const Tensor& values, const Tensor& sample_weight = {},
                    Location location = Location::current()) const;
};

struct BinaryAccuracyOptions {
  std::string name{};
  double threshold = 0.5;  ///< predictions above it count as 1; 0 for logits
  template <class V>
  void visit(V& v) {
    v.field("name", name), v.field("threshold", threshold);
  }
};
/// How often predictions equal labels: binary where the last axis of y_pred is 1, sparse where y_true lacks y_pred's
/// class axis (or has extent 1 there), else categorical. The threshold serves the binary case.
class Accuracy : public Metric {
 public:
  explicit Accuracy(BinaryAccuracyOptions options = {});
};
/// y_pred [..., classes] has its largest element at the label.
class SparseCategoricalAccuracy : public Metric {
 public:
  explicit SparseCategoricalAccuracy(MetricOptions options = {});
};
/// y_pred has its largest element where y_true has.
class CategoricalAccuracy : public Metric {
 public:
  explicit CategoricalAccuracy(MetricOptions options = {});
};
/// (y_pred > threshold) == y_true.
class BinaryAccuracy : public Metric {
 public:
  explicit BinaryAccuracy(BinaryAccuracyOptions options = {});
};

struct TopKOptions {
  int64_t k = 5;
  std::string name{};
  template <class V>
  void visit(V& v) {
    v.field("k", k), v.field("name", name);
  }
};
/// Fewer than k elements of y_pred exceed that at the label; ties count as hits, NaN and labels out of range as misses.
class SparseTopKCategoricalAccuracy : public Metric {
 public:
  explicit SparseTopKCategoricalAccuracy(TopKOptions options = {});
};
class MeanSquaredError : public Metric {
 public:
  explicit MeanSquaredError(MetricOptions options = {});
};
class MeanAbsoluteError : public Metric {
 public:
  explicit MeanAbsoluteError(MetricOptions options = {});
};

}  // namespace metrics

/// The metric that a name or a table {"type": "SparseTopKCategoricalAccuracy", "k": 3} describes. Error
/// kInvalidArgument for unknown types and keys, with the nearest name; `where` leads the key's path in messages.
Metric metric_from_config(const Config& config, std::string_view where = "metric");

}  // namespace hone::nn
