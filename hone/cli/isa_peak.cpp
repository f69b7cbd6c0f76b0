#include "hone/cli/isa_peak.h"

#include <immintrin.h>

namespace hone::cli {
namespace {

constexpr int kChains = 12;  // latency 4 on two ports needs 8; the registers of SSE and AVX allow 12 and the operands

[[gnu::target("avx512f")]] void avx512_rounds(int64_t rounds, float* out) {
  const __m512 x = _mm512_set1_ps(out[0]), y = _mm512_set1_ps(out[1]);
  __m512 sums[kChains];
  for (__m512& sum : sums) sum = y;
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (__m512& sum : sums) sum = _mm512_fmadd_ps(sum, x, y);
  }
  for (const __m512& sum : sums) out[0] += _mm512_cvtss_f32(sum);
}

[[gnu::target("avx2,fma")]] void fma_rounds(int64_t rounds, float* out) {
  const __m256 x = _mm256_set1_ps(out[0]), y = _mm256_set1_ps(out[1]);
  __m256 sums[kChains];
  for (__m256& sum : sums) sum = y;
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (__m256& sum : sums) sum = _mm256_fmadd_ps(sum, x, y);
  }
  for (const __m256& sum : sums) out[0] += _mm256_cvtss_f32(sum);
}

void sse2_rounds(int64_t rounds, float* out) {
  const __m128 x = _mm_set1_ps(out[0]), y = _mm_set1_ps(out[1]);
  __m128 sums[kChains];
  for (__m128& sum : sums) sum = y;
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (__m128& sum : sums) sum = _mm_add_ps(_mm_mul_ps(sum, x), y);
  }
  for (const __m128& sum : sums) out[0] += _mm_cvtss_f32(sum);
}

volatile float sink;  // keeps the result

}  // namespace

PeakLevel peak_level() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return PeakLevel::Avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return PeakLevel::Fma;
  return PeakLevel::Sse2;
}

const char* name(PeakLevel level) {
  return level == PeakLevel::Avx512 ? "AVX-512 fma" : level == PeakLevel::Fma ? "AVX2 fma" : "SSE multiply and add";
}

double multiply_adds_in_registers(PeakLevel level, int64_t rounds) {
  float values[2] = {0.5f, 1e-3f};
  switch (level) {
    case PeakLevel::Avx512:
      avx512_rounds(rounds, values);
      break;
    case PeakLevel::Fma:
      fma_rounds(rounds, values);
      break;
    case PeakLevel::Sse2:
      sse2_rounds(rounds, values);
      break;
  }
  sink = values[0];
  const int lanes = level == PeakLevel::Avx512 ? 16 : level == PeakLevel::Fma ? 8 : 4;
  return 2.0 * lanes * kChains * static_cast<double>(rounds);
}

}  // namespace hone::cli
