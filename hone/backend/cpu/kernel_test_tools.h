// For tests of kernels: tensors by seed, runs under other settings, comparison of bits.
#pragma once
#include <gtest/gtest.h>

#include <cstring>

#include "hone/base/parallel.h"
#include "hone/base/settings.h"
#include "hone/ops/creation.h"
#include "hone/tensor/tensor.h"

namespace hone {

/// Uniform in [low, high), another one for each seed.
inline Tensor random_tensor(const Shape& shape, uint64_t seed, double low = -2, double high = 2, DType dtype = f32) {
  std::vector<float> values(static_cast<size_t>(shape.count()));
  uint64_t state = seed * 0x9E3779B97F4A7C15 + 1;
  for (float& value : values) {
    state = state * 6364136223846793005 + 1442695040888963407;
    value = static_cast<float>(low + (high - low) * static_cast<double>(state >> 40) / 0x1p24);
  }
  const Tensor x = Tensor::from(values, shape);
  return dtype == f32 ? x : cast(x, dtype);
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

/// f() computed by the reference back end: primitives as plain loops, composites by decomposition.
template <class F>
auto by_reference(F f) {
  settings.reference_kernels = true;
  auto result = f();
  settings.reference_kernels = false;
  return result;
}
template <class F>
auto with_threads(int count, F f) {
  const int before = threads();
  set_threads(count);
  auto result = f();
  set_threads(before);
  return result;
}

/// Largest |a - b| / (1 + |b|); NaN must meet NaN, Inf the same Inf.
inline double distance(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(to_string(a.type()), to_string(b.type()));
  const std::vector<double> x = cast(a, f64).to_vector<double>(), y = cast(b, f64).to_vector<double>();
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (x[i] != x[i] && y[i] != y[i])) continue;
    const double d = std::abs(x[i] - y[i]) / (1 + std::abs(y[i]));
    worst = d == d ? std::max(worst, d) : 1e300;
  }
  return worst;
}

}  // namespace hone
