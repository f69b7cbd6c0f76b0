// Sign and class of floating-point values by their bits, over any value type.
#pragma once
#include "hone/math/level.h"

namespace hone::math::HONE_LEVEL {

template <class T>
inline constexpr UintOf<T> kSignBit = UintOf<T>{1} << (8 * sizeof(T) - 1);

template <class V>
V abs(V x) {
  using U = UintOf<typename V::Lane>;
  return as<typename V::Lane>(as<U>(x) & typename V::template Rebind<U>(static_cast<U>(~kSignBit<typename V::Lane>)));
}
template <class V>
V negate(V x) {
  using U = UintOf<typename V::Lane>;
  return as<typename V::Lane>(as<U>(x) ^ typename V::template Rebind<U>(kSignBit<typename V::Lane>));
}
/// The magnitude of x with the sign of s.
template <class V>
V copysign(V x, V s) {
  using U = UintOf<typename V::Lane>;
  using W = typename V::template Rebind<U>;
  const W sign = kSignBit<typename V::Lane>;
  return as<typename V::Lane>((as<U>(x) & ~sign) | (as<U>(s) & sign));
}
template <class V>
auto is_nan(V x) {
  return x != x;
}
template <class V>
auto is_finite(V x) {
  return abs(x) < V(static_cast<typename V::Lane>(__builtin_inf()));
}

}  // namespace hone::math::HONE_LEVEL
