// freeze(model): the step from training to inference.
#pragma once
#include <memory>

#include "hone/function/lowered.h"
#include "hone/train/model.h"

namespace hone::nn {

struct FreezeOptions {
  /// A batch on which the frozen model is held against the model. Default: noise of the model's input type (token ids
  /// 0 and 1 for integers).
  Tensor sample{};
  /// Largest difference that passes, as a part of the largest |output| of the model.
  double tolerance = 1e-4;
  /// Type of the input, for models that fit, build or loading did not tell: the batch extent does not count.
  TensorType input{};
  bool jit_compile = false;  ///< the first call for a batch size waits for machine code; else as settings.jit says
};

/// What freezing did and how far the results lie from the model's.
struct FreezeSummary {
  int64_t calls_before = 0, calls_after = 0;
  int64_t convolutions = 0, dense = 0;                 ///< frozen calls
  int64_t scales = 0, activations = 0, residuals = 0;  ///< what is inside them; batch norms are scales
  int64_t weights = 0;                                 ///< calls of weights alone, computed once
  double largest_difference = 0;                       ///< of an output on the sample
  double relative_difference = 0;                      ///< to the largest |output|
  double argmax_agreement = 1;                         ///< part of the rows whose largest output is at the same place
  double seconds = 0;                                  ///< that freezing took, its check included
};

/// A model as it was when frozen: weights are constants, batch norm, bias, residual and activation are inside the
/// library calls, weights are packed once for each batch size in use. Later changes of the model's variables are not
/// seen. Results differ from the model's within the bound that freezing checked; NaN may be lost in an activation,
/// where the model keeps it. Results are the same bits at each call, eager (run_functions_eagerly) and as a graph.
/// Copies share everything. Thread-safe.
class FrozenModel {
 public:
  /// The outputs for one batch of any size. Under a trace the frozen calls become part of it; extents must be numbers
  /// there. Error kInvalidArgument for an input of another type.
  Tensor operator()(const Tensor& x) const;

  /// The outputs for any number of examples, in batches.
  Tensor predict(const Tensor& x, int64_t batch_size = 256) const;

  /// Of one batch; the batch extent is the symbol "batch" where the model works for any.
  const TensorType& input_type() const;
  const FreezeSummary& summary() const;
  /// A few lines for people.
  std::string report() const;
  /// What runs for a batch of this type; for input_type() itself, what all of them have in common.
  Lowered lower(const TensorType& input) const;

 private:
  friend FrozenModel freeze(const Layer& model, const FreezeOptions& options, Location location);
  struct State;
  std::shared_ptr<State> state_;
};

/// Freezes what the model does with training = false. Error kNumerical where an output on the sample differs by more
/// than the tolerance or is NaN; kFailedPrecondition for a model whose input is not known; kUnsupported for one that
/// keeps state.
FrozenModel freeze(const Layer& model, const FreezeOptions& options = {}, Location location = Location::current());
FrozenModel freeze(const Model& model, FreezeOptions options = {}, Location location = Location::current());

}  // namespace hone::nn
