// erf and its inverse over any value type, at most 2 ulp for f32. f64: the C library; its inverse by Halley's method.
#pragma once
#include "hone/math/power.h"

namespace hone::math::HONE_LEVEL {

template <class V>
V erf(V x) {
  if constexpr (kIsDouble<V>) {
    return map_lanes<double>([](double v) { return __builtin_erf(v); }, x);
  } else {
    const V y = abs(x), s = x * x;
    const V p = polynomial(s, 0x1.06eba6p-3F, -0x1.8126eep-2F, 0x1.ce1c18p-4F, -0x1.b6a662p-6F, 0x1.47e91ep-8F,
                           -0x1.3d149ep-11F);
    const V near_zero = fma(x, p, x);
    // erfc(t) = exp(-t q(t)); beyond 4 erf rounds to 1.
    const V t = select(y > V(4), V(4), y);
    const V q = polynomial(t, 0x1.20ee5cp+0F, 0x1.4538aep-1F, 0x1.b2d3bep-4F, -0x1.8435b2p-6F, 0x1.d9340cp-9F,
                           -0x1.4a1f0cp-12F, 0x1.5df198p-17F);
    const V far = copysign(V(1) - exp_bounded(-(t * q)), x);
    return select(y < V(0.9F), near_zero, far);
  }
}

/// y with erf(y) = x for |x| < 1 in doubles, to 2^-26 (2^-22 for |x| > 1 - 2^-25), given w = -log(1 - x^2).
template <class D>
D erf_inv_guess(D x, D w) {
  const D v = w - 2.5;
  const D central =
      polynomial(v, 0x1.805c5cff6d8bcp+0, 0x1.f91e897301616p-3, -0x1.11c3e0b2893b8p-8, -0x1.486399e8dc8ddp-10,
                 0x1.c9bb5aedc51d1p-13, -0x1.4f760a4a6bf87p-18, -0x1.cbd4e1e2bc72ep-19, 0x1.0189502479413p-21,
                 0x1.1abbaf337c594p-26, -0x1.7ac1458b660b6p-27, 0x1.e0853e4c3337dp-32, 0x1.24292ffb788d5p-33);
  const D root = sqrt(w);
  const D u = root - 3.2;
  const D tail = polynomial(u, 0x1.844e33d3be4edp+1, 0x1.013388e4d7cf0p+0, 0x1.878fbb1721bedp-8, -0x1.199e6cb8f2b5cp-8,
                            0x1.80a8d5da364cep-9, -0x1.034e64e0b7724p-9, 0x1.29f65d6e001afp-10, -0x1.94347c34ad997p-12,
                            -0x1.a8e8081279da3p-14, 0x1.e54c756e3433fp-14);
  const D z = root - 4.2;
  const D far =
      polynomial(z, 0x1.02aba652eaf76p+2, 0x1.0288bec58e811p+0, 0x1.a3d9d9e01d3b1p-11, -0x1.4b6bc9f294f57p-11,
                 0x1.0669066e4539ap-12, -0x1.be67da354c7eap-14, 0x1.c61b3fe3fa04ep-20, 0x1.c4b9e299894ebp-17,
                 0x1.4240b5969642cp-16, -0x1.ca14e841e3ef2p-17, -0x1.58dad17fae34fp-22, 0x1.162e8c0b58cbep-20);
  return x * select(w < D(5), central, select(w < D(16.6), tail, far));
}

inline double erf_inv_double(double x) {
  const double magnitude = __builtin_fabs(x);
  if (!(magnitude < 1)) return magnitude == 1 ? x * __builtin_inf() : __builtin_nan("");
  double y =
      erf_inv_guess(Scalar<double>(magnitude), Scalar<double>(-__builtin_log((1 - magnitude) * (1 + magnitude)))).value;
  for (int i = 0; i < 2; ++i) {
    const double error = y < 0.5 ? __builtin_erf(y) - magnitude : (1 - magnitude) - __builtin_erfc(y);
    const double step = error / (0x1.20dd750429b6dp+0 * __builtin_exp(-y * y));  // 2 / sqrt(pi)
    y -= step / (1 + y * step);
  }
  return __builtin_copysign(y, x);
}

/// Infinite at +-1, NaN beyond.
template <class V>
V erf_inv(V x) {
  if constexpr (kIsDouble<V>) {
    return map_lanes<double>([](double v) { return erf_inv_double(v); }, x);
  } else {
    const V result = in_double(
        [](auto a) { return erf_inv_guess(a, log2_double((1.0 - a) * (a + 1.0)) * -0x1.62e42fefa39efp-1); }, x);
    const V magnitude = abs(x);
    return select(magnitude < V(1), result, select(magnitude == V(1), x * __builtin_inff(), V(__builtin_nanf(""))));
  }
}

}  // namespace hone::math::HONE_LEVEL
