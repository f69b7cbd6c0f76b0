// Clusters with reductions that are not of rows: sums over all elements and over columns, computed in the loop that
// computes what they reduce. Bits are those of the calls one by one, tile by tile and as machine code.
#include <gtest/gtest.h>

#include <limits>

#include "hone/base/parallel.h"
#include "hone/base/settings.h"
#include "hone/compiler/codegen.h"
#include "hone/function/function.h"
#include "hone/function/grad.h"
#include "hone/ops/contraction.h"
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

// x [rows, columns], y like it, v [columns], w [rows, 1].
const struct {
  const char* name;
  Program program;
} kPrograms[] = {
    {"sum of squares", [](const Inputs& in) -> Inputs { return {sum(in[0] * in[0])}; }},
    {"all extrema and a result that stays",
     [](const Inputs& in) -> Inputs {
       const Tensor z = in[0] - in[1];
       return {max(abs(z)), z, min(z * in[1]), sum(z)};
     }},
    {"gradient of a bias",
     [](const Inputs& in) -> Inputs {
       const Tensor ct = where(in[0] > 0, in[1], 0.0F);
       return {sum(ct, 0), ct};
     }},
    {"moments of columns",
     [](const Inputs& in) -> Inputs {
       return {sum(in[0], 0), sum(in[0] * in[0], 0), max(in[0] - in[1], 0), prod(in[0], 0)};
     }},
    {"broadcast operands",
     [](const Inputs& in) -> Inputs { return {sum(tanh(in[0] * in[2] + in[3]), 0), min(in[0] * in[2], 0)}; }},
    {"all with broadcast operands", [](const Inputs& in) -> Inputs { return {sum((in[0] * in[2] + in[3]) * 0.5F)}; }},
    {"gradient of softmax and of what is added before",
     [](const Inputs& in) -> Inputs {
       const Tensor e = exp(in[0] - max(in[0], -1, true)), y = e / sum(e, -1, true), g = in[1] * y;
       const Tensor dx = g - y * sum(g, -1, true);
       return {dx, sum(dx, 0)};
     }},
};

Inputs inputs_for(DType dtype, int64_t rows, int64_t columns, bool special = false) {
  std::vector<float> x(static_cast<size_t>(rows * columns)), y(x.size()), v(static_cast<size_t>(columns)),
      w(static_cast<size_t>(rows));
  auto state = static_cast<uint64_t>(rows * 7919 + columns);
  for (auto* numbers : {&x, &y, &v, &w}) {
    for (float& number : *numbers) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      number = static_cast<float>(static_cast<double>(state >> 33) / 2147483648.0 * 4 - 2);
    }
  }
  if (special) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    const float specials[] = {-0.0F, kInf, -kInf, 0.0F, std::numeric_limits<float>::quiet_NaN(), 1e-40F, 3e38F};
    for (size_t i = 0; i < x.size(); i += 1 + x.size() / 11) x[i] = specials[i % std::size(specials)];
    for (size_t i = 0; i < x.size(); i += static_cast<size_t>(columns)) x[i] = y[i] = -0.0F;
  }
  return {cast(Tensor::from(x, {rows, columns}), dtype), cast(Tensor::from(y, {rows, columns}), dtype),
          cast(Tensor::from(v, {columns}), dtype), cast(Tensor::from(w, {rows, 1}), dtype)};
}

TEST(FoldClusters, HaveTheBitsOfTheirCallsForAnyShape) {
  const Restored restored;
  constexpr std::array<int64_t, 2> kShapes[] = {{2, 32},   {63, 65},   {64, 64},   {65, 512},  {129, 100}, {1000, 33},
                                                {700, 64}, {3, 16384}, {70, 3000}, {4100, 37}, {1, 70000}, {130, 1025}};
  for (const auto& [name, program] : kPrograms) {
    for (const auto& [rows, columns] : kShapes) {
      expect_same_bits(name, program, inputs_for(f32, rows, columns, rows == 65 || rows == 4100));
      if (HasFailure()) FAIL() << name << " over " << rows << " rows of " << columns;
    }
  }
}

TEST(FoldClusters, HaveTheBitsOfTheirCallsForAllFloatsAndThreads) {
  const Restored restored;
  for (const auto& [name, program] : kPrograms) {
    for (const int threads : {1, 3}) {
      set_threads(threads);
      for (const DType dtype : {f64, f16, bf16, f32}) {
        for (const auto& [rows, columns] : {std::array<int64_t, 2>{200, 130}, {70, 2000}}) {
          expect_same_bits(name, program, inputs_for(dtype, rows, columns));
          if (HasFailure()) FAIL() << name << " of " << hone::name(dtype) << " at " << threads << " threads";
        }
      }
    }
  }
}

TEST(FoldClusters, ReduceIntegersAndBools) {
  const Restored restored;
  for (const DType dtype : {i8, u16, i32, u64}) {
    Inputs inputs = inputs_for(f32, 150, 200);
    for (Tensor& input : inputs) input = cast(input * 50.0F, dtype);
    expect_same_bits(
        "integers",
        [](const Inputs& in) -> Inputs {
          const Tensor x = in[0] + in[1];
          return {max(x, 0), min(x, 0), sum(x * x, 0), any(x == 4, 0), all(x != 3, 0), prod(x, 0), sum(x), any(x == 5)};
        },
        inputs);
  }
}

TEST(FoldClusters, ReduceTheMiddleOfThreeAxes) {
  const Restored restored;
  for (const int64_t extent : {2, 64, 130}) {
    Inputs inputs = inputs_for(f32, 5 * extent, 48);
    for (Tensor& x : inputs) x = x.shape().count() == 5 * extent * 48 ? reshape(x, {5, extent, 48}) : x;
    expect_same_bits(
        "three axes",
        [](const Inputs& in) -> Inputs {
          const Tensor x = in[0] * in[1];
          return {sum(x, 1), max(x * in[2], 1), x};
        },
        inputs);
    expect_same_bits(
        "two of three axes",
        [](const Inputs& in) -> Inputs {
          const Tensor x = in[0] * in[1];
          return {sum(x, {0, 1}), sum(reshape(x, {x.shape()[0].number() * x.shape()[1].number(), 48}), 0)};
        },
        inputs);
  }
}

// Calls of kernels that the compiled program makes.
size_t kernels_of(const Lowered& lowered) {
  const std::string text = lowered.kernels();
  size_t kernels = 0;
  for (size_t at = 0; (at = text.find(" calls  ", at)) != std::string::npos; ++at)
    kernels += std::stoul(text.substr(text.rfind(' ', at - 1) + 1));
  return kernels;
}

TEST(FoldClusters, ProducersAreComputedInTheLoopOfTheirReduction) {
  for (const auto& [name, program] : kPrograms) {
    const auto f = function([&](const Inputs& in) { return program(in); });
    const Lowered lowered = f.lower(inputs_for(f32, 128, 512));
    EXPECT_EQ(kernels_of(lowered), 1U) << name << "\n" << lowered.kernels() << lowered.fusion();
  }
}

// A dense layer's gradients: products read the cotangent before its sum is asked for.
TEST(FoldClusters, BiasGradientsAreComputedBeforeProductsReadWhatTheySum) {
  const auto f = function([](const Inputs& in) -> Inputs {
    const Tensor ct = where(in[0] > 0, in[1], 0.0F);
    return {matmul(transpose(in[0]), ct), sum(ct, 0)};
  });
  const Inputs inputs = inputs_for(f32, 128, 64);
  const Lowered lowered = f.lower(inputs);
  EXPECT_NE(lowered.fusion().find("select + reduce_sum -> 1 kernel over columns of 64"), std::string::npos)
      << lowered.fusion();
  EXPECT_EQ(lowered.kernels().find("cpu.reduce"), std::string::npos) << lowered.kernels();
  const Tensor ct = where(inputs[0] > 0, inputs[1], 0.0F);
  EXPECT_EQ(conformance::difference(f(inputs), Inputs{matmul(transpose(inputs[0]), ct), sum(ct, 0)}), "");
}

// Calls over the same operands, which do not read each other.
TEST(FoldClusters, SiblingsReadTheirOperandsOnce) {
  const auto f =
      function([](const Tensor& x, const Tensor& y) { return std::vector<Tensor>{tanh(x) * y, exp(y), x - y}; });
  const Tensor x = inputs_for(f32, 50, 40)[0], y = inputs_for(f32, 50, 40)[1];
  const Lowered lowered = f.lower(x, y);
  EXPECT_EQ(kernels_of(lowered), 1U) << lowered.kernels() << lowered.fusion();
  EXPECT_NE(lowered.fusion().find("saves 39.1 KiB"), std::string::npos)  // tanh, x and y three times
      << lowered.fusion();
  EXPECT_EQ(conformance::difference(f(x, y), Inputs{tanh(x) * y, exp(y), x - y}), "");
  // What reads a result that is still to come is no sibling of what gives it.
  const auto chain = function([](const Tensor& a, const Tensor& b) {
    const Tensor s = sum(a * b);
    return std::vector<Tensor>{s, a * s, b + s};
  });
  const Tensor wide = inputs_for(f32, 400, 100)[0], other = inputs_for(f32, 400, 100)[1];
  const Lowered two = chain.lower(wide, other);
  EXPECT_EQ(kernels_of(two), 2U) << two.kernels() << two.fusion();
  const Tensor s = sum(wide * other);
  EXPECT_EQ(conformance::difference(chain(wide, other), Inputs{s, wide * s, other + s}), "");
}

TEST(FoldClusters, SayWhatTheyReduceAndWhatThatSaves) {
  const auto squares = function([](const Tensor& x) { return sum(x * x); });
  const std::string all = squares.lower(Spec{f32, {1000, 100}}).fusion();
  EXPECT_NE(all.find("multiply + reduce_sum -> 1 kernel over all 100000 elements, saves 781.2 KiB"), std::string::npos)
      << all;
  const auto bias = function([](const Tensor& x) { return sum(x * x, 0); });
  const std::string columns = bias.lower(Spec{f32, {1000, 100}}).fusion();
  EXPECT_NE(columns.find("-> 1 kernel over columns of 100, saves 781.2 KiB"), std::string::npos) << columns;
  const std::string narrow = bias.lower(Spec{f32, {1000, 10}}).fusion();
  EXPECT_NE(narrow.find("reduce_sum: not fused: 10 columns, fewer than 32"), std::string::npos) << narrow;
}

}  // namespace
}  // namespace hone
