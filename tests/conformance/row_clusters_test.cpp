// Clusters over rows: what composed softmax, norms and their gradients become, and that the bits are those of the calls
// one by one, tile by tile and as machine code.
#include <gtest/gtest.h>

#include <limits>

#include "hone/backend/cpu/map_code.h"
#include "hone/base/parallel.h"
#include "hone/base/settings.h"
#include "hone/function/function.h"
#include "hone/function/grad.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/reduction.h"
#include "tests/conformance/clusters.h"

namespace hone {
namespace {

using conformance::expect_same_bits;
using conformance::Inputs;
using conformance::Program;
using conformance::Restored;

Tensor composed_softmax(const Tensor& x) {
  const Tensor e = exp(x - max(x, -1, true));
  return e / sum(e, -1, true);
}
Tensor composed_log_softmax(const Tensor& x) {
  const Tensor shifted = x - max(x, -1, true);
  return shifted - log(sum(exp(shifted), -1, true));
}
Tensor composed_layer_norm(const Tensor& x, const Tensor& scale, const Tensor& offset) {
  const Tensor centred = x - mean(x, -1, true);
  return centred * rsqrt(variance(x, -1, true) + 1e-5) * scale + offset;
}
Tensor composed_rms_norm(const Tensor& x, const Tensor& scale) {
  return x * rsqrt(mean(x * x, -1, true) + 1e-6) * scale;
}

// x of the shape, vectors of its last axis, and a vector of its first.
const struct {
  const char* name;
  Program program;
} kPrograms[] = {
    {"softmax", [](const Inputs& in) -> Inputs { return {composed_softmax(in[0])}; }},
    {"log_softmax", [](const Inputs& in) -> Inputs { return {composed_log_softmax(in[0])}; }},
    {"layer_norm", [](const Inputs& in) -> Inputs { return {composed_layer_norm(in[0], in[1], in[2])}; }},
    {"rms_norm", [](const Inputs& in) -> Inputs { return {composed_rms_norm(in[0], in[1])}; }},
    {"moments",
     [](const Inputs& in) -> Inputs { return {mean(in[0], -1), variance(in[0], -1), in[0] - mean(in[0], -1, true)}; }},
    {"extrema",
     [](const Inputs& in) -> Inputs {
       const Tensor low = min(in[0], -1, true), high = max(abs(in[0]), -1, true);
       return {(in[0] - low) / (high - low), prod(in[0] - low, -1), high * in[3]};
     }},
    {"gradient of softmax",
     [](const Inputs& in) -> Inputs {
       return {grad([](const Tensor& x) { return sum(composed_softmax(x) * tanh(x)); })(in[0])};
     }},
    {"gradient of layer_norm",
     [](const Inputs& in) -> Inputs {
       return {grad([&](const Tensor& x) { return sum(tanh(composed_layer_norm(x, in[1], in[2]))); })(in[0])};
     }},
};

Inputs inputs_for(DType dtype, int64_t rows, int64_t length, bool special) {
  std::vector<float> x(static_cast<size_t>(rows * length)), v(static_cast<size_t>(length)),
      w(static_cast<size_t>(rows));
  uint64_t state = static_cast<uint64_t>(rows * 7919 + length);
  const auto next = [&] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<float>(static_cast<double>(state >> 33) / 2147483648.0 * 4 - 2);
  };
  for (auto* numbers : {&x, &v, &w}) {
    for (float& number : *numbers) number = next();
  }
  if (special) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    const float specials[] = {kInf, -kInf, std::numeric_limits<float>::quiet_NaN(), 0.0F, -0.0F, 1e-40F, 3e38F};
    for (size_t i = 0; i < x.size(); i += 1 + static_cast<size_t>(length) * 2 / 3)
      x[i] = specials[i / 3 % std::size(specials)];
  }
  return {cast(Tensor::from(x, {rows, length}), dtype), cast(Tensor::from(v, {length}), dtype),
          cast(Tensor::from(v, {length}), dtype) * 0.5F, cast(Tensor::from(w, {rows, 1}), dtype)};
}

TEST(RowClusters, HaveTheBitsOfTheirCallsForRowsOfAnyLength) {
  const Restored restored;
  for (const auto& [name, program] : kPrograms) {
    for (const int64_t length : {1, 7, 63, 64, 65, 1000, 4096, 5000, 16384, 16385}) {
      const int64_t rows = length % 2 == 0 ? 3 : 5;
      expect_same_bits(name, program, inputs_for(f32, rows, length, length == 65 || length == 5000));
      if (HasFailure()) FAIL() << name << " over rows of " << length;
    }
  }
}

TEST(RowClusters, HaveTheBitsOfTheirCallsForAllFloats) {
  const Restored restored;
  for (const auto& [name, program] : kPrograms) {
    for (const DType dtype : {f64, f16, bf16}) {
      for (const int64_t length : {31, 200, 4100}) {
        expect_same_bits(name, program, inputs_for(dtype, 3, length, length == 200));
        if (HasFailure()) FAIL() << name << " of " << hone::name(dtype) << ", rows of " << length;
      }
    }
  }
}

TEST(RowClusters, HaveTheBitsOfTheirCallsForAnyNumberOfRowsAndThreads) {
  const Restored restored;
  for (const auto& [name, program] : kPrograms) {
    for (const int threads : {1, 3}) {
      set_threads(threads);
      for (const int64_t rows : {1, 64, 333}) {
        for (const int64_t length : {5, 700}) {
          expect_same_bits(name, program, inputs_for(f32, rows, length, false));
          if (HasFailure()) FAIL() << name << ", " << rows << " rows of " << length << ", " << threads << " threads";
        }
      }
    }
  }
}

TEST(RowClusters, ReduceIntegersAndBools) {
  const Restored restored;
  for (const DType dtype : {i8, u16, i32, u64}) {
    Inputs inputs = inputs_for(f32, 7, 300, false);
    inputs[0] = cast(inputs[0] * 50.0F, dtype);
    const auto program = [](const Inputs& in) -> Inputs {
      const Tensor x = in[0] + in[0];
      return {x - max(x, -1, true), min(x, -1), sum(x * x, -1), any(x == 4, -1), all(x != 3, -1), prod(x, -1)};
    };
    expect_same_bits("integers", program, inputs);
  }
}

// Calls of kernels that the compiled program makes.
size_t kernels_of(const Lowered& lowered) {
  const std::string text = lowered.kernels();
  size_t kernels = 0;
  for (size_t at = 0; (at = text.find(" calls  ", at)) != std::string::npos; ++at) ++kernels;
  return kernels;
}

TEST(RowClusters, ComposedSoftmaxAndNormsAndTheirGradientsAreOneKernel) {
  for (const auto& [name, program] : kPrograms) {
    const auto f = function([&](const Inputs& in) { return program(in); });
    const Lowered lowered = f.lower(inputs_for(f32, 8, 512, false));
    EXPECT_EQ(kernels_of(lowered), 1U) << name << "\n" << lowered.kernels() << lowered.fusion();
    EXPECT_NE(lowered.fusion().find("-> 1 kernel over rows of 512"), std::string::npos) << lowered.fusion();
  }
}

TEST(RowClusters, SayWhyLongRowsAreNone) {
  const auto f = function([](const Tensor& x) { return composed_softmax(x); });
  const std::string fusion = f.lower(Spec{f32, {2, 20000}}).fusion();
  EXPECT_NE(fusion.find("reduce_sum: not fused: rows of 20000 elements, more than 16384"), std::string::npos) << fusion;
}

}  // namespace
}  // namespace hone
