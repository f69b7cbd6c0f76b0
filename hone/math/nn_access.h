// How fused f32 loops walk an array: whole vectors, then a part of one.
#pragma once
#include "hone/math/kernels.h"
#include "hone/math/reduce.h"
#include "hone/math/vec.h"

namespace hone::math::HONE_LEVEL {

using F32 = Vec<float>;

struct WholeVector {
  static F32 load(const float* p) { return F32::load(p); }
  static void store(F32 v, float* p) { v.store(p); }
};
/// The first n lanes.
struct PartVector {
  int64_t n;
  F32 load(const float* p) const { return F32::load_partial(p, n, 0.0F); }
  void store(F32 v, float* p) const { v.store_partial(p, n); }
};

/// f(i, access) for i = 0, lanes, 2 lanes, ... below n.
template <class F>
void walk_vectors(int64_t n, F f) {
  int64_t i = 0;
  for (; i + F32::kLanes <= n; i += F32::kLanes) f(i, WholeVector{});
  if (i < n) f(i, PartVector{n - i});
}

inline F32 first_lanes(F32 v, int64_t n, float other) {
  float lanes[F32::kLanes];
  F32(other).store(lanes);
  v.store_partial(lanes, n);
  return F32::load(lanes);
}

/// Sums over a row in the canonical order of what f(i, access, values) gives: kSums values at once.
template <int kSums, class F>
void row_sums(int64_t n, float (&result)[kSums], F f) {
  constexpr int kLanes = F32::kLanes, kStep = kAccumulators<float>, kVectors = kStep / kLanes;
  BlockTree<SumOf, float> trees[kSums];
  int64_t i = 0;
  do {
    const int64_t end = n - i < kReduceBlock ? n : i + kReduceBlock;
    F32 acc[kSums][kVectors];
    for (int s = 0; s < kSums; ++s) {
      for (int k = 0; k < kVectors; ++k) acc[s][k] = F32(-0.0F);
    }
    F32 values[kSums];
    for (; i + kStep <= end; i += kStep) {
      for (int k = 0; k < kVectors; ++k) {
        f(i + k * kLanes, WholeVector{}, values);
        for (int s = 0; s < kSums; ++s) acc[s][k] = acc[s][k] + values[s];
      }
    }
    for (int k = 0; k < kVectors && i < end; ++k, i += kLanes) {
      const int64_t left = end - i;
      if (left >= kLanes)
        f(i, WholeVector{}, values);
      else
        f(i, PartVector{left}, values);
      for (int s = 0; s < kSums; ++s)
        acc[s][k] = acc[s][k] + (left >= kLanes ? values[s] : first_lanes(values[s], left, -0.0F));
    }
    if (i > end) i = end;
    for (int s = 0; s < kSums; ++s) trees[s].push(fold_accumulators<SumOf>(acc[s]));
  } while (i < n);
  for (int s = 0; s < kSums; ++s) result[s] = trees[s].result();
}
template <class F>
float row_sum(int64_t n, F f) {
  float sums[1];
  row_sums(n, sums, [&](int64_t i, auto access, F32(&values)[1]) { values[0] = f(i, access); });
  return sums[0];
}

/// Largest element of n >= 1; a NaN may be lost.
inline float row_max(const float* x, int64_t n) {
  F32 best = -__builtin_inff();
  const auto join = [](F32 a, F32 b) { return F32(isa::max<float>(a.raw, b.raw)); };
  int64_t i = 0;
  for (; i + F32::kLanes <= n; i += F32::kLanes) best = join(F32::load(x + i), best);
  if (i < n) best = join(F32::load_partial(x + i, n - i, -__builtin_inff()), best);
  float lanes[F32::kLanes];
  best.store(lanes);
  for (int width = F32::kLanes / 2; width >= 1; width /= 2) {
    for (int k = 0; k < width; ++k) lanes[k] = lanes[k] > lanes[k + width] ? lanes[k] : lanes[k + width];
  }
  return lanes[0];
}

}  // namespace hone::math::HONE_LEVEL
