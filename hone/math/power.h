// pow, cbrt, rsqrt, remainder over any value type. f32 computes in doubles with short polynomials, so that results are
// nearly always correctly rounded; f64: the C library on each lane.
#pragma once
#include "hone/math/exp_log.h"

namespace hone::math::HONE_LEVEL {

/// log2 of a positive, normal, finite double, to 2^-50.
template <class D>
D log2_double(D x) {
  using U = typename D::template Rebind<unsigned long>;
  constexpr unsigned long kOne = 0x3FF0000000000000, kSqrtHalf = 0x3FE6A09E667F3BCD;
  const U bits = as<unsigned long>(x);
  const U biased = (bits + U(kOne - kSqrtHalf)) >> 52;
  const D m = as<double>(bits - (biased << 52) + U(kOne));
  const D k = as<double>(biased | U(0x4330000000000000)) - (0x1p52 + 1023);
  const D s = (m - 1.0) / (m + 1.0);
  const D p = polynomial(s * s, 0x1.71547652b8300p+1, 0x1.ec709dc39ad2fp-1, 0x1.2776c519979a8p-1, 0x1.a61753068b589p-2,
                         0x1.485093528e25bp-2, 0x1.0b9bdbad189e5p-2, 0x1.f40a14bf9b8fap-3);
  return fma(s, p, k);
}

/// 2^x to 2^-40, |x| <= 1000.
template <class D>
D exp2_double(D x) {
  constexpr double kMagic = 0x1.8p52;
  const D shifted = x + kMagic;
  const D f = x - (shifted - kMagic);
  const D p = polynomial(f, 1.0, 0x1.62e42fef85348p-1, 0x1.ebfbdff80e5f4p-3, 0x1.c6b08dd6699f0p-5, 0x1.3b2ab73773928p-7,
                         0x1.5d87462339400p-10, 0x1.4308778dd0800p-13, 0x1.00dc0acd00000p-16, 0x1.6407a46e00000p-20);
  return as<double>(as<long>(p) + (as<long>(shifted) << 52));
}

/// C99's pow, special cases included (F.10.4.4).
template <class V>
V pow(V x, V y) {
  if constexpr (kIsDouble<V>) {
    return map_lanes<double>([](double a, double b) { return __builtin_pow(a, b); }, x, y);
  } else {
    return in_double(
        [](auto a, auto b) {
          using D = decltype(a);
          const D zero = 0, one = 1, inf = __builtin_inf(), nan = __builtin_nan("");
          const D magnitude = abs(a);
          D l = log2_double(magnitude);
          l = select(magnitude == zero, -inf, select(magnitude < inf, l, magnitude));
          // |x| = 1: y may be infinite.
          D t = select((l == zero) & (b == b), zero, b * l);
          t = select(t > D(1000), D(1000), select(t < D(-1000), D(-1000), t));
          D result = select(t == t, exp2_double(t), t);
          const D half = b * 0.5;
          const auto integer = trunc(b) == b;
          const auto odd = integer & (trunc(half) != half);
          const auto negative = as<long>(a) < IntsOf<D>(0);
          result = select(negative & odd, -result, result);
          result = select((a < zero) & (a > -inf) & !integer, nan, result);
          return select((b == zero) | (a == one), one, result);
        },
        x, y);
  }
}

template <class V>
V cbrt(V x) {
  if constexpr (kIsDouble<V>) {
    return map_lanes<double>([](double v) { return __builtin_cbrt(v); }, x);
  } else {
    const V magnitude = abs(x);
    const auto tiny = magnitude < V(0x1p-126F);
    const V y = select(tiny, magnitude * 0x1p24F, magnitude);
    // A third of the bits is a third of the logarithm, to 5 bits; each step of Halley's method triples them.
    const V guess = as<float>(to<int>(to<float>(as<int>(y)) * 0x1.555556p-2F) + IntsOf<V>(709958130));
    const V root = in_double(
        [](auto a, auto t) {
          for (int i = 0; i < 2; ++i) {
            const auto cube = t * t * t;
            t = t * (a + a + cube) / (a + cube + cube);
          }
          return t;
        },
        y, guess);
    const V result = copysign(root * select(tiny, V(0x1p-8F), V(1)), x);
    return select((magnitude > V(0)) & (magnitude < V(__builtin_inff())), result, x);
  }
}

/// 1 / sqrt(x), two roundings.
template <class V>
V rsqrt(V x) {
  return V(1) / sqrt(x);
}

/// C's fmod: exact, the sign of a.
template <class V>
V fmod(V a, V b) {
  using T = typename V::Lane;
  return map_lanes<T>(
      [](T u, T v) -> T {
        if constexpr (sizeof(T) == 8)
          return __builtin_fmod(u, v);
        else
          return __builtin_fmodf(u, v);
      },
      a, b);
}

}  // namespace hone::math::HONE_LEVEL
