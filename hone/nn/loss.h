// Losses. Names, defaults and formulas are Keras'.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "hone/base/config.h"
#include "hone/tensor/tensor.h"

namespace hone::nn {

/// What one loss computes; derive from it for a loss of one's own that a config describes.
class LossRule {
 public:
  virtual ~LossRule() = default;
  /// "MeanSquaredError"
  virtual std::string type() const = 0;
  virtual Config config() const = 0;
  /// A value for each sample (or each position of a sequence), f32 or f64. In public ops, no host read.
  virtual Tensor values(const Tensor& y_true, const Tensor& y_pred) const = 0;
  /// Weights that the rule itself gives each value (0 for a label to ignore), of their shape; undefined: all 1. The
  /// mean divides by their sum.
  virtual Tensor mask(const Tensor& y_true) const;
  /// Integer labels are expected: [n] for outputs [n, classes].
  virtual bool sparse() const { return false; }
  /// Outputs are logits, not probabilities.
  virtual bool from_logits() const { return false; }
};

/// A shared handle: copies are the same loss.
class Loss {
 public:
  Loss() = default;
  /// By name, with default options: "mse", "mean_squared_error", "MeanSquaredError", "mae", "binary_crossentropy",
  /// "categorical_crossentropy", "sparse_categorical_crossentropy", ... Error kInvalidArgument for others.
  Loss(const char* name) : Loss(std::string(name)) {}  // NOLINT: a name stands for a loss
  Loss(const std::string& name);                       // NOLINT
  /// `reduction`: "sum_over_batch_size" (the mean of all values), "sum", "none", or "mean_with_sample_weight" (divides
  /// by the weights' sum).
  explicit Loss(std::shared_ptr<const LossRule> rule, std::string reduction = "sum_over_batch_size");
  /// A function of one's own: values for each sample from y_true and y_pred.
  explicit Loss(std::function<Tensor(const Tensor& y_true, const Tensor& y_pred)> values,
                std::string reduction = "sum_over_batch_size");

  bool defined() const { return static_cast<bool>(rule_); }

  /// The loss, a scalar (with reduction "none" a value for each sample), f32, or f64 for f64 predictions. Weights
  /// multiply the values: of their shape or, for leading axes only, broadcast over the others. Error kInvalidArgument
  /// for shapes that do not fit.
  Tensor operator()(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {},
                    Location location = Location::current()) const;

  /// "mean_squared_error"
  std::string name() const;
  std::string type() const { return rule().type(); }
  bool sparse() const { return rule().sparse(); }
  bool from_logits() const { return rule().from_logits(); }
  Config config() const;

 private:
  const LossRule& rule() const;
  std::shared_ptr<const LossRule> rule_;
  std::string reduction_;
};

struct LossOptions {
  std::string reduction = "sum_over_batch_size";
  template <class V>
  void visit(V& v) {
    v.field("reduction", reduction);
  }
};
/// mean((y_true - y_pred)^2) over the last axis.
class MeanSquaredError : public Loss {
 public:
  explicit MeanSquaredError(LossOptions options = {});
};
/// mean(|y_true - y_pred|) over the last axis.
class MeanAbsoluteError : public Loss {
 public:
  explicit MeanAbsoluteError(LossOptions options = {});
};

struct CrossentropyOptions {
  bool from_logits = false;
  double label_smoothing = 0;  ///< in [0, 1]: how much of each label is spread evenly over the classes
  int64_t axis = -1;           ///< of the classes (binary: of the mean)
  std::string reduction = "sum_over_batch_size";
  template <class V>
  void visit(V& v) {
    v.field("from_logits", from_logits), v.field("label_smoothing", label_smoothing), v.field("axis", axis),
        v.field("reduction", reduction);
  }
};
/// mean(-y log p - (1 - y) log(1 - p)) over an axis. Probabilities are clipped to [1e-7, 1 - 1e-7], so 0 and 1 stay
/// finite.
class BinaryCrossentropy : public Loss {
 public:
  explicit BinaryCrossentropy(CrossentropyOptions options = {});
};
/// -sum(y log p) over the classes, y_true one-hot or probabilities. Predicted probabilities are divided by their sum,
/// then clipped.
class CategoricalCrossentropy : public Loss {
 public:
  explicit CategoricalCrossentropy(CrossentropyOptions options = {});
};

struct SparseCategoricalCrossentropyOptions {
  bool from_logits = false;
  std::optional<int64_t> ignore_class{};  ///< positions with this label count neither in the sum nor in the mean
  std::string reduction = "sum_over_batch_size";
  template <class V>
  void visit(V& v) {
    v.field("from_logits", from_logits), v.field("ignore_class", ignore_class), v.field("reduction", reduction);
  }
};
/// -log p[label] for predictions [..., classes] and labels [...] or [..., 1] of any number type. A label that is NaN or
/// out of range gives NaN (check_labels names it).
class SparseCategoricalCrossentropy : public Loss {
 public:
  explicit SparseCategoricalCrossentropy(SparseCategoricalCrossentropyOptions options = {});
};

/// The loss that a name or a table {"type": "SparseCategoricalCrossentropy", "from_logits": true} describes. Error
/// kInvalidArgument for unknown types and keys, with the nearest name; `where` leads the key's path in messages.
Loss loss_from_config(const Config& config, std::string_view where = "loss");

/// Reads labels on the host. Error kOutOfRange for the first label outside [0, classes), kNumerical for NaN,
/// kInvalidArgument for a fraction: its position, its value and how to fix it. Labels equal to `ignore` pass.
void check_labels(const Tensor& labels, int64_t classes, std::optional<int64_t> ignore = {},
                  Location location = Location::current());

}  // namespace hone::nn
