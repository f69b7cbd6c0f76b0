// Scalar<T>: the value type of one lane, in plain C++. It has the interface of Vec<T> (vec.h), so that a function
// written once over a value type also serves the reference back end and the tests, with the same bits.
#pragma once
#include <cstdint>

#include "hone/math/level.h"

namespace hone::math::HONE_LEVEL {

struct ScalarMask {
  bool on;
  friend ScalarMask operator&(ScalarMask a, ScalarMask b) { return {a.on && b.on}; }
  friend ScalarMask operator|(ScalarMask a, ScalarMask b) { return {a.on || b.on}; }
  friend ScalarMask operator!(ScalarMask a) { return {!a.on}; }
  friend bool any(ScalarMask a) { return a.on; }
  friend bool all(ScalarMask a) { return a.on; }
};

/// Arithmetic type in which integers wrap without undefined behaviour (16-bit products overflow int).
template <class T>
struct WrapType {
  using Type = UintOf<T>;
};
template <class T>
  requires(sizeof(T) < 4)
struct WrapType<T> {
  using Type = unsigned;
};

template <class T>
struct Scalar {
  using Lane = T;
  using Mask = ScalarMask;
  template <class U>
  using Rebind = Scalar<U>;
  static constexpr int kLanes = 1;

  T value;

  Scalar() = default;
  Scalar(T x) : value(x) {}  // NOLINT(google-explicit-constructor): constants read as numbers in formulas

  static Scalar load(const T* p) { return *p; }
  void store(T* p) const { *p = value; }
  static Scalar load_partial(const T* p, int64_t n, T fill) { return n > 0 ? *p : fill; }
  void store_partial(T* p, int64_t n) const {
    if (n > 0) *p = value;
  }

  static ScalarMask load_mask(const bool* p) { return {*p}; }
  static void store_mask(ScalarMask m, bool* p) { *p = m.on; }

  friend Scalar operator+(Scalar a, Scalar b) {
    if constexpr (kIsFloat<T>)
      return a.value + b.value;
    else
      return static_cast<T>(wrap(a) + wrap(b));
  }
  friend Scalar operator-(Scalar a, Scalar b) {
    if constexpr (kIsFloat<T>)
      return a.value - b.value;
    else
      return static_cast<T>(wrap(a) - wrap(b));
  }
  friend Scalar operator*(Scalar a, Scalar b) {
    if constexpr (kIsFloat<T>)
      return a.value * b.value;
    else
      return static_cast<T>(wrap(a) * wrap(b));
  }
  friend Scalar operator/(Scalar a, Scalar b)
    requires kIsFloat<T>
  {
    return a.value / b.value;
  }
  friend Scalar operator-(Scalar a) {
    if constexpr (kIsFloat<T>)
      return -a.value;
    else
      return static_cast<T>(0 - wrap(a));
  }
  friend Scalar operator&(Scalar a, Scalar b) { return static_cast<T>(a.value & b.value); }
  friend Scalar operator|(Scalar a, Scalar b) { return static_cast<T>(a.value | b.value); }
  friend Scalar operator^(Scalar a, Scalar b) { return static_cast<T>(a.value ^ b.value); }
  friend Scalar operator~(Scalar a) { return static_cast<T>(~a.value); }
  /// Integers, 0 <= n < width; >> is arithmetic for signed lanes.
  friend Scalar operator<<(Scalar a, int n) { return static_cast<T>(wrap(a) << n); }
  friend Scalar operator>>(Scalar a, int n) { return static_cast<T>(a.value >> n); }

  friend ScalarMask operator==(Scalar a, Scalar b) { return {a.value == b.value}; }
  friend ScalarMask operator!=(Scalar a, Scalar b) { return {a.value != b.value}; }
  friend ScalarMask operator<(Scalar a, Scalar b) { return {a.value < b.value}; }
  friend ScalarMask operator<=(Scalar a, Scalar b) { return {a.value <= b.value}; }
  friend ScalarMask operator>(Scalar a, Scalar b) { return {a.value > b.value}; }
  friend ScalarMask operator>=(Scalar a, Scalar b) { return {a.value >= b.value}; }
  friend Scalar select(ScalarMask m, Scalar a, Scalar b) { return m.on ? a : b; }

  static auto wrap(Scalar a) { return static_cast<typename WrapType<T>::Type>(a.value); }
};

/// Reinterprets the bits as another type of the same size.
template <class U, class T>
Scalar<U> as(Scalar<T> x) {
  static_assert(sizeof(U) == sizeof(T));
  return __builtin_bit_cast(U, x.value);
}
/// The number in another type of the same size; float to integer truncates and must be in range.
template <class U, class T>
Scalar<U> to(Scalar<T> x) {
  static_assert(sizeof(U) == sizeof(T));
  return static_cast<U>(x.value);
}

template <class T>
T lane(Scalar<T> x, int) {
  return x.value;
}

/// NaN if either operand is; +0 > -0.
template <class T>
Scalar<T> max(Scalar<T> a, Scalar<T> b) {
  if constexpr (kIsFloat<T>) {
    if (a.value != a.value || b.value != b.value) return a.value + b.value;
    if (a.value == b.value) return as<T>(as<IntOf<T>>(a) & as<IntOf<T>>(b));
  }
  return a.value > b.value ? a : b;
}
/// NaN if either operand is; -0 < +0.
template <class T>
Scalar<T> min(Scalar<T> a, Scalar<T> b) {
  if constexpr (kIsFloat<T>) {
    if (a.value != a.value || b.value != b.value) return a.value + b.value;
    if (a.value == b.value) return as<T>(as<IntOf<T>>(a) | as<IntOf<T>>(b));
  }
  return a.value < b.value ? a : b;
}

inline Scalar<float> fma(Scalar<float> a, Scalar<float> b, Scalar<float> c) {
  return __builtin_fmaf(a.value, b.value, c.value);
}
inline Scalar<double> fma(Scalar<double> a, Scalar<double> b, Scalar<double> c) {
  return __builtin_fma(a.value, b.value, c.value);
}
inline Scalar<float> sqrt(Scalar<float> x) { return __builtin_sqrtf(x.value); }
inline Scalar<double> sqrt(Scalar<double> x) { return __builtin_sqrt(x.value); }
inline Scalar<float> floor(Scalar<float> x) { return __builtin_floorf(x.value); }
inline Scalar<double> floor(Scalar<double> x) { return __builtin_floor(x.value); }
inline Scalar<float> ceil(Scalar<float> x) { return __builtin_ceilf(x.value); }
inline Scalar<double> ceil(Scalar<double> x) { return __builtin_ceil(x.value); }
inline Scalar<float> trunc(Scalar<float> x) { return __builtin_truncf(x.value); }
inline Scalar<double> trunc(Scalar<double> x) { return __builtin_trunc(x.value); }
inline Scalar<float> round_even(Scalar<float> x) { return __builtin_roundevenf(x.value); }
inline Scalar<double> round_even(Scalar<double> x) { return __builtin_roundeven(x.value); }

inline Scalar<unsigned> load_u16(Scalar<unsigned>, const unsigned short* p) { return unsigned{*p}; }
inline void store_u16(Scalar<unsigned> x, unsigned short* p) { *p = static_cast<unsigned short>(x.value); }

/// f in double precision: takes Scalar<double>, returns one; the result is rounded once.
template <class F, class... V>
Scalar<float> in_double(F f, Scalar<float> x, V... more) {
  return static_cast<float>(
      f(Scalar<double>(static_cast<double>(x.value)), Scalar<double>(static_cast<double>(more.value))...).value);
}
/// f(T...) -> U on each lane.
template <class U, class F, class T, class... V>
Scalar<U> map_lanes(F f, Scalar<T> x, V... more) {
  return f(x.value, more.value...);
}
/// `otherwise` with f(x) in the lanes of the mask: for rare lanes.
template <class F, class U, class T>
Scalar<U> patch_lanes(ScalarMask m, F f, Scalar<T> x, Scalar<U> otherwise) {
  return m.on ? Scalar<U>(f(x.value)) : otherwise;
}

}  // namespace hone::math::HONE_LEVEL
