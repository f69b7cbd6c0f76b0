// For tests of tiles and of machine code: arrays of any element type full of special values, comparison of bits.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <vector>

namespace hone::elements {

constexpr size_t kSizes[] = {4, 8, 2, 2, 1, 2, 4, 8, 1, 2, 4, 8, 1};  // by element type
constexpr int kBool = 12;

using Bytes = std::vector<std::byte>;

template <class T>
void fill_values(Bytes& bytes, uint64_t seed, std::initializer_list<T> special) {
  const size_t n = bytes.size() / sizeof(T);
  uint64_t state = seed * 77 + 1;
  for (size_t i = 0; i < n; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    T value;
    const uint64_t random = state >> 11;
    if (i % 3 == 0)
      value = special.begin()[random % special.size()];
    else if (std::is_floating_point_v<T> && i % 3 == 1)
      value = static_cast<T>(static_cast<int32_t>(random)) * T(0x1p-27);
    else
      std::memcpy(&value, &random, sizeof value);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof value);
  }
}
/// Specials, numbers around 1 and random bits of an element type.
inline Bytes operand(int type, int64_t n, uint64_t seed) {
  Bytes bytes(static_cast<size_t>(n) * kSizes[type]);
  const auto integers = [&]<class T>(T) {
    fill_values<T>(bytes, seed,
                   {0, 1, 2, 7, static_cast<T>(-1), std::numeric_limits<T>::min(), std::numeric_limits<T>::max()});
  };
  switch (type) {
    case 0:
      fill_values<float>(
          bytes, seed,
          {0, -0.0F, 1, -1, INFINITY, -INFINITY, NAN, 1e-45F, -1e-40F, 0.5F, 2.5F, 88.8F, -103.5F, 1e30F, 3, 6});
      break;
    case 1:
      fill_values<double>(
          bytes, seed,
          {0, -0.0, 1, -1, HUGE_VAL, -HUGE_VAL, std::nan(""), 5e-324, 0.5, 2.5, 709.9, -745.0, 1e300, 3, 6});
      break;
    case 2:
      fill_values<uint16_t>(bytes, seed, {0, 0x8000, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00, 1, 0x3FF, 0x4248});
      break;
    case 3:
      fill_values<uint16_t>(bytes, seed, {0, 0x8000, 0x3F80, 0xBF80, 0x7F80, 0xFF80, 0x7FC0, 1, 0x4049});
      break;
    case 4:
      integers(int8_t{});
      break;
    case 5:
      integers(int16_t{});
      break;
    case 6:
      integers(int32_t{});
      break;
    case 7:
      integers(int64_t{});
      break;
    case 8:
      integers(uint8_t{});
      break;
    case 9:
      integers(uint16_t{});
      break;
    case 10:
      integers(uint32_t{});
      break;
    case 11:
      integers(uint64_t{});
      break;
    default:
      fill_values<uint8_t>(bytes, seed, {0, 1});
      for (auto& b : bytes) b &= std::byte{1};
      break;
  }
  return bytes;
}

inline bool is_nan(int type, const std::byte* p) {
  uint64_t bits = 0;
  std::memcpy(&bits, p, kSizes[type]);
  switch (type) {
    case 0:
      return (bits & 0x7FFFFFFF) > 0x7F800000;
    case 1:
      return (bits & 0x7FFFFFFFFFFFFFFF) > 0x7FF0000000000000;
    case 2:
      return (bits & 0x7FFF) > 0x7C00;
    case 3:
      return (bits & 0x7FFF) > 0x7F80;
    default:
      return false;
  }
}
/// Index of the first element that differs in its bits; NaNs are alike. -1: none.
inline int64_t first_difference(int type, const Bytes& a, const Bytes& b) {
  for (size_t i = 0; i * kSizes[type] < a.size(); ++i) {
    const size_t at = i * kSizes[type];
    if (std::memcmp(&a[at], &b[at], kSizes[type]) != 0 && !(is_nan(type, &a[at]) && is_nan(type, &b[at])))
      return static_cast<int64_t>(i);
  }
  return -1;
}

}  // namespace hone::elements
