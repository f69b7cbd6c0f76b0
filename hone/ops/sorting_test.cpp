#include "hone/ops/sorting.h"

#include <gtest/gtest.h>

#include <cmath>

#include "hone/base/error.h"
#include "hone/function/tape.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"

namespace hone {
namespace {

using Floats = std::vector<float>;
using Ints32 = std::vector<int32_t>;
constexpr float kNan = NAN;

void expect_same(const Floats& got, const Floats& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]))) << i << ": " << got[i];
    EXPECT_EQ(std::signbit(got[i]), std::signbit(expected[i])) << i;
  }
}

TEST(Sort, NanLastAndStable) {
  const Tensor x = Tensor::of<float>({2, kNan, -0.0F, 0.0F, -1});
  expect_same(sort(x).to_vector<float>(), {-1, -0.0F, 0.0F, 2, kNan});
  expect_same(sort(x, 0, true).to_vector<float>(), {2, -0.0F, 0.0F, -1, kNan});
  EXPECT_EQ(argsort(x).to_vector<int32_t>(), (Ints32{4, 2, 3, 0, 1}));
}

TEST(Sort, AnyAxisAndSeveralOperands) {
  const Tensor x = Tensor::from<int32_t>({3, 1, 2, 1, 2, 3}, {3, 2});
  EXPECT_EQ(sort(x, 0).to_vector<int32_t>(), (Ints32{2, 1, 2, 1, 3, 3}));
  EXPECT_EQ(sort(x, 1).to_vector<int32_t>(), (Ints32{1, 3, 1, 2, 2, 3}));
  const Tensor operands[] = {Tensor::of<int32_t>({1, 0, 1, 0}), Tensor::of<int8_t>({10, 20, 30, 40})};
  const std::vector<Tensor> sorted = sort(operands);
  EXPECT_EQ(sorted[0].to_vector<int32_t>(), (Ints32{0, 0, 1, 1}));
  EXPECT_EQ(sorted[1].to_vector<int8_t>(), (std::vector<int8_t>{20, 40, 10, 30}));
}

TEST(Sort, GradientFollowsTheElements) {
  const Tensor x = Tensor::of<float>({3, 1, 2});
  GradientTape tape;
  tape.watch(x);
  EXPECT_EQ(tape.gradient(sort(x) * Tensor::of<float>({10, 20, 30}), x).to_vector<float>(), (Floats{30, 10, 20}));
}

TEST(TopK, LargestFirstTiesByIndexNanLargest) {
  const auto [values, indices] = top_k(Tensor::of<float>({1, 3, 3, kNan, 2}), 4);
  expect_same(values.to_vector<float>(), {kNan, 3, 3, 2});
  EXPECT_EQ(indices.to_vector<int32_t>(), (Ints32{3, 1, 2, 4}));
  try {
    top_k(zeros({2, 3}), 4);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("k = 4, the last axis has 3 elements"), std::string::npos) << error.what();
  }
}

TEST(Cumulative, ValuesBothWays) {
  const Tensor x = Tensor::from<float>({1, 2, 3, 4, 0, 2}, {2, 3});
  EXPECT_EQ(cumsum(x, 1).to_vector<float>(), (Floats{1, 3, 6, 4, 4, 6}));
  EXPECT_EQ(cumsum(x, 0).to_vector<float>(), (Floats{1, 2, 3, 5, 2, 5}));
  EXPECT_EQ(cumsum(x, -1, true).to_vector<float>(), (Floats{6, 5, 3, 6, 2, 2}));
  EXPECT_EQ(cumprod(x, 1).to_vector<float>(), (Floats{1, 2, 6, 4, 0, 0}));
  EXPECT_EQ(cummax(x, 1).to_vector<float>(), (Floats{1, 2, 3, 4, 4, 4}));
  EXPECT_EQ(cummin(x, 1).to_vector<float>(), (Floats{1, 1, 1, 4, 0, 0}));
  EXPECT_EQ(cumsum(Tensor::from<bool>({true, false, true}, {3})).to_vector<int32_t>(), (Ints32{1, 1, 2}));
  expect_same(cummax(Tensor::of<float>({1, kNan, 3})).to_vector<float>(), {1, kNan, kNan});
}

// bf16 has 8 bits: adding 1 to 256 in bf16 would be lost each time.
TEST(Cumulative, SumsSixteenBitFloatsInF32) {
  const Floats sums = cast(cumsum(cast(ones({300}), bf16)), f32).to_vector<float>();
  EXPECT_EQ(sums[298], 300);  // 299 rounded once
}

TEST(Cumulative, ProductGradientAtZeros) {
  struct Case {
    Floats x, expected;
  };
  for (const Case& c : std::vector<Case>{{{2, 3, 4}, {1 + 3 + 12, 2 + 8, 6}},
                                         {{2, 0, 4}, {1, 2 + 8, 0}},
                                         {{0, 3, 0}, {1 + 3, 0, 0}},
                                         {{0, 0, 5}, {1, 0, 0}}}) {
    const Tensor x = Tensor::from(c.x, {3});
    GradientTape tape;
    tape.watch(x);
    EXPECT_EQ(tape.gradient(cumprod(x), x).to_vector<float>(), c.expected);
  }
}

TEST(Cumulative, MaximumGradientGoesToWhereItRose) {
  const Tensor x = Tensor::of<float>({1, 3, 2, 3, 5});
  for (bool reverse : {false, true}) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = cummax(x, 0, reverse) * Tensor::of<float>({1, 10, 100, 1000, 10000});
    EXPECT_EQ(tape.gradient(y, x).to_vector<float>(),
              reverse ? (Floats{0, 0, 0, 0, 11111}) : (Floats{1, 1110, 0, 0, 10000}));
  }
}

}  // namespace
}  // namespace hone
