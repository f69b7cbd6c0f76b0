// Functional derivatives: functions of tensors in, functions of tensors out.
#pragma once
#include <array>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "hone/function/tape.h"

namespace hone {

/// Which arguments to differentiate with respect to: grad(f, argnums<0, 2>).
template <size_t... kIndices>
struct ArgNums {};
template <size_t... kIndices>
inline constexpr ArgNums<kIndices...> argnums{};

/// The function returns a pair of the value to differentiate and anything else, which is passed through.
struct HasAux {};
inline constexpr HasAux has_aux{};

namespace grad_detail {

/// A handle of its own, so that the same tensor captured by the function stays a constant.
Tensor fresh(const Tensor& x);
/// Error kInvalidArgument unless the value is a scalar of floating dtype.
void check_scalar(const Tensor& value, Location location);
/// Gradients of a scalar; zeros where it does not depend on the source.
std::vector<Tensor> gradients(GradientTape& tape, const Tensor& value, std::span<const Tensor> sources,
                              Location location);

template <bool kAux, class F, size_t... kIndices, class... Args>
auto value_and_grad(F& f, ArgNums<kIndices...>, Location location, const Args&... args) {
  std::array<Tensor, sizeof...(Args)> inputs{Tensor(args)...};
  ((inputs[kIndices] = fresh(inputs[kIndices])), ...);
  GradientTape tape({.watch_accessed_variables = false});
  (tape.watch(inputs[kIndices]), ...);
  auto result = std::apply(f, inputs);
  const Tensor& value = [&]() -> const Tensor& {
    if constexpr (kAux)
      return result.first;
    else
      return result;
  }();
  check_scalar(value, location);
  const Tensor sources[] = {inputs[kIndices]...};
  std::vector<Tensor> found = gradients(tape, value, sources, location);
  if constexpr (sizeof...(kIndices) == 1) {
    return std::pair(std::move(result), std::move(found[0]));
  } else {
    return [&]<size_t... kAt>(std::index_sequence<kAt...>) {
      return std::pair(std::move(result), std::tuple(std::move(found[kAt])...));
    }(std::make_index_sequence<sizeof...(kIndices)>());
  }
}

}  // namespace grad_detail

/// The gradient of a scalar function with respect to argument 0, or to the arguments `argnums<...>` names (then a
/// tuple). Zeros where the value does not depend on an argument. Composes: grad(grad(f)).
template <class F, size_t... kIndices>
auto grad(F f, ArgNums<kIndices...> indices, Location location = Location::current()) {
  return [f = std::move(f), indices, location](const auto&... args) mutable {
    return grad_detail::value_and_grad<false>(f, indices, location, args...).second;
  };
}
template <class F>
auto grad(F f, Location location = Location::current()) {
  return grad(std::move(f), argnums<0>, location);
}
/// f returns {value, aux}: gives {gradient, aux}.
template <class F, size_t... kIndices>
auto grad(F f, ArgNums<kIndices...> indices, HasAux, Location location = Location::current()) {
  return [f = std::move(f), indices, location](const auto&... args) mutable {
    auto [result, gradient] = grad_detail::value_and_grad<true>(f, indices, location, args...);
    return std::pair(std::move(gradient), std::move(result.second));
  };
}
template <class F>
auto grad(F f, HasAux aux, Location location = Location::current()) {
  return grad(std::move(f), argnums<0>, aux, location);
}

/// {value, gradient} in one pass.
template <class F, size_t... kIndices>
auto value_and_grad(F f, ArgNums<kIndices...> indices, Location location = Location::current()) {
  return [f = std::move(f), indices, location](const auto&... args) mutable {
    return grad_detail::value_and_grad<false>(f, indices, location, args...);
  };
}
template <class F>
auto value_and_grad(F f, Location location = Location::current()) {
  return value_and_grad(std::move(f), argnums<0>, location);
}
/// f returns {value, aux}: gives {{value, aux}, gradient}.
template <class F, size_t... kIndices>
auto value_and_grad(F f, ArgNums<kIndices...> indices, HasAux, Location location = Location::current()) {
  return [f = std::move(f), indices, location](const auto&... args) mutable {
    return grad_detail::value_and_grad<true>(f, indices, location, args...);
  };
}

/// {f(x), J(x) tangent}: the directional derivative, by differentiating the vector-Jacobian product.
/// Error kInvalidArgument if primal and tangent differ in type.
std::pair<Tensor, Tensor> jvp(const std::function<Tensor(Tensor)>& f, const Tensor& primal, const Tensor& tangent,
                              Location location = Location::current());

/// d f / d x of shape f(x).shape + x.shape.
std::function<Tensor(Tensor)> jacobian(std::function<Tensor(Tensor)> f, Location location = Location::current());

/// A result with its own gradient: `backward` maps the cotangent of the result to those of the inputs.
struct WithGradient {
  Tensor value;
  std::function<std::vector<Tensor>(const Tensor& cotangent)> backward;
};
/// A function whose gradient is what it says itself. Ops inside `f` are not recorded.
std::function<Tensor(std::vector<Tensor>)> custom_gradient(std::function<WithGradient(const std::vector<Tensor>&)> f);

/// f without keeping its intermediate values: the gradient computes them again. Variables that f reads get their
/// gradients; random numbers repeat.
std::function<Tensor(std::vector<Tensor>)> checkpoint(std::function<Tensor(const std::vector<Tensor>&)> f);

}  // namespace hone
