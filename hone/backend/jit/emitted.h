// Emitted<T>: the value type whose operations make LLVM instructions. It offers what Vec and Scalar offer (math/vec.h),
// with their bits, so that the functors of math/ are the code generator's, too. The number of lanes is the current
// builder's: the type is one for all instruction-set levels.
#pragma once
#include <bit>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "hone/backend/jit/builder.h"
#include "hone/math/scalar.h"

namespace hone::jit {

namespace level = math::level;

/// Integers of either sign, and bool as a byte, have the lanes of their size.
template <class T>
constexpr Kind kKind = std::is_same_v<T, float>    ? Kind::F32
                       : std::is_same_v<T, double> ? Kind::F64
                       : sizeof(T) == 1            ? Kind::I8
                       : sizeof(T) == 2            ? Kind::I16
                       : sizeof(T) == 4            ? Kind::I32
                                                   : Kind::I64;

inline Builder& builder() { return Builder::current(); }

struct EmittedMask {
  Node node;
  friend EmittedMask operator&(EmittedMask a, EmittedMask b) { return {builder().binary(Binary::And, a.node, b.node)}; }
  friend EmittedMask operator|(EmittedMask a, EmittedMask b) { return {builder().binary(Binary::Or, a.node, b.node)}; }
  friend EmittedMask operator!(EmittedMask a) { return {builder().invert(a.node)}; }
};

template <class T>
struct Emitted {
  using Lane = T;
  using Mask = EmittedMask;
  template <class U>
  using Rebind = Emitted<U>;
  static constexpr bool kFloat = level::kIsFloat<T>;
  static constexpr bool kSigned = !kFloat && static_cast<T>(-1) < static_cast<T>(0);

  Node node = nullptr;

  Emitted() = default;
  Emitted(T x)  // NOLINT(google-explicit-constructor): constants read as numbers in formulas
      : node(builder().splat(kKind<T>, static_cast<uint64_t>(std::bit_cast<level::UintOf<T>>(x)))) {}
  static Emitted of(Node node) {
    Emitted x;
    x.node = node;
    return x;
  }

  friend Emitted operator+(Emitted a, Emitted b) { return Emitted::binary(kFloat ? Binary::FAdd : Binary::Add, a, b); }
  friend Emitted operator-(Emitted a, Emitted b) { return Emitted::binary(kFloat ? Binary::FSub : Binary::Sub, a, b); }
  friend Emitted operator*(Emitted a, Emitted b) { return Emitted::binary(kFloat ? Binary::FMul : Binary::Mul, a, b); }
  friend Emitted operator/(Emitted a, Emitted b)
    requires kFloat
  {
    return Emitted::binary(Binary::FDiv, a, b);
  }
  friend Emitted operator-(Emitted a) {
    if constexpr (kFloat)
      return Emitted::of(builder().negate(a.node));
    else
      return Emitted(T{0}) - a;
  }
  friend Emitted operator&(Emitted a, Emitted b) { return Emitted::binary(Binary::And, a, b); }
  friend Emitted operator|(Emitted a, Emitted b) { return Emitted::binary(Binary::Or, a, b); }
  friend Emitted operator^(Emitted a, Emitted b) { return Emitted::binary(Binary::Xor, a, b); }
  friend Emitted operator~(Emitted a) { return a ^ Emitted(static_cast<T>(~T{0})); }
  friend Emitted operator<<(Emitted a, int n) { return Emitted::binary(Binary::ShiftLeft, a, static_cast<T>(n)); }
  friend Emitted operator>>(Emitted a, int n) {
    return Emitted::binary(kSigned ? Binary::ShiftRightSigned : Binary::ShiftRight, a, static_cast<T>(n));
  }

  friend Mask operator==(Emitted a, Emitted b) {
    return Emitted::compare(kFloat ? Compare::FEqual : Compare::Equal, a, b);
  }
  friend Mask operator!=(Emitted a, Emitted b) {
    return Emitted::compare(kFloat ? Compare::FNotEqual : Compare::NotEqual, a, b);
  }
  friend Mask operator<(Emitted a, Emitted b) {
    return Emitted::compare(kFloat ? Compare::FLess : kSigned ? Compare::SLess : Compare::ULess, a, b);
  }
  friend Mask operator<=(Emitted a, Emitted b) {
    return Emitted::compare(kFloat ? Compare::FLessEqual : kSigned ? Compare::SLessEqual : Compare::ULessEqual, a, b);
  }
  friend Mask operator>(Emitted a, Emitted b) { return b < a; }
  friend Mask operator>=(Emitted a, Emitted b) { return b <= a; }
  friend Emitted select(Mask m, Emitted a, Emitted b) { return Emitted::of(builder().select(m.node, a.node, b.node)); }

 private:
  static Emitted binary(Binary op, Emitted a, Emitted b) { return of(builder().binary(op, a.node, b.node)); }
  static Mask compare(Compare op, Emitted a, Emitted b) { return {builder().compare(op, a.node, b.node)}; }
};

template <class U, class T>
Emitted<U> as(Emitted<T> x) {
  static_assert(sizeof(U) == sizeof(T));
  return Emitted<U>::of(builder().cast(Cast::Bits, kKind<U>, x.node));
}
/// The number in any other lane type: integers wrap, floats saturate to integers.
template <class U, class T>
Emitted<U> to(Emitted<T> x) {
  constexpr bool kFromFloat = Emitted<T>::kFloat, kToFloat = Emitted<U>::kFloat;
  constexpr Cast kCast = kFromFloat && kToFloat   ? Cast::FloatToFloat
                         : kFromFloat             ? (Emitted<U>::kSigned ? Cast::FloatToS : Cast::FloatToU)
                         : kToFloat               ? (Emitted<T>::kSigned ? Cast::SToFloat : Cast::UToFloat)
                         : sizeof(U) == sizeof(T) ? Cast::Bits
                         : sizeof(U) < sizeof(T)  ? Cast::Truncate
                         : Emitted<T>::kSigned    ? Cast::SignExtend
                                                  : Cast::ZeroExtend;
  return Emitted<U>::of(builder().cast(kCast, kKind<U>, x.node));
}

template <class T>
Emitted<T> call(Function function, std::initializer_list<Node> operands) {
  return Emitted<T>::of(builder().call(function, operands));
}
template <class T>
Emitted<T> max(Emitted<T> a, Emitted<T> b) {
  if constexpr (Emitted<T>::kFloat)
    return call<T>(Function::Max, {a.node, b.node});
  else
    return select(a > b, a, b);
}
template <class T>
Emitted<T> min(Emitted<T> a, Emitted<T> b) {
  if constexpr (Emitted<T>::kFloat)
    return call<T>(Function::Min, {a.node, b.node});
  else
    return select(a < b, a, b);
}
template <class T>
Emitted<T> sqrt(Emitted<T> x) {
  return call<T>(Function::Sqrt, {x.node});
}
template <class T>
Emitted<T> floor(Emitted<T> x) {
  return call<T>(Function::Floor, {x.node});
}
template <class T>
Emitted<T> ceil(Emitted<T> x) {
  return call<T>(Function::Ceil, {x.node});
}
template <class T>
Emitted<T> trunc(Emitted<T> x) {
  return call<T>(Function::Trunc, {x.node});
}
template <class T>
Emitted<T> round_even(Emitted<T> x) {
  return call<T>(Function::RoundEven, {x.node});
}

/// All lanes as doubles at once: twice as many registers.
template <class F, class... V>
Emitted<float> in_double(F f, Emitted<float> x, V... more) {
  return to<float>(f(to<double>(x), to<double>(more)...));
}

/// What no vector instruction computes: the tile of the step does (Builder::step).
template <class U, class F, class T, class... V>
Emitted<U> map_lanes(F, Emitted<T>, V...) {
  builder().leave_to_tile();
  return Emitted<U>::of(builder().undefined(kKind<U>));
}
template <class F, class U, class T>
Emitted<U> patch_lanes(EmittedMask m, F, Emitted<T>, Emitted<U> otherwise) {
  builder().leave_to_tile(m.node);
  return otherwise;
}

template <class T>
Emitted<T> fma(Emitted<T> a, Emitted<T> b, Emitted<T> c) {
  if (builder().has_fma()) return call<T>(Function::Fma, {a.node, b.node, c.node});
  builder().leave_to_tile();
  return Emitted<T>::of(builder().undefined(kKind<T>));
}

}  // namespace hone::jit
