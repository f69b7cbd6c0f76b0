// The few vector instructions that GCC's vector extension cannot express, by vector size and lane type.
// At 512 bits the zero-masked forms: GCC 12 warns of an uninitialised operand in the plain ones.
#pragma once
#include <immintrin.h>

#include "hone/math/level.h"

namespace hone::math::HONE_LEVEL::x86 {

template <class T, class R>
inline constexpr bool kPs128 = sizeof(R) == 16 && sizeof(T) == 4;
template <class T, class R>
inline constexpr bool kPd128 = sizeof(R) == 16 && sizeof(T) == 8;
template <class T, class R>
inline constexpr bool kPs256 = sizeof(R) == 32 && sizeof(T) == 4;
template <class T, class R>
inline constexpr bool kPd256 = sizeof(R) == 32 && sizeof(T) == 8;
template <class T, class R>
inline constexpr bool kPs512 = sizeof(R) == 64 && sizeof(T) == 4;

template <class T, class R>
[[gnu::always_inline]] inline R sqrt(R x) {
  if constexpr (kPs128<T, R>)
    return (R)_mm_sqrt_ps((__m128)x);
  else if constexpr (kPd128<T, R>)
    return (R)_mm_sqrt_pd((__m128d)x);
  else if constexpr (kPs256<T, R>)
    return (R)_mm256_sqrt_ps((__m256)x);
  else if constexpr (kPd256<T, R>)
    return (R)_mm256_sqrt_pd((__m256d)x);
  else if constexpr (kPs512<T, R>)
    return (R)_mm512_maskz_sqrt_ps(0xFFFF, (__m512)x);
  else
    return (R)_mm512_maskz_sqrt_pd(0xFF, (__m512d)x);
}

/// b where either is NaN or both are zero.
template <class T, class R>
[[gnu::always_inline]] inline R max(R a, R b) {
  if constexpr (kPs128<T, R>)
    return (R)_mm_max_ps((__m128)a, (__m128)b);
  else if constexpr (kPd128<T, R>)
    return (R)_mm_max_pd((__m128d)a, (__m128d)b);
  else if constexpr (kPs256<T, R>)
    return (R)_mm256_max_ps((__m256)a, (__m256)b);
  else if constexpr (kPd256<T, R>)
    return (R)_mm256_max_pd((__m256d)a, (__m256d)b);
  else if constexpr (kPs512<T, R>)
    return (R)_mm512_maskz_max_ps(0xFFFF, (__m512)a, (__m512)b);
  else
    return (R)_mm512_maskz_max_pd(0xFF, (__m512d)a, (__m512d)b);
}
template <class T, class R>
[[gnu::always_inline]] inline R min(R a, R b) {
  if constexpr (kPs128<T, R>)
    return (R)_mm_min_ps((__m128)a, (__m128)b);
  else if constexpr (kPd128<T, R>)
    return (R)_mm_min_pd((__m128d)a, (__m128d)b);
  else if constexpr (kPs256<T, R>)
    return (R)_mm256_min_ps((__m256)a, (__m256)b);
  else if constexpr (kPd256<T, R>)
    return (R)_mm256_min_pd((__m256d)a, (__m256d)b);
  else if constexpr (kPs512<T, R>)
    return (R)_mm512_maskz_min_ps(0xFFFF, (__m512)a, (__m512)b);
  else
    return (R)_mm512_maskz_min_pd(0xFF, (__m512d)a, (__m512d)b);
}

/// kMode: _MM_FROUND_TO_NEAREST_INT, _TO_NEG_INF, _TO_POS_INF or _TO_ZERO.
template <int kMode, class T, class R>
[[gnu::always_inline]] inline R round(R x) {
  constexpr int kImmediate = kMode | _MM_FROUND_NO_EXC;
  if constexpr (kPs128<T, R>)
    return (R)_mm_round_ps((__m128)x, kImmediate);
  else if constexpr (kPd128<T, R>)
    return (R)_mm_round_pd((__m128d)x, kImmediate);
  else if constexpr (kPs256<T, R>)
    return (R)_mm256_round_ps((__m256)x, kImmediate);
  else if constexpr (kPd256<T, R>)
    return (R)_mm256_round_pd((__m256d)x, kImmediate);
  else if constexpr (kPs512<T, R>)
    return (R)_mm512_maskz_roundscale_ps(0xFFFF, (__m512)x, kImmediate);
  else
    return (R)_mm512_maskz_roundscale_pd(0xFF, (__m512d)x, kImmediate);
}

/// One rounding. Without FMA hardware the C library's exact software.
template <class T, class R>
[[gnu::always_inline]] inline R fma(R a, R b, R c) {
  if constexpr (kPs128<T, R>) {
    for (int i = 0; i < 4; ++i) a[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return a;
  } else if constexpr (kPd128<T, R>) {
    for (int i = 0; i < 2; ++i) a[i] = __builtin_fma(a[i], b[i], c[i]);
    return a;
  } else if constexpr (kPs256<T, R>) {
    return (R)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
  } else if constexpr (kPd256<T, R>) {
    return (R)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
  } else if constexpr (kPs512<T, R>) {
    return (R)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
  } else {
    return (R)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
  }
}

template <class R>
[[gnu::always_inline]] inline bool any(R mask) {
  if constexpr (sizeof(R) == 16)
    return _mm_movemask_epi8((__m128i)mask) != 0;
  else if constexpr (sizeof(R) == 32)
    return _mm256_movemask_epi8((__m256i)mask) != 0;
  else
    return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) != 0;
}

}  // namespace hone::math::HONE_LEVEL::x86
