// The functors of ops.def's elementwise composites. Each is the primitives of its formula, in the order written, so
// that in f32 and f64 it equals its decomposition bit for bit. Constants are rounded to the lane's type.
#pragma once
#include "hone/math/functors.h"

namespace hone::math::HONE_LEVEL {

template <class V>
V constant(double value) {
  return V(static_cast<typename V::Lane>(value));
}

/// maximum(x, 0).
struct Relu {
  static constexpr ElementKinds kTakes = kNumbers;
  template <class V>
  static V apply(V x) {
    return max(x, V(0));
  }
};
/// select(x > 0, ct, 0).
struct ReluGrad {
  static constexpr ElementKinds kTakes = kNumbers;
  template <class V>
  static V apply(V x, V ct) {
    return select(x > V(0), ct, V(0));
  }
};
/// minimum(maximum(x, 0), 6).
struct Relu6 {
  static constexpr ElementKinds kTakes = kNumbers;
  template <class V>
  static V apply(V x) {
    return min(max(x, V(0)), V(6));
  }
};
/// select(and(x > 0, x < 6), ct, 0).
struct Relu6Grad {
  static constexpr ElementKinds kTakes = kNumbers;
  template <class V>
  static V apply(V x, V ct) {
    return select((x > V(0)) & (x < V(6)), ct, V(0));
  }
};
/// select(x >= 0, x, alpha * x); alpha = params[0].
struct LeakyRelu {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(const double* params, V x) {
    return select(x >= V(0), x, constant<V>(params[0]) * x);
  }
};

inline constexpr double kSqrtHalf = 0.70710678118654752440;       // 1 / sqrt(2)
inline constexpr double kNormalPeak = 0.39894228040143267794;     // 1 / sqrt(2 pi)
inline constexpr double kSqrtTwoOverPi = 0.79788456080286535588;  // sqrt(2 / pi)

/// (0.5 * x) * (erf(x * sqrt(1/2)) + 1).
struct Gelu {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V x) {
    return (constant<V>(0.5) * x) * (erf(x * constant<V>(kSqrtHalf)) + V(1));
  }
};
/// ct * (0.5 * (erf(x * sqrt(1/2)) + 1) + x * (exp((-0.5 * x) * x) * (1 / sqrt(2 pi)))).
struct GeluGrad {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V x, V ct) {
    const V distribution = constant<V>(0.5) * (erf(x * constant<V>(kSqrtHalf)) + V(1));
    const V density = exp((constant<V>(-0.5) * x) * x) * constant<V>(kNormalPeak);
    return ct * (distribution + x * density);
  }
};
/// (0.5 * x) * (tanh(sqrt(2/pi) * (x + 0.044715 * ((x * x) * x))) + 1).
struct GeluTanh {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V x) {
    const V inner = x + constant<V>(0.044715) * ((x * x) * x);
    return (constant<V>(0.5) * x) * (tanh(constant<V>(kSqrtTwoOverPi) * inner) + V(1));
  }
};
/// x * logistic(x).
struct Silu {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V x) {
    return x * logistic(x);
  }
};
/// ct * (s * (1 + x * (1 - s))), s = logistic(x).
struct SiluGrad {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V x, V ct) {
    const V s = logistic(x);
    return ct * (s * (V(1) + x * (V(1) - s)));
  }
};
/// log_plus_one(exponential(-abs(x))) + maximum(x, 0).
struct Softplus {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V x) {
    return log1p(exp(-abs(x))) + max(x, V(0));
  }
};
/// (x * relu6(x + 3)) / 6.
struct Hardswish {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V x) {
    return (x * Relu6::apply(x + V(3))) / V(6);
  }
};
/// ct * (1 - y * y), y = tanh(x).
struct TanhGrad {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V y, V ct) {
    return ct * (V(1) - y * y);
  }
};
/// (ct * y) * (1 - y), y = logistic(x).
struct LogisticGrad {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V y, V ct) {
    return (ct * y) * (V(1) - y);
  }
};

}  // namespace hone::math::HONE_LEVEL
