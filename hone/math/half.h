// 16-bit floats to f32 and back: one rounding to nearest even, denormals kept, NaN stays NaN. Over any value type.
#pragma once
#include "hone/math/bits.h"
#include "hone/math/scalar.h"
#include "hone/math/types.h"

namespace hone::math::HONE_LEVEL {

/// f32 of the 16 bits in each lane of U (unsigned, 32 bits).
template <class H, class U>
auto float_of_bits(U bits) {
  if constexpr (__is_same(H, BFloat16)) {
    return as<float>(bits << 16);
  } else {
    const U magnitude = bits & U(0x7FFF), sign = (bits & U(0x8000)) << 16, shifted = magnitude << 13;
    const U normal = shifted + U(112U << 23);
    // Infinite or NaN: the exponent grows to 255, a NaN gets quiet.
    const U special = shifted | U(0x7F800000) | select(magnitude > U(0x7C00), U(1U << 22), U(0));
    // A denormal is the fraction above 2^-14, which is then subtracted.
    const U denormal = as<unsigned>(as<float>(shifted + U(113U << 23)) - 0x1p-14F);
    const U result = select(magnitude < U(0x400), denormal, select(magnitude < U(0x7C00), normal, special));
    return as<float>(result | sign);
  }
}

/// The 16 bits nearest to each lane.
template <class H, class V>
auto bits_of_float(V x) {
  using U = typename V::template Rebind<unsigned>;
  const U bits = as<unsigned>(x), magnitude = bits & U(0x7FFFFFFF);
  if constexpr (__is_same(H, BFloat16)) {
    const U rounded = bits + U(0x7FFF) + ((bits >> 16) & U(1));
    return select(x == x, rounded >> 16, (bits >> 16) | U(0x40));
  } else {
    const U normal = (magnitude - U(112U << 23) + U(0xFFF) + ((magnitude >> 13) & U(1))) >> 13;
    // Adding 1/2 leaves a denormal's rounded fraction in the low bits.
    const U denormal = as<unsigned>(as<float>(magnitude) + 0.5F) - U(0x3F000000);
    const U nan = U(0x7E00) | ((magnitude >> 13) & U(0x3FF));
    const U finite = select(magnitude < U(0x38800000), denormal, normal);
    const U result = select(magnitude < U(0x477FF000), finite, select(x == x, U(0x7C00), nan));
    return result | ((bits >> 16) & U(0x8000));
  }
}

template <class H>
float half_to_float(H x) {
  return float_of_bits<H>(Scalar<unsigned>(unsigned{x.bits})).value;
}
template <class H>
H float_to_half(float x) {
  return {static_cast<uint16_t>(bits_of_float<H>(Scalar<float>(x)).value)};
}

/// memcpy of n <= kBlock elements, inline when the block is full.
template <int kBlock, class T>
void copy_block(T* to, const void* from, int n) {
  if (n == kBlock)
    __builtin_memcpy(to, from, kBlock * sizeof(T));
  else
    __builtin_memcpy(to, from, static_cast<unsigned long>(n) * sizeof(T));
}

/// Blocks, by the value type V of f32.
template <class V, class H>
[[gnu::noinline]] void halves_to_floats(const H* from, float* to, int64_t n) {
  using U = typename V::template Rebind<unsigned>;
  int64_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) float_of_bits<H>(load_u16(U(), &from[i].bits)).store(to + i);
  for (int rest = static_cast<int>(n - i), k = 0; k < rest; ++k) to[i + k] = half_to_float(from[i + k]);
}
template <class V, class H>
[[gnu::noinline]] void floats_to_halves(const float* from, H* to, int64_t n) {
  int64_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) store_u16(bits_of_float<H>(V::load(from + i)), &to[i].bits);
  for (int rest = static_cast<int>(n - i), k = 0; k < rest; ++k) to[i + k] = float_to_half<H>(from[i + k]);
}

}  // namespace hone::math::HONE_LEVEL
