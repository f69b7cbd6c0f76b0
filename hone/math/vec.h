// Vec<T>: the level's natural vector of lanes T (float, double, integers of 8 to 64 bits), a value type.
//
// Functions are written once over a value type V (Vec<T> here, Scalar<T> in scalar.h) with: V::Lane, V::kLanes,
// V::Mask, V::Rebind<U>; V(lane) to splat; load, store, load_partial, store_partial; + - * / and unary -, & | ^ ~ and
// << >> by a constant; comparisons that give a Mask (combined by & | !, asked by any, all) and select; as<U> (bits),
// to<U> (number); max, min, abs, copysign, fma, sqrt, floor, ceil, trunc, round_even; in_double, map_lanes,
// patch_lanes. All of them give the same bits for every width (of a NaN only that it is one). Integers wrap.
#pragma once
#include "hone/math/scalar.h"
#if defined(__aarch64__)
#include "hone/math/arm64.h"
#else
#include "hone/math/x86.h"
#endif

namespace hone::math::HONE_LEVEL {

template <class T>
struct RawVec {
  typedef T Type __attribute__((vector_size(kVectorBytes)));
};

/// Lanes of all ones or all zeros; one type for all lane types of a size.
template <int kBytes>
struct VecMask {
  using Raw = typename RawVec<typename LaneTypes<kBytes>::Int>::Type;
  Raw raw;
  friend VecMask operator&(VecMask a, VecMask b) { return {a.raw & b.raw}; }
  friend VecMask operator|(VecMask a, VecMask b) { return {a.raw | b.raw}; }
  friend VecMask operator!(VecMask a) { return {~a.raw}; }
  friend bool any(VecMask a) { return isa::any(a.raw); }
  friend bool all(VecMask a) { return !isa::any(~a.raw); }
};

template <class T>
struct Vec {
  using Lane = T;
  using Mask = VecMask<sizeof(T)>;
  using Raw = typename RawVec<T>::Type;
  template <class U>
  using Rebind = Vec<U>;
  static constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

  typedef signed char Bytes __attribute__((vector_size(kLanes)));

  Raw raw;

  Vec() = default;
  Vec(T x) : raw(x - Raw{}) {}  // NOLINT(google-explicit-constructor): x - 0 keeps -0 and NaN
  explicit Vec(Raw r) : raw(r) {}

  /// Unaligned.
  static Vec load(const T* p) {
    Vec v;
    __builtin_memcpy(&v.raw, p, sizeof(Raw));
    return v;
  }
  void store(T* p) const { __builtin_memcpy(p, &raw, sizeof(Raw)); }
  /// The first 0 <= n <= kLanes lanes; the others are `fill`, their memory is not read.
  static Vec load_partial(const T* p, int64_t n, T fill) {
    Vec v = fill;
    if constexpr (isa::kMasked<T, Raw>)
      v.raw = isa::load_first<T, Raw>(p, n, v.raw);
    else
      __builtin_memcpy(&v.raw, p, static_cast<unsigned long>(n) * sizeof(T));
    return v;
  }
  void store_partial(T* p, int64_t n) const {
    if constexpr (isa::kMasked<T, Raw>)
      isa::store_first<T, Raw>(p, n, raw);
    else
      __builtin_memcpy(p, &raw, static_cast<unsigned long>(n) * sizeof(T));
  }

  /// Masks as bool in memory, unaligned.
  static Mask load_mask(const bool* p) {
    if constexpr (sizeof(T) >= 4) {
      return {-isa::load_bytes<sizeof(T), typename Mask::Raw>(p)};
    } else {
      Bytes bytes;
      __builtin_memcpy(&bytes, p, sizeof bytes);
      return {-__builtin_convertvector(bytes, typename Mask::Raw)};
    }
  }
  static void store_mask(Mask m, bool* p) {
    if constexpr (sizeof(T) >= 4) {
      isa::store_bytes<sizeof(T)>(m.raw, p);
    } else {
      const Bytes bytes = __builtin_convertvector(m.raw, Bytes) & 1;
      __builtin_memcpy(p, &bytes, sizeof bytes);
    }
  }

  friend Vec operator+(Vec a, Vec b) { return Vec((Raw)(wrap(a) + wrap(b))); }
  friend Vec operator-(Vec a, Vec b) { return Vec((Raw)(wrap(a) - wrap(b))); }
  friend Vec operator*(Vec a, Vec b) { return Vec((Raw)(wrap(a) * wrap(b))); }
  friend Vec operator/(Vec a, Vec b)
    requires kIsFloat<T>
  {
    return Vec(a.raw / b.raw);
  }
  friend Vec operator-(Vec a) { return Vec((Raw)(-wrap(a))); }
  friend Vec operator&(Vec a, Vec b) { return Vec(a.raw & b.raw); }
  friend Vec operator|(Vec a, Vec b) { return Vec(a.raw | b.raw); }
  friend Vec operator^(Vec a, Vec b) { return Vec(a.raw ^ b.raw); }
  friend Vec operator~(Vec a) { return Vec(~a.raw); }
  /// Integers, 0 <= n < width; >> is arithmetic for signed lanes.
  friend Vec operator<<(Vec a, int n) { return Vec((Raw)(wrap(a) << n)); }
  friend Vec operator>>(Vec a, int n) { return Vec(a.raw >> n); }

  friend Mask operator==(Vec a, Vec b) { return {(typename Mask::Raw)(a.raw == b.raw)}; }
  friend Mask operator!=(Vec a, Vec b) { return {(typename Mask::Raw)(a.raw != b.raw)}; }
  friend Mask operator<(Vec a, Vec b) { return {(typename Mask::Raw)(a.raw < b.raw)}; }
  friend Mask operator<=(Vec a, Vec b) { return {(typename Mask::Raw)(a.raw <= b.raw)}; }
  friend Mask operator>(Vec a, Vec b) { return {(typename Mask::Raw)(a.raw > b.raw)}; }
  friend Mask operator>=(Vec a, Vec b) { return {(typename Mask::Raw)(a.raw >= b.raw)}; }
  friend Vec select(Mask m, Vec a, Vec b) { return Vec(m.raw ? a.raw : b.raw); }

  static auto wrap(Vec a) {
    if constexpr (kIsFloat<T>)
      return a.raw;
    else
      return (typename RawVec<UintOf<T>>::Type)a.raw;
  }
};

template <class U, class T>
Vec<U> as(Vec<T> x) {
  static_assert(sizeof(U) == sizeof(T));
  return Vec<U>((typename Vec<U>::Raw)x.raw);
}
template <class U, class T>
Vec<U> to(Vec<T> x) {
  static_assert(sizeof(U) == sizeof(T));
  return Vec<U>(__builtin_convertvector(x.raw, typename Vec<U>::Raw));
}

template <class T>
T lane(Vec<T> x, int i) {
  return x.raw[i];
}

template <class T>
Vec<T> max(Vec<T> a, Vec<T> b) {
  if constexpr (kIsFloat<T>) {
    using I = IntOf<T>;
    // The instruction returns its second operand for equal zeros: of both orders, and gives +0 if there is one.
    const Vec<T> ab(isa::max<T>(a.raw, b.raw)), ba(isa::max<T>(b.raw, a.raw));
    const Vec<T> sum = a + b;
    return select((a == a) & (b == b), as<T>(as<I>(ab) & as<I>(ba)), sum);
  } else {
    return select(a > b, a, b);
  }
}
template <class T>
Vec<T> min(Vec<T> a, Vec<T> b) {
  if constexpr (kIsFloat<T>) {
    using I = IntOf<T>;
    // As in max; a NaN of one order survives the or.
    const Vec<T> ab(isa::min<T>(a.raw, b.raw)), ba(isa::min<T>(b.raw, a.raw));
    return as<T>(as<I>(ab) | as<I>(ba));
  } else {
    return select(a < b, a, b);
  }
}

template <class T>
Vec<T> fma(Vec<T> a, Vec<T> b, Vec<T> c) {
  return Vec<T>(isa::fma<T>(a.raw, b.raw, c.raw));
}
template <class T>
Vec<T> sqrt(Vec<T> x) {
  return Vec<T>(isa::sqrt<T>(x.raw));
}
template <class T>
Vec<T> floor(Vec<T> x) {
  return Vec<T>(isa::round<isa::Rounding::Down, T>(x.raw));
}
template <class T>
Vec<T> ceil(Vec<T> x) {
  return Vec<T>(isa::round<isa::Rounding::Up, T>(x.raw));
}
template <class T>
Vec<T> trunc(Vec<T> x) {
  return Vec<T>(isa::round<isa::Rounding::Zero, T>(x.raw));
}
template <class T>
Vec<T> round_even(Vec<T> x) {
  return Vec<T>(isa::round<isa::Rounding::Even, T>(x.raw));
}

/// kLanes 16-bit numbers as unsigned lanes of 32 bits, and their lower halves back.
inline Vec<unsigned> load_u16(Vec<unsigned>, const unsigned short* p) {
  typedef unsigned short Half __attribute__((vector_size(kVectorBytes / 2)));
  Half half;
  __builtin_memcpy(&half, p, sizeof half);
  return Vec<unsigned>(__builtin_convertvector(half, Vec<unsigned>::Raw));
}
inline void store_u16(Vec<unsigned> x, unsigned short* p) {
  typedef unsigned short Half __attribute__((vector_size(kVectorBytes / 2)));
  const Half half = __builtin_convertvector(x.raw, Half);
  __builtin_memcpy(p, &half, sizeof half);
}

/// The lower or upper half of the lanes as doubles, and back with one rounding.
template <bool kUpper>
Vec<double> half_to_double(Vec<float> x) {
  typedef float Half __attribute__((vector_size(kVectorBytes / 2)));
  Half half;
  __builtin_memcpy(&half, reinterpret_cast<const char*>(&x.raw) + (kUpper ? sizeof(Half) : 0), sizeof(Half));
  return Vec<double>(__builtin_convertvector(half, Vec<double>::Raw));
}
inline Vec<float> to_float(Vec<double> lower, Vec<double> upper) {
  typedef float Half __attribute__((vector_size(kVectorBytes / 2)));
  const Half halves[2] = {__builtin_convertvector(lower.raw, Half), __builtin_convertvector(upper.raw, Half)};
  Vec<float> x;
  __builtin_memcpy(&x.raw, halves, sizeof(x.raw));
  return x;
}
template <class F, class... V>
Vec<float> in_double(F f, Vec<float> x, V... more) {
  return to_float(f(half_to_double<false>(x), half_to_double<false>(more)...),
                  f(half_to_double<true>(x), half_to_double<true>(more)...));
}

template <class U, class F, class T, class... V>
Vec<U> map_lanes(F f, Vec<T> x, V... more) {
  static_assert(sizeof(U) == sizeof(T));
  Vec<U> result;
  for (int i = 0; i < Vec<T>::kLanes; ++i) result.raw[i] = f(x.raw[i], more.raw[i]...);
  return result;
}
template <class F, class U, class T>
Vec<U> patch_lanes(VecMask<sizeof(T)> m, F f, Vec<T> x, Vec<U> otherwise) {
  if (any(m)) {
    for (int i = 0; i < Vec<T>::kLanes; ++i) {
      if (m.raw[i]) otherwise.raw[i] = f(x.raw[i]);
    }
  }
  return otherwise;
}

}  // namespace hone::math::HONE_LEVEL
