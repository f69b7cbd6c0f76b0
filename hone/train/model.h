// Models: layers with a training loop. Names and defaults are Keras'.
#pragma once
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "hone/nn/layer.h"
#include "hone/nn/loss.h"
#include "hone/nn/metric.h"
#include "hone/optim/optimizer.h"
#include "hone/train/callback.h"
#include "hone/train/source.h"

namespace hone::nn {

struct CompileOptions {
  optim::Optimizer optimizer = "adam";
  Loss loss{};
  std::vector<Metric> metrics{};  ///< "accuracy" picks its kind by labels and outputs
  bool run_eagerly = false;       ///< op by op, for a debugger; else steps are recorded and run as graphs
  bool jit_compile = false;
  int64_t steps_per_execution = 1;  ///< training steps in one call of the graph; callbacks see the last of them
};

/// How raw input becomes what the model was trained on; kept in the bundle so that `predict` sees the same.
struct Preprocessing {
  double rescale = 1;          ///< f32 = pixel * rescale
  std::optional<Ints> size{};  ///< {height, width}; default: the model's input
  int64_t channels = 0;        ///< 0: the model's input
  friend bool operator==(const Preprocessing&, const Preprocessing&) = default;
};

struct FitOptions {
  int64_t batch_size = 32;  ///< for tensors; datasets come in batches
  int64_t epochs = 1;
  int verbose = 1;  ///< 0 silent, 1 progress on stderr
  Callbacks callbacks{};
  DataSource validation_data{};
  bool shuffle = true;  ///< tensors: a new order each epoch
  int64_t initial_epoch = 0;
  int64_t steps_per_epoch = -1;
  int64_t validation_steps = -1;
  int64_t validation_freq = 1;
  Preprocessing preprocessing{};           ///< default: what the model has
  std::vector<std::string> class_names{};  ///< default: the dataset's
};

struct EvaluateOptions {
  int64_t batch_size = 32;
  int verbose = 0;
  int64_t steps = -1;
  /// What gives the outputs in place of the model itself: a FrozenModel.
  std::function<Tensor(const Tensor&)> inference{};
};

/// A layer that can be compiled, trained, saved and loaded. Copies share everything.
class Model : public Layer {
 public:
  /// A model around a layer or module of one's own.
  explicit Model(const Layer& layer);

  void compile(CompileOptions options);
  /// Trains on batches {x, y[, sample_weight]}. Errors: kFailedPrecondition before compile, kInvalidArgument for labels
  /// out of range or NaN, for an empty dataset; kNumerical never: a NaN loss is reported, not hidden. Stops after a
  /// step when interrupted().
  History fit(const DataSource& data, const FitOptions& options = {}, Location location = Location::current());
  History fit(const Tensor& x, const Tensor& y, const FitOptions& options = {},
              Location location = Location::current());
  /// Loss and metrics over the data.
  Logs evaluate(const DataSource& data, const EvaluateOptions& options = {}, Location location = Location::current());
  Logs evaluate(const Tensor& x, const Tensor& y, const EvaluateOptions& options = {},
                Location location = Location::current());
  /// Outputs for all examples, in inference mode; records nothing.
  Tensor predict(const DataSource& data, Location location = Location::current());
  Tensor predict(const Tensor& x, int64_t batch_size = 256, Location location = Location::current());
  /// One step on one batch; the logs of this batch.
  Logs train_on_batch(const Tensor& x, const Tensor& y, const Tensor& sample_weight = {},
                      Location location = Location::current());

  /// Writes architecture, weights, optimizer state, input specification, preprocessing and class names as one file (a
  /// safetensors file whose metadata holds the description and a checksum). The old file stays until the new one is
  /// whole; a killed process may leave one hidden temporary file (".NAME.tmp-PID-N") beside it.
  void save(const std::string& path, Location location = Location::current()) const;
  /// Error kDataLoss names file and place for a damaged one, kNotFound for a missing one, kUnsupported for one of a
  /// later version, or with a function of one's own (activation, loss, metric): its weights can be had by
  /// load_weights.
  static Model load(const std::string& path, Location location = Location::current());
  /// Weights alone, by name. Error kInvalidArgument lists names that are missing, left over or of another shape.
  void load_weights(const std::string& path, Location location = Location::current());

  /// Table of layers: output shape, parameters, multiply-adds of one example.
  std::string summary() const;

  const optim::Optimizer& optimizer() const;
  /// Undefined before compile.
  const Loss& loss() const;
  /// Type of one input batch with the batch extent 1, or Layer::batch_size of a stateful model; set by fit, by build,
  /// or by loading. Rank 0 before.
  const TensorType& input_type() const;
  void set_input_type(const TensorType& type);
  const Preprocessing& preprocessing() const;
  void set_preprocessing(const Preprocessing& preprocessing);
  const std::vector<std::string>& class_names() const;
  void set_class_names(std::vector<std::string> names);
  bool compiled() const;

 private:
  friend struct Trainer;
  struct State;
  std::shared_ptr<State> state_;
};

/// Layers one after the other.
class Sequential : public Model {
 public:
  Sequential(std::initializer_list<Layer> layers);
  explicit Sequential(std::vector<Layer> layers);
};

/// Trainable variables with their paths in the model.
std::vector<std::pair<std::string, Variable>> named_trainable_variables(const Layer& layer);

/// Multiply-adds of the library ops (products, convolutions) of one call.
double multiply_adds(const Layer& layer, const Tensor& x);

}  // namespace hone::nn
