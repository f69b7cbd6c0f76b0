// convert: every element type to every other. Floats to integers truncate and saturate, NaN gives 0; integers to
// narrower ones wrap; anything to bool is != 0; to a float rounds once, to nearest even.
#pragma once
#include "hone/math/half.h"
#include "hone/math/kernels.h"
#include "hone/math/scalar.h"
#include "hone/math/vec.h"

namespace hone::math::HONE_LEVEL {

/// Rounded to odd: cut off, and the last bit set if that lost something. Rounding the result again to a type of two
/// bits fewer or less is as if there had been one rounding.
inline float to_odd_float(double x) {
  const auto nearest = static_cast<float>(x);
  const auto back = static_cast<double>(nearest);
  auto bits = __builtin_bit_cast(unsigned, nearest);
  bits -= __builtin_fabs(back) > __builtin_fabs(x) ? 1 : 0;
  bits |= back != x && x == x ? 1 : 0;
  return __builtin_bit_cast(float, bits);
}
/// The same of a 64-bit integer to 53 bits.
template <class T>
double to_odd_double(T x) {
  if constexpr (sizeof(T) < 8) {
    return static_cast<double>(x);
  } else {
    constexpr T kLow = 0x7FF;
    const T limit = T{1} << 53;
    const bool small = x < limit && (T(-1) > 0 || x > static_cast<T>(0 - limit));
    const T odd = static_cast<T>((x & ~kLow) | ((x & kLow) != 0 ? kLow + 1 : 0));
    return static_cast<double>(small ? x : odd);
  }
}

/// Nearest of the integer type after cutting off the fraction; 0 for NaN.
template <class I, class T>
I saturate(T x) {
  constexpr int kBits = 8 * static_cast<int>(sizeof(I)) - (I(-1) < I(0) ? 1 : 0);
  constexpr I kMax = static_cast<I>(static_cast<UintOf<I>>(-1) >> (I(-1) < I(0) ? 1 : 0)), kMin = static_cast<I>(~kMax);
  constexpr T kLimit = static_cast<T>((kMax >> 1) + 1) * 2;  // 2^kBits
  static_assert(kBits > 0);
  const bool inside = x < kLimit && x >= static_cast<T>(kMin);
  const I outside = x >= kLimit ? kMax : x < static_cast<T>(kMin) ? kMin : I{0};
  return inside ? static_cast<I>(inside ? x : T{0}) : outside;
}

template <bool kFirst, class A, class B>
struct ConditionalType {
  using Type = A;
};
template <class A, class B>
struct ConditionalType<false, A, B> {
  using Type = B;
};
template <class T>
inline constexpr bool kIsHalfFloat = __is_same(T, Float16) || __is_same(T, BFloat16);

/// The type in which an element is compared and combined.
template <class T>
using WorkingType = typename ConditionalType<kIsHalfFloat<T>, float, T>::Type;

/// The f32 that rounds to the same 16-bit float as x.
template <class From>
float float_for_half(From x) {
  if constexpr (sizeof(From) <= 2 || __is_same(From, float))
    return static_cast<float>(x);
  else if constexpr (__is_same(From, double))
    return to_odd_float(x);
  else
    return to_odd_float(to_odd_double(x));
}

template <class To, class From>
To convert_lane(From x) {
  constexpr bool kFromHalf = __is_same(From, Float16) || __is_same(From, BFloat16);
  constexpr bool kToHalf = __is_same(To, Float16) || __is_same(To, BFloat16);
  if constexpr (__is_same(To, From))
    return x;
  else if constexpr (kFromHalf)
    return convert_lane<To>(half_to_float(x));
  else if constexpr (__is_same(To, bool))
    return x != From{0};
  else if constexpr (kToHalf)
    return float_to_half<To>(float_for_half(x));
  else if constexpr (kIsFloat<From> && !kIsFloat<To>)
    return saturate<To>(x);
  else
    return static_cast<To>(x);
}

template <class From, class To>
[[gnu::noinline]] void convert_tile(const TileArgs& args, int64_t begin, int64_t end) {
  constexpr int kBlock = 128;  // copies that cannot alias, so that the compiler vectorises
  using Read = typename ConditionalType<kIsHalfFloat<From>, float, From>::Type;
  using Written = typename ConditionalType<kIsHalfFloat<To>, float, To>::Type;
  for (; begin < end; begin += kBlock) {
    const int n = static_cast<int>(end - begin < kBlock ? end - begin : kBlock);
    const From* const from = static_cast<const From*>(args.in[0]) + begin;
    To* const to = static_cast<To*>(args.out) + begin;
    Read in[kBlock];
    Written out[kBlock];
    if constexpr (kIsHalfFloat<From>)
      halves_to_floats<Vec<float>>(from, in, n);
    else
      copy_block<kBlock>(in, from, n);
    for (int i = 0; i < n; ++i) {
      if constexpr (kIsHalfFloat<To>)
        out[i] = float_for_half(in[i]);
      else
        out[i] = convert_lane<To>(in[i]);
    }
    if constexpr (kIsHalfFloat<To>)
      floats_to_halves<Vec<float>>(out, to, n);
    else if (n == kBlock)
      __builtin_memcpy(to, out, sizeof out);
    else
      __builtin_memcpy(to, out, static_cast<unsigned long>(n) * sizeof(To));
  }
}
/// The same type on both sides.
template <class T>
void copy_tile(const TileArgs& args, int64_t begin, int64_t end) {
  if (begin >= end) return;
  __builtin_memmove(static_cast<T*>(args.out) + begin, static_cast<const T*>(args.in[0]) + begin,
                    static_cast<unsigned long>(end - begin) * sizeof(T));
}

template <class T>
inline constexpr bool kIsInteger =
    !__is_same(T, bool) && !__is_same(T, Float16) && !__is_same(T, BFloat16) && !kIsFloat<T>;
template <class From, class To>
struct ConvertTargetOf {
  using Type = To;
};
template <class From, class To>
  requires(kIsInteger<From> && kIsInteger<To>)
struct ConvertTargetOf<From, To> {
  using Type = UintOf<To>;  // the bits of an integer from another do not depend on the target's sign
};

template <class From, class To>
constexpr TileFn convert_pair() {
  if constexpr (__is_same(From, To) || (kIsInteger<From> && kIsInteger<To> && sizeof(From) == sizeof(To)))
    return &copy_tile<To>;
  else
    return &convert_tile<From, To>;
}
template <class From>
constexpr TileRow convert_row() {
  return []<class... To>(TypeList<To...>) {
    return TileRow{{convert_pair<From, typename ConvertTargetOf<From, To>::Type>()...}};
  }(ElementTypeList{});
}

constexpr void fill_convert(Kernels& kernels) {
  [&]<class... From>(TypeList<From...>) {
    int i = 0;
    ((kernels.convert[i++] = convert_row<From>()), ...);
  }(ElementTypeList{});
}

}  // namespace hone::math::HONE_LEVEL
