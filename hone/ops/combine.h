// What the members of Combine do to two numbers, in the compute type of their dtype. Shared by the back ends' scatter
// and cumulative.
#pragma once
#include <type_traits>

#include "hone/ops/attrs.h"
#include "hone/tensor/half.h"

namespace hone {

/// The type in which an element is combined: f32 for the 16-bit floats.
template <class T>
using ComputeOf = std::conditional_t<std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>, float, T>;

template <class T>
ComputeOf<T> widen(T value) {
  if constexpr (std::is_same_v<ComputeOf<T>, T>)
    return value;
  else
    return to_float(value);
}
template <class T>
T narrow(ComputeOf<T> value) {
  if constexpr (std::is_same_v<T, Float16>)
    return to_float16(value);
  else if constexpr (std::is_same_v<T, BFloat16>)
    return to_bfloat16(value);
  else
    return value;
}

/// Integers wrap; NaN propagates through the extrema, +0 > -0. `a` is the older one.
template <Combine kCombine, class T>
T combine(T a, T b) {
  constexpr bool kSum = kCombine == Combine::Sum, kProd = kCombine == Combine::Prod, kMax = kCombine == Combine::Max;
  if constexpr (kCombine == Combine::Set) {
    return b;
  } else if constexpr ((kSum || kProd) && std::is_integral_v<T>) {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<T>(kSum ? x + y : x * y);
  } else if constexpr (kSum || kProd) {
    return kSum ? a + b : a * b;
  } else {
    if (a != a || b != b) return a != a ? a : b;
    if constexpr (std::is_floating_point_v<T>) {
      if (a == b) return __builtin_signbit(a) == kMax ? b : a;
    }
    return (kMax ? a < b : b < a) ? b : a;
  }
}

/// Calls f with std::integral_constant<Combine, ...>.
template <class F>
void visit_combine(Combine combine, F&& f) {
  switch (combine) {
    case Combine::Set:
      return f(std::integral_constant<Combine, Combine::Set>{});
    case Combine::Sum:
      return f(std::integral_constant<Combine, Combine::Sum>{});
    case Combine::Prod:
      return f(std::integral_constant<Combine, Combine::Prod>{});
    case Combine::Max:
      return f(std::integral_constant<Combine, Combine::Max>{});
    case Combine::Min:
      return f(std::integral_constant<Combine, Combine::Min>{});
  }
}

}  // namespace hone
