// Blocks of 16-bit floats to f32 and back: one rounding to nearest even, denormals kept, NaN stays NaN. Plain loops
// that compilers vectorise.
#pragma once
#include <cstdint>

#include "hone/math/level.h"
#include "hone/math/types.h"

namespace hone::math::HONE_LEVEL {

inline float half_to_float(BFloat16 x) { return __builtin_bit_cast(float, static_cast<unsigned>(x.bits) << 16); }

inline float half_to_float(Float16 x) {
  const unsigned magnitude = x.bits & 0x7FFFU, sign = (x.bits & 0x8000U) << 16;
  const unsigned special = (magnitude >= 0x7C00 ? 0xFFU << 23 : 0) | (magnitude > 0x7C00 ? 1U << 22 : 0);
  const unsigned normal = ((magnitude << 13) + (112U << 23)) | special;
  // A denormal's fraction below the leading bit of 2^-14, which is then subtracted.
  const float denormal = __builtin_bit_cast(float, (magnitude << 13) + (113U << 23)) - 0x1p-14F;
  return __builtin_bit_cast(float, (magnitude < 0x400 ? __builtin_bit_cast(unsigned, denormal) : normal) | sign);
}

template <class H>
H float_to_half(float x);

template <>
inline BFloat16 float_to_half<BFloat16>(float x) {
  const auto bits = __builtin_bit_cast(unsigned, x);
  const unsigned rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  return {static_cast<uint16_t>((bits & 0x7FFFFFFF) > 0x7F800000 ? bits >> 16 | 0x40 : rounded)};
}

template <>
inline Float16 float_to_half<Float16>(float x) {
  const auto bits = __builtin_bit_cast(unsigned, x);
  const unsigned magnitude = bits & 0x7FFFFFFF, sign = bits >> 16 & 0x8000;
  const unsigned normal = (magnitude - (112U << 23) + 0xFFF + (magnitude >> 13 & 1)) >> 13;
  // Adding 1/2 leaves a denormal's rounded fraction in the low bits.
  const float small = __builtin_bit_cast(float, magnitude < 0x38800000 ? magnitude : 0);
  const unsigned denormal = __builtin_bit_cast(unsigned, small + 0.5F) - 0x3F000000;
  const unsigned nan = 0x7E00 | (magnitude >> 13 & 0x3FF);
  unsigned result = magnitude < 0x38800000 ? denormal : normal;
  result = magnitude >= 0x477FF000 ? 0x7C00 : result;
  result = magnitude > 0x7F800000 ? nan : result;
  return {static_cast<uint16_t>(result | sign)};
}

template <class H>
void halves_to_floats(const H* from, float* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = half_to_float(from[i]);
}
template <class H>
void floats_to_halves(const float* from, H* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = float_to_half<H>(from[i]);
}

}  // namespace hone::math::HONE_LEVEL
