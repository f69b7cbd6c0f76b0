// The functors of ops.def's elementwise primitives. Each says which element types it takes and computes over a value
// type V (vec.h, scalar.h): apply(V...) gives V, or V::Mask for predicates, which are stored as bool. Some take the
// op's parameters first. The 16-bit floats never arrive here: tiles convert them to f32 (tile.h).
//
// Integers wrap; floats follow IEEE 754 without contraction; NaN propagates.
#pragma once
#include "hone/math/erf.h"
#include "hone/math/trigonometry.h"

namespace hone::math::HONE_LEVEL {

enum ElementKinds : unsigned { kFloats = 1, kIntegers = 2, kBool = 4, kNumbers = 3, kLogical = 6, kAll = 7 };

/// Whether a functor treats signed and unsigned integers alike; their tiles are then one.
template <class F>
inline constexpr bool kIsSignless = requires { F::kSignless; };
/// Whether integers are computed lane by lane: plain loops are left to the compiler then.
template <class F>
inline constexpr bool kIsByLane = requires { F::kIntegersByLane; };
template <class V>
inline constexpr bool kFloatLanes = kIsFloat<typename V::Lane>;
template <class T>
inline constexpr bool kSigned = static_cast<T>(-1) < static_cast<T>(0);

struct Abs {
  static constexpr ElementKinds kTakes = kNumbers;
  template <class V>
  static V apply(V x) {
    if constexpr (kFloatLanes<V>)
      return abs(x);
    else
      return select(x < V(0), -x, x);
  }
};
struct Negate {
  static constexpr ElementKinds kTakes = kNumbers;
  static constexpr bool kSignless = true;
  template <class V>
  static V apply(V x) {
    return -x;
  }
};
/// -1, 0 or 1; zeros and NaN stay as they are.
struct Sign {
  static constexpr ElementKinds kTakes = kNumbers;
  template <class V>
  static V apply(V x) {
    using T = typename V::Lane;
    return select(x > V(0), V(1), select(x < V(0), V(static_cast<T>(-1)), x));
  }
};
struct Floor {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V x) {
    return floor(x);
  }
};
struct Ceil {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V x) {
    return ceil(x);
  }
};
struct RoundNearestEven {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V x) {
    return round_even(x);
  }
};
/// Ties away from zero. Adds the largest number below 1/2, for 1/2 itself would round 0.49999997 up.
struct RoundNearestAfz {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V x) {
    constexpr auto kBelowHalf = static_cast<typename V::Lane>(kIsDouble<V> ? 0x1.fffffffffffffp-2 : 0x1.fffffep-2);
    return trunc(x + copysign(V(kBelowHalf), x));
  }
};
struct Exp {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V x) {
    return exp(x);
  }
};
struct Expm1 {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V x) {
    return expm1(x);
  }
};
struct Log {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V x) {
    return log(x);
  }
};
struct Log1p {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V x) {
    return log1p(x);
  }
};
struct Logistic {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V x) {
    return logistic(x);
  }
};
struct Tanh {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V x) {
    return tanh(x);
  }
};
struct Tan {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V x) {
    return tan(x);
  }
};
struct Sin {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V x) {
    return sin(x);
  }
};
struct Cos {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V x) {
    return cos(x);
  }
};
struct Sqrt {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V x) {
    return sqrt(x);
  }
};
struct Rsqrt {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V x) {
    return rsqrt(x);
  }
};
struct Cbrt {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V x) {
    return cbrt(x);
  }
};
struct IsFinite {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static auto apply(V x) {
    return is_finite(x);
  }
};
/// Bits flipped; of bool the complement.
struct Not {
  static constexpr ElementKinds kTakes = kLogical;
  static constexpr bool kSignless = true;
  template <class V>
  static V apply(V x) {
    if constexpr (__is_same(typename V::Lane, bool))
      return x ^ V(true);
    else
      return ~x;
  }
};
struct Erf {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V x) {
    return erf(x);
  }
};
struct ErfInv {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V x) {
    return erf_inv(x);
  }
};

/// Of bool: or.
struct Add {
  static constexpr ElementKinds kTakes = kAll;
  static constexpr bool kSignless = true;
  template <class V>
  static V apply(V a, V b) {
    if constexpr (__is_same(typename V::Lane, bool))
      return a | b;
    else
      return a + b;
  }
};
struct Subtract {
  static constexpr ElementKinds kTakes = kNumbers;
  static constexpr bool kSignless = true;
  template <class V>
  static V apply(V a, V b) {
    return a - b;
  }
};
/// Of bool: and.
struct Multiply {
  static constexpr ElementKinds kTakes = kAll;
  static constexpr bool kSignless = true;
  template <class V>
  static V apply(V a, V b) {
    if constexpr (__is_same(typename V::Lane, bool))
      return a & b;
    else
      return a * b;
  }
};
/// Integers towards zero; by 0 all bits are set, the smallest by -1 wraps.
struct Divide {
  static constexpr ElementKinds kTakes = kNumbers;
  static constexpr bool kIntegersByLane = true;
  template <class V>
  static V apply(V a, V b) {
    using T = typename V::Lane;
    if constexpr (kFloatLanes<V>) {
      return a / b;
    } else {
      return map_lanes<T>(
          [](T u, T v) -> T {
            if (v == 0) return static_cast<T>(-1);
            if (kSigned<T> && v == static_cast<T>(-1)) return (-Scalar<T>(u)).value;
            return static_cast<T>(u / v);
          },
          a, b);
    }
  }
};
/// Exact, with the sign of the dividend; an integer by 0 is the dividend.
struct Remainder {
  static constexpr ElementKinds kTakes = kNumbers;
  static constexpr bool kIntegersByLane = true;
  template <class V>
  static V apply(V a, V b) {
    using T = typename V::Lane;
    if constexpr (kFloatLanes<V>) {
      return fmod(a, b);
    } else {
      return map_lanes<T>(
          [](T u, T v) -> T {
            if (v == 0) return u;
            if (kSigned<T> && v == static_cast<T>(-1)) return 0;
            return static_cast<T>(u % v);
          },
          a, b);
    }
  }
};
/// Integers by repeated squaring, wrapping; to a negative power 0, but for bases 1 and -1.
struct Power {
  static constexpr ElementKinds kTakes = kNumbers;
  static constexpr bool kIntegersByLane = true;
  template <class V>
  static V apply(V a, V b) {
    using T = typename V::Lane;
    if constexpr (kFloatLanes<V>) {
      return pow(a, b);
    } else {
      return map_lanes<T>(
          [](T base, T exponent) -> T {
            if (kSigned<T> && exponent < 0) {
              if (base == 1) return 1;
              if (base == static_cast<T>(-1)) return (exponent & 1) != 0 ? base : T{1};
              return 0;
            }
            Scalar<T> result = T{1}, square = base;
            for (auto bits = static_cast<UintOf<T>>(exponent); bits != 0; bits = static_cast<UintOf<T>>(bits >> 1)) {
              if ((bits & 1) != 0) result = result * square;
              square = square * square;
            }
            return result.value;
          },
          a, b);
    }
  }
};
/// Of bool: or.
struct Maximum {
  static constexpr ElementKinds kTakes = kAll;
  template <class V>
  static V apply(V a, V b) {
    return max(a, b);
  }
};
/// Of bool: and.
struct Minimum {
  static constexpr ElementKinds kTakes = kAll;
  template <class V>
  static V apply(V a, V b) {
    return min(a, b);
  }
};
struct Atan2 {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(V y, V x) {
    return atan2(y, x);
  }
};
struct And {
  static constexpr ElementKinds kTakes = kLogical;
  static constexpr bool kSignless = true;
  template <class V>
  static V apply(V a, V b) {
    return a & b;
  }
};
struct Or {
  static constexpr ElementKinds kTakes = kLogical;
  static constexpr bool kSignless = true;
  template <class V>
  static V apply(V a, V b) {
    return a | b;
  }
};
struct Xor {
  static constexpr ElementKinds kTakes = kLogical;
  static constexpr bool kSignless = true;
  template <class V>
  static V apply(V a, V b) {
    return a ^ b;
  }
};

/// Shifts: an amount outside 0..width-1 moves every bit out.
template <class T>
inline constexpr UintOf<T> kWidth = 8 * sizeof(T);
struct ShiftLeft {
  static constexpr ElementKinds kTakes = kIntegers;
  static constexpr bool kIntegersByLane = true;
  static constexpr bool kSignless = true;
  template <class V>
  static V apply(V a, V b) {
    using T = typename V::Lane;
    using U = UintOf<T>;
    return map_lanes<T>(
        [](T u, T n) -> T {
          const bool inside = static_cast<U>(n) < kWidth<T>;
          return inside ? static_cast<T>(Scalar<T>::wrap(u) << static_cast<U>(inside ? n : 0)) : T{0};
        },
        a, b);
  }
};
struct ShiftRightLogical {
  static constexpr ElementKinds kTakes = kIntegers;
  static constexpr bool kIntegersByLane = true;
  static constexpr bool kSignless = true;
  template <class V>
  static V apply(V a, V b) {
    using T = typename V::Lane;
    using U = UintOf<T>;
    return map_lanes<T>(
        [](T u, T n) -> T {
          const bool inside = static_cast<U>(n) < kWidth<T>;
          return inside ? static_cast<T>(static_cast<U>(u) >> static_cast<U>(inside ? n : 0)) : T{0};
        },
        a, b);
  }
};
struct ShiftRightArithmetic {
  static constexpr ElementKinds kTakes = kIntegers;
  static constexpr bool kIntegersByLane = true;
  static constexpr bool kSignless = true;
  template <class V>
  static V apply(V a, V b) {
    using T = typename V::Lane;
    using U = UintOf<T>;
    return map_lanes<T>(
        [](T u, T n) -> T {
          const U amount = static_cast<U>(n) < kWidth<T> ? static_cast<U>(n) : static_cast<U>(kWidth<T> - 1);
          return static_cast<T>(static_cast<IntOf<T>>(u) >> amount);
        },
        a, b);
  }
};

struct Equal {
  static constexpr ElementKinds kTakes = kAll;
  static constexpr bool kSignless = true;
  template <class V>
  static auto apply(V a, V b) {
    return a == b;
  }
};
struct NotEqual {
  static constexpr ElementKinds kTakes = kAll;
  static constexpr bool kSignless = true;
  template <class V>
  static auto apply(V a, V b) {
    return a != b;
  }
};
struct Less {
  static constexpr ElementKinds kTakes = kAll;
  template <class V>
  static auto apply(V a, V b) {
    return a < b;
  }
};
struct LessEqual {
  static constexpr ElementKinds kTakes = kAll;
  template <class V>
  static auto apply(V a, V b) {
    return a <= b;
  }
};
struct Greater {
  static constexpr ElementKinds kTakes = kAll;
  template <class V>
  static auto apply(V a, V b) {
    return a > b;
  }
};
struct GreaterEqual {
  static constexpr ElementKinds kTakes = kAll;
  template <class V>
  static auto apply(V a, V b) {
    return a >= b;
  }
};

/// The first operand is stored as bool.
struct Select {
  static constexpr ElementKinds kTakes = kAll;
  static constexpr bool kSignless = true;
  template <class V>
  static V apply(typename V::Mask on, V a, V b) {
    return select(on, a, b);
  }
};
/// minimum(maximum(x, low), high).
struct Clamp {
  static constexpr ElementKinds kTakes = kNumbers;
  template <class V>
  static V apply(V low, V x, V high) {
    return min(max(x, low), high);
  }
};

/// Rounds to params[0] exponent bits and params[1] mantissa bits, ties to even. What such a format cannot hold becomes
/// infinite or a zero (its denormals too, as in XLA); with as many exponent bits as the type has, denormals stay.
struct ReducePrecision {
  static constexpr ElementKinds kTakes = kFloats;
  template <class V>
  static V apply(const double* params, V x) {
    using T = typename V::Lane;
    using U = UintOf<T>;
    using W = typename V::template Rebind<U>;
    constexpr int kMantissa = sizeof(T) == 8 ? 52 : 23, kExponent = sizeof(T) == 8 ? 11 : 8;
    const int exponent_bits = static_cast<int>(params[0]), dropped = kMantissa - static_cast<int>(params[1]);
    W bits = as<U>(x);
    if (dropped > 0) {
      const W below_half = static_cast<U>((U{1} << (dropped - 1)) - 1), kept = static_cast<U>(~((U{1} << dropped) - 1));
      bits = (bits + below_half + ((bits >> dropped) & W(1))) & kept;
    }
    if (exponent_bits < kExponent) {
      const U bias = (U{1} << (kExponent - 1)) - 1, reduced = (U{1} << (exponent_bits - 1)) - 1;
      const W sign = bits & W(kSignBit<T>), magnitude = bits ^ sign;
      const W infinity = static_cast<U>(((U{1} << kExponent) - 1) << kMantissa);
      const W result =
          select(magnitude >= W(static_cast<U>((bias + reduced + 1) << kMantissa)), infinity,
                 select(magnitude < W(static_cast<U>((bias - reduced + 1) << kMantissa)), W(0), magnitude));
      bits = sign | result;
    }
    return select(x == x, as<T>(bits), x);
  }
};

}  // namespace hone::math::HONE_LEVEL
