// Scalar conversions of the 16-bit floats; arrays go through math/.
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

#include "hone/math/types.h"

namespace hone {

constexpr float to_float(BFloat16 value) { return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16); }

constexpr float to_float(Float16 value) {
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000) << 16, exponent = value.bits >> 10 & 31,
                 fraction = value.bits & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000 | fraction << 13);
  if (exponent == 0)
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(static_cast<float>(fraction) * 0x1p-24F));
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

/// An element of any type; integers beyond 2^53 are rounded.
template <class T>
constexpr double to_double(T value) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>)
    return to_float(value);
  else
    return static_cast<double>(value);
}

/// To nearest even; NaN stays NaN.
constexpr BFloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return {static_cast<uint16_t>(bits >> 16 | 0x40)};
  return {static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16)};
}

/// To nearest even, denormals kept; NaN stays NaN.
constexpr Float16 to_float16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return {static_cast<uint16_t>(sign | 0x7E00 | (magnitude >> 13 & 0x3FF))};
  if (magnitude >= 0x477FF000) return {static_cast<uint16_t>(sign | 0x7C00)};
  if (magnitude < 0x38800000) {  // a denormal: adding 0.5 leaves the rounded fraction in the low bits
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return {static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000))};
  }
  const uint32_t rounded = magnitude - 0x38000000 + 0xFFF + (magnitude >> 13 & 1);
  return {static_cast<uint16_t>(sign | rounded >> 13)};
}

}  // namespace hone
