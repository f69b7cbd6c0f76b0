// exp, expm1, log, log1p, tanh, logistic over any value type. f32: own polynomials, at most 1.5 ulp over all inputs;
// fma is part of their definition. f64: the C library on each lane. Denormals are kept; NaN gives NaN.
//
// Polynomials are minimax fits (Lawson's weights on Chebyshev nodes), their coefficients rounded to f32 one after
// another.
#pragma once
#include "hone/math/bits.h"
#include "hone/math/scalar.h"

namespace hone::math::HONE_LEVEL {

template <class V>
inline constexpr bool kIsDouble = sizeof(typename V::Lane) == 8;
template <class V>
using IntsOf = typename V::template Rebind<IntOf<typename V::Lane>>;

/// c0 + c1 x + c2 x^2 + ... by Horner's rule in fma.
template <class V>
V polynomial(V, typename V::Lane c0) {
  return c0;
}
template <class V, class... C>
V polynomial(V x, typename V::Lane c0, C... more) {
  return fma(polynomial(x, more...), x, V(c0));
}

/// 2^n in f32 for -126 <= n <= 127.
template <class I>
auto power_of_two(I n) {
  return as<float>((n + I(127)) << 23);
}

/// x = n ln2 + r, |r| <= ln2 / 2; for |x| < 2^20.
template <class V>
struct ExpReduction {
  V r;
  IntsOf<V> n;
};
template <class V>
ExpReduction<V> reduce_exp(V x) {
  constexpr float kMagic = 0x1.8p23F;  // adding it rounds to an integer, which the low bits then hold
  const V shifted = fma(x, V(0x1.715476p+0F), V(kMagic));
  const V k = shifted - kMagic;
  const V r = fma(k, V(0x1.05c610p-29F), fma(k, V(-0x1.62e430p-1F), x));
  return {r, as<int>(shifted) - IntsOf<V>(__builtin_bit_cast(int, kMagic))};
}

/// exp(r) for |r| <= ln2 / 2, f32.
template <class V>
V exp_of_reduced(V r) {
  const V q = polynomial(r, 0x1.fffffcp-2F, 0x1.555492p-3F, 0x1.5558aep-5F, 0x1.123988p-7F, 0x1.6a4f8cp-10F);
  return fma(r * r, q, r) + 1.0F;
}
/// exp in f32 where neither x nor the result is near a limit: |x| <= 87.
template <class V>
V exp_bounded(V x) {
  const auto [r, n] = reduce_exp(x);
  return exp_of_reduced(r) * power_of_two(n);
}

template <class V>
V exp(V x) {
  if constexpr (kIsDouble<V>) {
    return map_lanes<double>([](double v) { return __builtin_exp(v); }, x);
  } else {
    x = select(x > V(89), V(89), x);
    x = select(x < V(-104), V(-104), x);
    const auto [r, n] = reduce_exp(x);
    const auto half = n >> 1;  // in two steps, so that the result may be denormal
    return exp_of_reduced(r) * power_of_two(half) * power_of_two(n - half);
  }
}

template <class V>
V expm1(V x) {
  if constexpr (kIsDouble<V>) {
    return map_lanes<double>([](double v) { return __builtin_expm1(v); }, x);
  } else {
    V y = select(x > V(89), V(89), x);
    y = select(y < V(-20), V(-20), y);
    const auto [r, n] = reduce_exp(y);
    const V q =
        polynomial(r, 0x1p-1F, 0x1.555554p-3F, 0x1.5554f8p-5F, 0x1.1112dap-7F, 0x1.6d3a44p-10F, 0x1.9e6e7cp-13F);
    const V m = fma(r * r, q, r);
    const V scale = power_of_two(n - IntsOf<V>(1));  // half of 2^n, which overflows for n = 128
    const V less = scale - 0.5F;
    const V lost = (less - scale) + 0.5F;  // by rounding, for large n
    const V result =
        select(n == IntsOf<V>(0), m, (less + fma(scale, m, -lost)) * 2.0F);  // half a denormal would lose a bit
    return copysign(result, x);
  }
}

/// log(1 + f) - f for -1/4 <= f <= 1/2, f32.
template <class V>
V log1p_tail(V f) {
  const V p = polynomial(f, 0x1.55555ap-2F, -0x1.00006ep-2F, 0x1.999768p-3F, -0x1.5519d2p-3F, 0x1.2462f6p-3F,
                         -0x1.04aca4p-3F, 0x1.df26fcp-4F, -0x1.752162p-4F, 0x1.344232p-5F);
  return f * f * fma(f, p, V(-0.5F));
}
/// k ln2 + log(1 + f); k ln2's upper part is exact.
template <class V>
V log_sum(V k, V f) {
  const V low = fma(k, V(0x1.7f7d1cp-20F), log1p_tail(f));
  return fma(k, V(0x1.62e4p-1F), f + low);
}

template <class V>
V log(V x) {
  if constexpr (kIsDouble<V>) {
    return map_lanes<double>([](double v) { return __builtin_log(v); }, x);
  } else {
    using I = IntsOf<V>;
    constexpr float kInf = __builtin_inff();
    const auto tiny = x < V(0x1p-126F);
    const I bits = as<int>(select(tiny, x * 0x1p23F, x));
    const I k = (bits - I(0x3F400000)) >> 23;
    const V f = as<float>(bits - (k << 23)) - 1.0F;
    const V result = log_sum(to<float>(k) + select(tiny, V(-23), V(0)), f);
    return select(x > V(0), select(x < V(kInf), result, x), select(x == V(0), V(-kInf), V(__builtin_nanf(""))));
  }
}

template <class V>
V log1p(V x) {
  if constexpr (kIsDouble<V>) {
    return map_lanes<double>([](double v) { return __builtin_log1p(v); }, x);
  } else {
    using I = IntsOf<V>;
    constexpr float kInf = __builtin_inff();
    const auto huge = x > V(0x1p100F);
    const V y = select(huge, x * 0x1p-4F, x);
    const I k = (as<int>(y + 1.0F) - I(0x3F400000)) >> 23;
    // 1 + y = 2^k (1 + f): f is rounded once, and exact for k = 0.
    const V scale = power_of_two(-k);
    const V f = fma(y, scale, scale - 1.0F);
    const V result = copysign(log_sum(to<float>(k) + select(huge, V(4), V(0)), f), x);
    return select(x > V(-1), select(x < V(kInf), result, x), select(x == V(-1), V(-kInf), V(__builtin_nanf(""))));
  }
}

template <class V>
V tanh(V x) {
  if constexpr (kIsDouble<V>) {
    return map_lanes<double>([](double v) { return __builtin_tanh(v); }, x);
  } else {
    const V y = abs(x), s = x * x;
    const V p = polynomial(s, -0x1.555532p-2F, 0x1.1106fcp-3F, -0x1.b83738p-5F, 0x1.5207b8p-6F, -0x1.75619ap-8F);
    const V near_zero = fma(y, s * p, y);
    const V bounded = select(y > V(10), V(10), y);  // tanh rounds to 1 beyond
    const V far = V(1) - V(2) / (exp_bounded(bounded + bounded) + 1.0F);
    return copysign(select(y < V(0.625F), near_zero, far), x);
  }
}

/// 1 / (1 + exp(-x)).
template <class V>
V logistic(V x) {
  using T = typename V::Lane;
  const V e = exp(-abs(x));
  const V numerator = select(x < V(0), e, V(1));
  const V d = e + T{1};
  if constexpr (kIsDouble<V>) {
    return numerator / d;
  } else {
    const V lost = e - (d - 1.0F);  // 1 + e = d + lost, exactly
    const V inverse = V(1) / d;
    const V q = numerator * inverse;
    return fma(fma(-q, lost, fma(-q, d, numerator)), inverse, q);
  }
}

}  // namespace hone::math::HONE_LEVEL
