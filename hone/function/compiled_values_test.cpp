// Programs whose values other compilers have changed: eager, as a graph and as machine code they are the same.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "hone/function/function.h"
#include "hone/ops/attrs.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/nn.h"
#include "hone/ops/reduction.h"

namespace hone {
namespace {

using Values = std::vector<Tensor>;
using Program = std::function<Values(const Values&)>;

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

Tensor drawn(const Shape& shape, uint64_t key) { return random::normal(random::state(key), shape).second; }

// What differs: results, or elements that are not both NaN.
std::string difference(const Values& a, const Values& b) {
  if (a.size() != b.size()) return "other results";
  for (size_t i = 0; i < a.size(); ++i) {
    if (!(a[i].type() == b[i].type())) return "other types";
    const std::vector<float> x = a[i].to_vector<float>(), y = b[i].to_vector<float>();
    for (size_t k = 0; k < x.size(); ++k) {
      const bool same = std::isnan(x[k]) ? std::isnan(y[k]) : x[k] == y[k] && std::signbit(x[k]) == std::signbit(y[k]);
      if (!same) return testing::PrintToString(std::pair{x[k], y[k]}) + " at " + std::to_string(k);
    }
  }
  return "";
}

// The results of calls one by one, which those of a graph and of machine code equal.
Values agreed(const Program& program, const Values& inputs) {
  const Values expected = program(inputs);
  for (const bool machine_code : {false, true}) {
    const auto f = function(program, {.jit_compile = machine_code});
    for (int call = 0; call < 2; ++call)
      EXPECT_EQ(difference(expected, f(inputs)), "") << (machine_code ? "machine code" : "graph");
  }
  return expected;
}

TEST(CompiledValues, ADoubleReciprocalIsTwoDivisions) {
  const Tensor x = Tensor::from(std::vector<float>{7, 3, 1e-39F, 3e38F, 0, -0.0F, kInf, -kInf, kNan}, {9});
  const Values y = agreed([](const Values& v) { return Values{1 / (1 / v[0])}; }, {x});
  EXPECT_NE(y[0].to_vector<float>()[0], 7) << "1 / 7 is rounded";
}

TEST(CompiledValues, ZeroTimesNanIsNanWhateverElseIsReturned) {
  const Tensor x = Tensor::from(std::vector<float>{kNan, kInf, 2}, {3});
  const Values alone = agreed([](const Values& v) { return Values{v[0] * 0}; }, {x});
  const Values beside = agreed([](const Values& v) { return Values{v[0] * 0, v[0] + 0, sum(v[0] * 0)}; }, {x});
  for (const Tensor& y : {alone[0], beside[0]}) {
    EXPECT_TRUE(std::isnan(y.to_vector<float>()[0]) && std::isnan(y.to_vector<float>()[1]));
    EXPECT_EQ(y.to_vector<float>()[2], 0);
  }
}

TEST(CompiledValues, AMasksConstantIsAddedInTheOrderWritten) {
  const Tensor x = Tensor::from(std::vector<float>{1.5F, -2.25F, 3e-3F}, {3});
  const Values y = agreed([](const Values& v) { return Values{(v[0] + 1e9F) - 1e9F, v[0] + (1e9F - 1e9F)}; }, {x});
  EXPECT_EQ(y[0].to_vector<float>(), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(y[1].to_vector<float>(), x.to_vector<float>());
}

TEST(CompiledValues, AProductThatIsComputedTwiceIsRoundedAlike) {
  // exp(a b - max(a b)): fused multiply-add in one of the places would give a positive exponent and then infinity.
  const Values inputs{drawn({7, 33}, 1) * 1e18F, drawn({7, 33}, 2) * 1e18F};
  const Values y = agreed(
      [](const Values& v) {
        const Tensor e = exp(v[0] * v[1] - max(v[0] * v[1], {1}, true));
        return Values{e / sum(e, {1}, true)};
      },
      inputs);
  for (const float p : y[0].to_vector<float>()) EXPECT_TRUE(p >= 0 && p <= 1) << p;
}

TEST(CompiledValues, TensorsOfEightAxes) {
  const Shape shape{2, 1, 3, 2, 1, 2, 3, 2};
  agreed(
      [](const Values& v) {
        const Tensor t = transpose(tanh(v[0]) * v[1], {7, 2, 0, 4, 6, 1, 3, 5});
        return Values{t + 1, sum(t, {0, 3, 5})};
      },
      {drawn(shape, 1), drawn({3, 2, 1, 1, 3, 1}, 2)});
}

TEST(CompiledValues, AnUpdateInPlaceIsReadAsItWas) {
  const auto at = [](int32_t i) { return Values{Tensor(i)}; };
  agreed(
      [&](const Values& v) {
        Tensor x = v[0] * 1;
        const Tensor before = slice_by(x, {0, 0}, {1, 4});
        x = dynamic_update_slice(x, slice_by(x, {3, 0}, {4, 4}) + before, std::vector{at(0)[0], at(0)[0]});
        x = dynamic_update_slice(x, before, std::vector{at(3)[0], at(0)[0]});
        return Values{x, before};
      },
      {drawn({4, 4}, 1)});
}

TEST(CompiledValues, ANegativePadIsNoPaddingOfAWindow) {
  const Tensor x = drawn({1, 6, 6, 2}, 1);
  const Values y = agreed(
      [](const Values& v) {
        const Tensor cut = pad(v[0], {0, -1, -2, 0}, {0, 0, 1, 0}, -kInf);
        return Values{max_pool(cut, {2, 2}, {.strides = Sizes{1, 1}})};
      },
      {x});
  EXPECT_EQ(y[0].shape(), (Shape{1, 4, 4, 2}));
}

TEST(CompiledValues, ThousandsOfCallsInAChain) {
  const Values y = agreed(
      [](const Values& v) {
        Tensor x = v[0];
        for (int i = 0; i < 3000; ++i) x = x * 0.999F + v[1];
        return Values{x};
      },
      {drawn({17}, 1), drawn({17}, 2)});
  EXPECT_TRUE(std::isfinite(y[0].to_vector<float>()[0]));
}

}  // namespace
}  // namespace hone
