// The few vector instructions that GCC's vector extension cannot express, by vector size and lane type.
// At 512 bits the zero-masked forms: GCC 12 warns of an uninitialised operand in the plain ones.
#pragma once
#include <immintrin.h>

#include "hone/math/level.h"

namespace hone::math::HONE_LEVEL::isa {

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

enum class Rounding : int {
  Even = _MM_FROUND_TO_NEAREST_INT,
  Down = _MM_FROUND_TO_NEG_INF,
  Up = _MM_FROUND_TO_POS_INF,
  Zero = _MM_FROUND_TO_ZERO
};
template <Rounding kMode, class T, class R>
[[gnu::always_inline]] inline R round(R x) {
  constexpr int kImmediate = static_cast<int>(kMode) | _MM_FROUND_NO_EXC;
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

/// Whether part of a vector can be moved by one masked instruction.
template <class T, class R>
inline constexpr bool kMasked = sizeof(R) >= 32 && sizeof(T) >= 4;

/// All ones in the first n lanes, for the AVX2 forms.
template <class T>
[[gnu::always_inline]] inline __m256i first_lanes(long n) {
  if constexpr (sizeof(T) == 4)
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  else
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
}

/// The first n lanes from memory (nothing behind them is touched), the rest from `other`.
template <class T, class R>
[[gnu::always_inline]] inline R load_first(const T* p, long n, R other) {
  static_assert(kMasked<T, R>);
  if constexpr (sizeof(R) == 64 && sizeof(T) == 4) {
    return (R)_mm512_mask_loadu_epi32((__m512i)other, static_cast<__mmask16>((1U << n) - 1), p);
  } else if constexpr (sizeof(R) == 64) {
    return (R)_mm512_mask_loadu_epi64((__m512i)other, static_cast<__mmask8>((1U << n) - 1), p);
  } else {
    const __m256i mask = first_lanes<T>(n);
    __m256i v;
    if constexpr (sizeof(T) == 4)
      v = _mm256_maskload_epi32((const int*)(const void*)p, mask);
    else
      v = _mm256_maskload_epi64((const long long*)(const void*)p, mask);
    return (R)_mm256_blendv_epi8((__m256i)other, v, mask);
  }
}
template <class T, class R>
[[gnu::always_inline]] inline void store_first(T* p, long n, R x) {
  static_assert(kMasked<T, R>);
  if constexpr (sizeof(R) == 64 && sizeof(T) == 4)
    _mm512_mask_storeu_epi32(p, static_cast<__mmask16>((1U << n) - 1), (__m512i)x);
  else if constexpr (sizeof(R) == 64)
    _mm512_mask_storeu_epi64(p, static_cast<__mmask8>((1U << n) - 1), (__m512i)x);
  else if constexpr (sizeof(T) == 4)
    _mm256_maskstore_epi32((int*)(void*)p, first_lanes<T>(n), (__m256i)x);
  else
    _mm256_maskstore_epi64((long long*)(void*)p, first_lanes<T>(n), (__m256i)x);
}

/// Signed bytes in memory as lanes of 4 or 8 bytes, and lanes of all ones or zeros as bytes of 0 or 1.
template <int kLaneBytes, class R>
[[gnu::always_inline]] inline R load_bytes(const void* p) {
  constexpr bool kFour = kLaneBytes == 4;
  constexpr int kBytes = sizeof(R) / kLaneBytes;
  __m128i bytes{};
  __builtin_memcpy(&bytes, p, kBytes);
  if constexpr (sizeof(R) == 16)
    return (R)(kFour ? _mm_cvtepi8_epi32(bytes) : _mm_cvtepi8_epi64(bytes));
  else if constexpr (sizeof(R) == 32)
    return (R)(kFour ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepi8_epi64(bytes));
  else if constexpr (kFour)
    return (R)_mm512_maskz_cvtepi8_epi32(0xFFFF, bytes);
  else
    return (R)_mm512_maskz_cvtepi8_epi64(0xFF, bytes);
}
template <int kLaneBytes, class R>
[[gnu::always_inline]] inline void store_bytes(R mask, void* p) {
  constexpr bool kFour = kLaneBytes == 4;
  __m128i lower, upper;
  if constexpr (sizeof(R) == 64) {
    const __m128i bytes =
        kFour ? _mm512_maskz_cvtepi32_epi8(0xFFFF, (__m512i)mask) : _mm512_maskz_cvtepi64_epi8(0xFF, (__m512i)mask);
    lower = _mm_and_si128(bytes, _mm_set1_epi8(1));
  } else {
    if constexpr (sizeof(R) == 32) {
      lower = _mm256_castsi256_si128((__m256i)mask);
      upper = _mm256_extracti128_si256((__m256i)mask, 1);
    } else {
      lower = upper = (__m128i)mask;
    }
    if constexpr (!kFour) upper = lower = (__m128i)_mm_shuffle_ps((__m128)lower, (__m128)upper, 0x88);
    const __m128i words = _mm_packs_epi32(lower, upper);
    lower = _mm_and_si128(_mm_packs_epi16(words, words), _mm_set1_epi8(1));
  }
  __builtin_memcpy(p, &lower, sizeof(R) / kLaneBytes);
}

}  // namespace hone::math::HONE_LEVEL::isa
