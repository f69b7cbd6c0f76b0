// Activations of layers: a name or a function.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

#include "hone/tensor/tensor.h"

namespace hone::nn {

/// A function of one tensor, given by Keras' name or as a function. Names: linear, relu, relu6, leaky_relu (negative
/// slope 0.2), elu, gelu (exact), silu, swish, hard_silu, hard_swish, hard_sigmoid, sigmoid, softplus, tanh,
/// exponential, softmax, log_softmax.
class Activation {
 public:
  /// Linear.
  Activation() : Activation("linear") {}
  /// Error kInvalidArgument for an unknown name, with the nearest one.
  Activation(const char* name) : Activation(std::string_view(name)) {}         // NOLINT: a name stands for its function
  Activation(const std::string& name) : Activation(std::string_view(name)) {}  // NOLINT
  explicit Activation(std::string_view name);
  /// A function of Hone (relu, gelu, softmax, ... with their defaults) has its name; any other one is "custom", which a
  /// config cannot bring back.
  Activation(Tensor (*function)(Operand))
      : Activation(reinterpret_cast<Pointer>(function), [function](const Tensor& x) { return function(x); }) {
  }  // NOLINT
  Activation(Tensor (*function)(Operand, bool))  // NOLINT
      : Activation(reinterpret_cast<Pointer>(function), [function](const Tensor& x) { return function(x, false); }) {}
  Activation(Tensor (*function)(Operand, int))  // NOLINT
      : Activation(reinterpret_cast<Pointer>(function), [function](const Tensor& x) { return function(x, -1); }) {}
  /// Only Hone's own: leaky_relu and elu. Error kInvalidArgument for others.
  Activation(Tensor (*function)(Operand, double))
      : Activation(reinterpret_cast<Pointer>(function), nullptr) {}  // NOLINT
  template <class F>
    requires(!std::is_convertible_v<F, std::string_view> && !std::is_same_v<std::remove_cvref_t<F>, Activation> &&
             std::is_invocable_r_v<Tensor, const F&, const Tensor&>)
  Activation(F function) : name_("custom"), function_(std::move(function)) {}  // NOLINT

  const std::string& name() const { return name_; }
  bool linear() const { return !function_; }
  Tensor operator()(const Tensor& x) const { return function_ ? function_(x) : x; }

 private:
  using Pointer = void (*)();
  Activation(Pointer known, std::function<Tensor(const Tensor&)> function);
  std::string name_;
  std::function<Tensor(const Tensor&)> function_;  // empty: linear
};

}  // namespace hone::nn
