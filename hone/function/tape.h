// Reverse-mode differentiation by recording.
#pragma once
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hone/function/variable.h"
#include "hone/tensor/interpreter.h"

namespace hone {

struct TapeOptions {
  bool persistent = false;               ///< gradient() may be called several times
  bool watch_accessed_variables = true;  ///< trainable variables are watched when they are read
};

/// Records the ops of its scope (on this thread) that depend on watched tensors, to walk them backwards. Tapes nest: an
/// outer tape records what an inner one's gradient() computes, which gives higher derivatives. Only values that a
/// gradient rule reads are kept.
class GradientTape {
 public:
  explicit GradientTape(TapeOptions options = {});
  ~GradientTape();
  GradientTape(const GradientTape&) = delete;
  GradientTape& operator=(const GradientTape&) = delete;

  /// Differentiate with respect to this tensor (of floating dtype; Error kInvalidArgument otherwise).
  void watch(const Tensor& x);
  void watch(const Variable& x);

  /// d sum(target) / d source, or the vector-Jacobian product with `output_gradient`. Undefined where target does not
  /// depend on the source. A tape that is not persistent stops recording and serves one call (Error kFailedPrecondition
  /// after that).
  std::vector<Tensor> gradient(const Tensor& target, std::span<const Tensor> sources,
                               const Tensor& output_gradient = {}, Location location = Location::current());
  std::vector<Tensor> gradient(const Tensor& target, const std::vector<Variable>& sources,
                               const Tensor& output_gradient = {}, Location location = Location::current());
  Tensor gradient(const Tensor& target, const Tensor& source, const Tensor& output_gradient = {},
                  Location location = Location::current());
  Tensor gradient(const Tensor& target, const Variable& source, const Tensor& output_gradient = {},
                  Location location = Location::current());
  /// The same for several targets at once: sum over targets of their products.
  std::vector<Tensor> gradient(std::span<const Tensor> targets, std::span<const Tensor> sources,
                               std::span<const Tensor> output_gradients, Location location = Location::current());

  /// d target / d source of shape target.shape + source.shape, by backward walks that up to 64 elements of the target
  /// share. The tape must be persistent.
  Tensor jacobian(const Tensor& target, const Tensor& source, Location location = Location::current());

  /// No more ops are recorded; gradient() still works.
  void stop_recording();
  /// Number of recorded ops, for tests.
  size_t recorded() const;

 private:
  class Recorder;
  std::unique_ptr<Recorder> recorder_;
};

/// No tape records what happens in this scope (inference, metric updates).
class NoGradScope {
 public:
  NoGradScope();
  ~NoGradScope();
  NoGradScope(const NoGradScope&) = delete;
  NoGradScope& operator=(const NoGradScope&) = delete;
};
/// Whether such a scope is open on this thread.
bool gradients_disabled();

}  // namespace hone
