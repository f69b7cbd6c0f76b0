// The instruction-set level this file is compiled for. Code that depends on it lives in the level's own namespace, so
// that the linker never merges a function compiled for wider registers into baseline code.
#pragma once

#if defined(__AVX512F__)
#define HONE_LEVEL v4
#elif defined(__AVX2__)
#define HONE_LEVEL v3
#elif defined(__aarch64__)
#define HONE_LEVEL neon
#else
#define HONE_LEVEL v2
#endif

namespace hone::math {
namespace HONE_LEVEL {

/// Bytes of the level's natural vector.
#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

/// Integers and floats of a lane's size.
template <int kBytes>
struct LaneTypes;
template <>
struct LaneTypes<1> {
  using Int = signed char;
  using Uint = unsigned char;
};
template <>
struct LaneTypes<2> {
  using Int = short;
  using Uint = unsigned short;
};
template <>
struct LaneTypes<4> {
  using Int = int;
  using Uint = unsigned;
};
template <>
struct LaneTypes<8> {
  using Int = long;
  using Uint = unsigned long;
};
template <class T>
using IntOf = typename LaneTypes<sizeof(T)>::Int;
template <class T>
using UintOf = typename LaneTypes<sizeof(T)>::Uint;

template <class T>
inline constexpr bool kIsFloat = false;
template <>
inline constexpr bool kIsFloat<float> = true;
template <>
inline constexpr bool kIsFloat<double> = true;

}  // namespace HONE_LEVEL

/// The level of this translation unit: math::level::Vec<float>.
namespace level = HONE_LEVEL;

}  // namespace hone::math
