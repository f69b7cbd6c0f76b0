// x86.h for aarch64, where vectors have 16 bytes: only clang compiles it, for objects that are made ahead of time.
#pragma once
#include "hone/math/level.h"

namespace hone::math::HONE_LEVEL::isa {

template <class T, class R>
[[gnu::always_inline]] inline R sqrt(R x) {
  return __builtin_elementwise_sqrt(x);
}
/// The second operand where they are equal or one is NaN, as x86's instruction.
template <class T, class R>
[[gnu::always_inline]] inline R max(R a, R b) {
  return a > b ? a : b;
}
template <class T, class R>
[[gnu::always_inline]] inline R min(R a, R b) {
  return a < b ? a : b;
}

enum class Rounding { Even, Down, Up, Zero };
template <Rounding kMode, class T, class R>
[[gnu::always_inline]] inline R round(R x) {
  if constexpr (kMode == Rounding::Even)
    return __builtin_elementwise_roundeven(x);
  else if constexpr (kMode == Rounding::Down)
    return __builtin_elementwise_floor(x);
  else if constexpr (kMode == Rounding::Up)
    return __builtin_elementwise_ceil(x);
  else
    return __builtin_elementwise_trunc(x);
}

/// One rounding.
template <class T, class R>
[[gnu::always_inline]] inline R fma(R a, R b, R c) {
  return __builtin_elementwise_fma(a, b, c);
}

template <class R>
[[gnu::always_inline]] inline bool any(R mask) {
  typedef long Longs __attribute__((vector_size(16)));
  const Longs both = (Longs)mask;
  return (both[0] | both[1]) != 0;
}

template <class T, class R>
inline constexpr bool kMasked = false;
template <class T, class R>
R load_first(const T*, long, R);
template <class T, class R>
void store_first(T*, long, R);

/// Signed bytes in memory as lanes of 4 or 8 bytes, and lanes of all ones or zeros as bytes of 0 or 1.
template <int kLaneBytes, class R>
[[gnu::always_inline]] inline R load_bytes(const void* p) {
  typedef signed char Bytes __attribute__((vector_size(16 / kLaneBytes)));
  Bytes bytes;
  __builtin_memcpy(&bytes, p, sizeof bytes);
  return __builtin_convertvector(bytes, R);
}
template <int kLaneBytes, class R>
[[gnu::always_inline]] inline void store_bytes(R mask, void* p) {
  typedef signed char Bytes __attribute__((vector_size(16 / kLaneBytes)));
  const Bytes bytes = __builtin_convertvector(mask, Bytes) & 1;
  __builtin_memcpy(p, &bytes, sizeof bytes);
}

}  // namespace hone::math::HONE_LEVEL::isa
