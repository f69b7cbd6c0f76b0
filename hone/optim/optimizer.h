// Optimizers: how gradients change variables. Names, defaults and formulas are Keras'.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hone/function/variable.h"
#include "hone/optim/schedule.h"

namespace hone::optim {

/// One variable's update as a rule sees it.
struct Update {
  std::span<Tensor> values;  ///< the parameter, then its slots; the rule puts the new ones in their places, or leaves
                             ///< the old ones and throws
  Tensor& gradient;          ///< of the parameter's type; may be moved from
  const Tensor& learning_rate;  ///< f32 scalar
  const Tensor& step;           ///< f32 scalar, 1 in the first step
  Location location;
};

/// What makes one optimizer differ from another; derive from it for an optimizer of one's own.
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  /// "Adam"
  virtual std::string type() const = 0;
  /// {"type": type(), options...}; the learning rate is as given.
  virtual Config config() const = 0;
  /// Names of the state kept for each variable, of its type, 0 at first: {"m", "v"}.
  virtual std::span<const std::string_view> slots() const = 0;
  /// Computes new values in public ops, no host read inside.
  virtual void update(const Update& update) const = 0;
};

/// At most one of them; none by default.
struct Clipping {
  std::optional<double> clipnorm{};         ///< each gradient's Euclidean norm
  std::optional<double> clipvalue{};        ///< each element's magnitude
  std::optional<double> global_clipnorm{};  ///< the norm over all gradients
};

/// A shared handle: copies are the same optimizer. Not for use by several threads at once.
class Optimizer {
 public:
  Optimizer() = default;
  /// "sgd", "adam", "adamw" (in any case) with default options. Error kInvalidArgument for others.
  Optimizer(const char* name) : Optimizer(std::string(name)) {}  // NOLINT: a name stands for an optimizer
  Optimizer(const std::string& name);                            // NOLINT
  /// An optimizer of one's own. Error kInvalidArgument for bad rates and clipping.
  Optimizer(std::shared_ptr<const UpdateRule> rule, LearningRate learning_rate, Clipping clipping = {});

  bool defined() const { return static_cast<bool>(state_); }

  /// One step: each variable moves against its gradient, in its own memory where nobody else holds its value, then
  /// iterations() counts up. Nothing here is recorded by tapes. Undefined gradients are skipped; the first time a
  /// warning names their variables. New variables get their slots. Errors: kInvalidArgument where the numbers of
  /// gradients and variables differ, a gradient has not its variable's type, or no gradient is defined. After an error
  /// variables before the one named are updated, the others as they were.
  void apply_gradients(std::vector<Tensor> gradients, const std::vector<Variable>& variables,
                       Location location = Location::current()) const;
  /// Makes the slots of these variables now, under these names (paths of a model); apply_gradients uses the variables'
  /// own names. Call it before a checkpoint is read, or where names of variables repeat. Variables that have slots keep
  /// them.
  void build(std::span<const std::pair<std::string, Variable>> variables) const;

  /// Finished steps, an i64 scalar.
  Variable iterations() const;
  /// The rate of the next step, an f32 scalar.
  Tensor learning_rate() const;
  /// Error kFailedPrecondition where the rate follows a schedule, kInvalidArgument unless finite and >= 0.
  void set_learning_rate(double value, Location location = Location::current()) const;
  /// Tells a schedule the length of the run in steps (CosineDecay with decay_steps = 0).
  void set_total_steps(int64_t steps) const;

  /// All state: iterations, the learning rate unless scheduled, then the slots in the order of their making.
  std::vector<Variable> variables() const;
  /// The same with the names to save it under: "adam/iterations", "adam/conv/kernel/m".
  std::vector<std::pair<std::string, Variable>> named_variables() const;

  /// {"type": "Adam", "learning_rate": ..., ...}, for optimizer_from_config.
  Config config() const;
  /// "Adam"
  std::string type() const;

 private:
  struct State;
  State& state() const;
  std::shared_ptr<State> state_;
};

struct SGDOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0;  ///< 0 keeps no velocity
  bool nesterov = false;
  double weight_decay =
      0;  ///< decoupled: before each step the variable shrinks by learning_rate * weight_decay of itself
  std::optional<double> clipnorm{}, clipvalue{}, global_clipnorm{};
  template <class V>
  void visit(V& v) {
    v.field("learning_rate", learning_rate), v.field("momentum", momentum), v.field("nesterov", nesterov),
        v.field("weight_decay", weight_decay);
    v.field("clipnorm", clipnorm), v.field("clipvalue", clipvalue), v.field("global_clipnorm", global_clipnorm);
  }
};
/// v = momentum v - lr g; p += v, or with nesterov p += momentum v - lr g. Error kInvalidArgument unless 0 <= momentum
/// <= 1.
class SGD : public Optimizer {
 public:
  explicit SGD(SGDOptions options = {});
};

struct AdamOptions {
  LearningRate learning_rate = 1e-3;
  double beta_1 = 0.9, beta_2 = 0.999;
  double epsilon = 1e-7;
  double weight_decay = 0;  ///< as SGD's
  std::optional<double> clipnorm{}, clipvalue{}, global_clipnorm{};
  template <class V>
  void visit(V& v) {
    v.field("learning_rate", learning_rate), v.field("beta_1", beta_1), v.field("beta_2", beta_2),
        v.field("epsilon", epsilon);
    v.field("weight_decay", weight_decay);
    v.field("clipnorm", clipnorm), v.field("clipvalue", clipvalue), v.field("global_clipnorm", global_clipnorm);
  }
};
/// Kingma, Ba: Adam, 2015, in the form before its section 2.1 (epsilon joins the uncorrected root), as Keras. Error
/// kInvalidArgument unless 0 <= beta < 1 and epsilon >= 0.
class Adam : public Optimizer {
 public:
  explicit Adam(AdamOptions options = {});
};

struct AdamWOptions {
  LearningRate learning_rate = 1e-3;
  double weight_decay = 4e-3;
  double beta_1 = 0.9, beta_2 = 0.999;
  double epsilon = 1e-7;
  std::optional<double> clipnorm{}, clipvalue{}, global_clipnorm{};
  template <class V>
  void visit(V& v) {
    v.field("learning_rate", learning_rate), v.field("weight_decay", weight_decay), v.field("beta_1", beta_1),
        v.field("beta_2", beta_2);
    v.field("epsilon", epsilon);
    v.field("clipnorm", clipnorm), v.field("clipvalue", clipvalue), v.field("global_clipnorm", global_clipnorm);
  }
};
/// Adam with decoupled weight decay (Loshchilov, Hutter, 2019).
class AdamW : public Optimizer {
 public:
  explicit AdamW(AdamWOptions options = {});
};

/// The optimizer that a name or a table {"type": "Adam", "learning_rate": ...} describes. Error kInvalidArgument for
/// unknown types and keys, with the nearest name; `where` leads the key's path in messages.
Optimizer optimizer_from_config(const Config& config, std::string_view where = "optimizer");

}  // namespace hone::optim
