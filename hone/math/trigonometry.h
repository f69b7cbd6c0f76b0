// sin, cos, tan, atan2 over any value type. f32: at most 2 ulp over the whole range; f64: the C library on each lane.
#pragma once
#include "hone/math/exp_log.h"

namespace hone::math::HONE_LEVEL {

/// x = n pi/2 + r for large |x|, by Payne and Hanek: only those bits of 2/pi are multiplied that decide n mod 4 and r.
struct QuarterTurns {
  double r;
  int n;
};
[[gnu::noinline]] inline QuarterTurns reduce_large(float x) {
  static constexpr unsigned kTwoOverPi[] = {0,          0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0,
                                            0xDB629599, 0x3C439041, 0xFE5163AB, 0xDEBBC561};
  const unsigned bits = __builtin_bit_cast(unsigned, x);
  const int exponent = static_cast<int>(bits >> 23 & 255);
  if (exponent == 255) return {__builtin_nan(""), 0};
  const unsigned mantissa = (bits & 0x7FFFFF) | 0x800000;
  const int first = exponent - 150 + 30;  // bit of the table whose product with the mantissa's unit weighs 2
  const unsigned* words = kTwoOverPi + (first >> 5);
  unsigned __int128 window = 0;
  for (int i = 0; i < 4; ++i) window = window << 32 | words[i];
  window = (window << (first & 31)) >> 32;
  const unsigned __int128 turns = (window * mantissa) << 32;  // in units of 2^-126, modulo 4
  const auto top = static_cast<unsigned long>(turns >> 64);
  const unsigned long n = (top + (1UL << 61)) >> 62;
  const double r = static_cast<double>(static_cast<long>(top - (n << 62))) * (0x1p-62 * 0x1.921fb54442d18p+0);
  const bool negative = bits >> 31 != 0;
  return {negative ? -r : r, negative ? -static_cast<int>(n) : static_cast<int>(n)};
}

template <class V>
struct TrigReduction {
  V r;
  IntsOf<V> n;
};
template <class V>
TrigReduction<V> reduce_trig(V x) {
  constexpr float kMagic = 0x1.8p23F;
  const V shifted = fma(x, V(0x1.45f306p-1F), V(kMagic));
  const V k = shifted - kMagic;
  V r = fma(k, V(-0x1.921fb4p+0F), x);  // exact, as is the next where it cancels
  r = fma(k, V(-0x1.4442d0p-24F), r);
  r = fma(k, V(-0x1.846988p-48F), r);
  const IntsOf<V> n = as<int>(shifted) - IntsOf<V>(__builtin_bit_cast(int, kMagic));
  const auto large = abs(x) > V(1e5F);
  return {patch_lanes(
              large, [](float v) { return static_cast<float>(reduce_large(v).r); }, x, r),
          patch_lanes(large, [](float v) { return reduce_large(v).n; }, x, n)};
}

/// sin(r + n pi/2), f32.
template <class V>
V sin_of(V r, IntsOf<V> n) {
  using I = IntsOf<V>;
  const V s = r * r;
  const V sine = fma(r * s, polynomial(s, -0x1.555556p-3F, 0x1.111174p-7F, -0x1.a05960p-13F, 0x1.7c33b0p-19F), r);
  const V cosine = fma(s * s, polynomial(s, 0x1.55554ap-5F, -0x1.6c0c2ap-10F, 0x1.99e904p-16F), fma(s, V(-0.5F), V(1)));
  const V result = select((n & I(1)) == I(0), sine, cosine);
  return as<float>(as<int>(result) ^ ((n & I(2)) << 30));
}

template <class V>
V sin(V x) {
  if constexpr (kIsDouble<V>) {
    return map_lanes<double>([](double v) { return __builtin_sin(v); }, x);
  } else {
    const auto [r, n] = reduce_trig(x);
    return select(x == V(0), x, sin_of(r, n));
  }
}

template <class V>
V cos(V x) {
  if constexpr (kIsDouble<V>) {
    return map_lanes<double>([](double v) { return __builtin_cos(v); }, x);
  } else {
    const auto [r, n] = reduce_trig(x);
    return sin_of(r, n + IntsOf<V>(1));
  }
}

/// tan(r + n pi/2) in doubles, |r| <= pi/4, to 2^-45; only n's parity counts.
template <class D>
D tan_of(D r, IntsOf<D> n) {
  const D s = r * r;
  const D sine = fma(r * s,
                     polynomial(s, -0x1.55555555523c3p-3, 0x1.1111110c9e8d9p-7, -0x1.a019f95511e7bp-13,
                                0x1.71d779ffc5198p-19, -0x1.a965c82bff9f8p-26),
                     r);
  const D cosine = fma(s * s,
                       polynomial(s, 0x1.55555555530d6p-5, -0x1.6c16c16765cbbp-10, 0x1.a019faa3ddca5p-16,
                                  -0x1.27e0278289467p-22, 0x1.1bc6c66a9685ep-29),
                       fma(s, D(-0.5), D(1)));
  const auto even = (n & IntsOf<D>(1)) == IntsOf<D>(0);
  return select(even, sine, -cosine) / select(even, cosine, sine);
}

template <class V>
V tan(V x) {
  if constexpr (kIsDouble<V>) {
    return map_lanes<double>([](double v) { return __builtin_tan(v); }, x);
  } else {
    const V result = in_double(
        [](auto y) {
          using D = decltype(y);
          constexpr double kMagic = 0x1.8p52;
          const D shifted = fma(y, D(0x1.45f306dc9c883p-1), D(kMagic));
          const D k = shifted - kMagic;
          const D r = fma(k, D(-0x1.1a62633145c07p-54), fma(k, D(-0x1.921fb54442d18p+0), y));
          const auto large = abs(y) > D(1e5);
          return tan_of(
              patch_lanes(
                  large, [](double v) { return reduce_large(static_cast<float>(v)).r; }, y, r),
              patch_lanes(
                  large, [](double v) { return long{reduce_large(static_cast<float>(v)).n}; }, y, as<long>(shifted)));
        },
        x);
    return select(x == V(0), x, result);
  }
}

/// The angle of the point (x, y), with the signs of zeros and infinities as C's.
template <class V>
V atan2(V y, V x) {
  if constexpr (kIsDouble<V>) {
    return map_lanes<double>([](double a, double b) { return __builtin_atan2(a, b); }, y, x);
  } else {
    return in_double(
        [](auto b, auto a) {
          using D = decltype(a);
          const D zero = 0, one = 1, inf = __builtin_inf();
          const D ax = abs(a), ay = abs(b);
          const auto steep = ay > ax;
          D large = select(steep, ay, ax), small = select(steep, ax, ay);
          small = select(large == inf, select(small == inf, one, zero), small);
          large = select((large == inf) | (large == zero), one, large);
          // Above tan(pi/8) the angle to the diagonal is smaller.
          const auto diagonal = small > large * 0x1.a827999fcef32p-2;
          const D t = select(diagonal, small - large, small) / select(diagonal, small + large, large);
          const D z = t * t;
          const D p =
              polynomial(z, -0x1.5555554ef7a82p-2, 0x1.99999210cf86ap-3, -0x1.2490c5f10af55p-3, 0x1.c6d24c7052c19p-4,
                         -0x1.7085e1957a1a5p-4, 0x1.1e694819effdfp-4, -0x1.36d6eaa93103fp-5);
          D angle = fma(t * z, p, t);
          angle = select(diagonal, angle + 0x1.921fb54442d18p-1, angle);
          angle = select(steep, D(0x1.921fb54442d18p+0) - angle, angle);
          angle = select(as<long>(a) < IntsOf<D>(0), D(0x1.921fb54442d18p+1) - angle, angle);
          return select((a == a) & (b == b), copysign(angle, b), a + b);
        },
        y, x);
  }
}

}  // namespace hone::math::HONE_LEVEL
