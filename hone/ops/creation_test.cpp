#include "hone/ops/creation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "hone/base/error.h"
#include "hone/base/philox.h"
#include "hone/ops/movement.h"

namespace hone {
namespace {

using Floats = std::vector<float>;

TEST(Creation, ConstantsCostOneElement) {
  const Tensor x = full({1000, 1000}, 2.5, f64);
  EXPECT_LE(x.impl()->buffer->bytes(), 64U);
  EXPECT_EQ((x[{999, 999}].item<double>()), 2.5);
  EXPECT_EQ(full({2}, Tensor(3), f32).to_vector<float>(), (Floats{3, 3}));
  EXPECT_EQ(ones({0}).size(), 0);
  EXPECT_TRUE(zeros({}).layout().dense);
}

TEST(Creation, Ranges) {
  EXPECT_EQ(arange(0, 4).to_vector<int32_t>(), (std::vector<int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(arange(5, 0, -2).to_vector<int32_t>(), (std::vector<int32_t>{5, 3, 1}));
  EXPECT_EQ(arange(0, 1, 0.25).to_vector<float>(), (Floats{0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(arange(3, 3).size(), 0);
  EXPECT_THROW(arange(0, 1, 0), Error);
  EXPECT_EQ(linspace(0, 1, 5).to_vector<float>(), (Floats{0, 0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(linspace(1, 2, 1).to_vector<float>(), (Floats{1}));
  EXPECT_EQ(linspace(0, 0.1, 4).to_vector<float>().back(), 0.1F);
  EXPECT_THROW(linspace(0, 1, -1), Error);
}

TEST(Creation, IotaEyeTri) {
  EXPECT_EQ(iota({2, 3}, 0).to_vector<int32_t>(), (std::vector<int32_t>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(iota({2, 3}, -1).to_vector<int32_t>(), (std::vector<int32_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(cast(iota({3}, 0, bf16), f32).to_vector<float>(), (Floats{0, 1, 2}));
  EXPECT_EQ(eye(2, 3).to_vector<float>(), (Floats{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(tri(2, 3, 1).to_vector<float>(), (Floats{1, 1, 0, 1, 1, 1}));
  EXPECT_THROW(iota({2}, 1), Error);
  EXPECT_THROW(iota({2}, 0, bool_), Error);
}

TEST(Convert, SaturatesAndRoundsOnce) {
  const Tensor x = Tensor::of<float>({300.7F, -300, NAN, -1.9F, INFINITY});
  EXPECT_EQ(cast(x, i8).to_vector<int8_t>(), (std::vector<int8_t>{127, -128, 0, -1, 127}));
  EXPECT_EQ(cast(x, u8).to_vector<uint8_t>(), (std::vector<uint8_t>{255, 0, 0, 0, 255}));
  EXPECT_EQ(cast(Tensor::of<int32_t>({257, -1}), u8).to_vector<uint8_t>(), (std::vector<uint8_t>{1, 255}));
  EXPECT_EQ(cast(Tensor::of<float>({0, -0.0F, 2, NAN}), bool_).to_vector<bool>(),
            (std::vector<bool>{false, false, true, true}));
  const double just_above_tie = 1 + 0x1p-8 + 0x1p-40;
  EXPECT_EQ(cast(cast(Tensor::of<double>({just_above_tie}), bf16), f32).item<float>(), 1 + 0x1p-7F);
  const Tensor f = Tensor::of<float>({1});
  EXPECT_EQ(cast(f, f32).raw(), f.raw());
}

TEST(Bitcast, SharesMemoryAndSplitsWords) {
  const Tensor x = Tensor::of<float>({1, -2});
  EXPECT_EQ(bitcast(x, u32).to_vector<uint32_t>(), (std::vector<uint32_t>{0x3F800000, 0xC0000000}));
  EXPECT_EQ(bitcast(x, u32).raw(), x.raw());
  EXPECT_EQ(bitcast(x, u8).shape(), (Shape{2, 4}));
  EXPECT_EQ(bitcast(bitcast(x, u16), f32).to_vector<float>(), x.to_vector<float>());
  EXPECT_THROW(bitcast(Tensor::of<uint8_t>({1, 2, 3}), u16), Error);
}

TEST(Random, BitsArePhiloxWordsAndTheStateMovesOn) {
  const Tensor state = random::state(42);
  const auto [next, bits] = random::bits(state, {6});
  const std::vector<uint32_t> words = bits.to_vector<uint32_t>();
  for (uint64_t i = 0; i < 6; ++i) EXPECT_EQ(words[i], Philox(uint64_t{42}).at(i / 4)[i % 4]);
  EXPECT_EQ(next.to_vector<uint64_t>(), (std::vector<uint64_t>{42, 2}));
  const std::vector<uint64_t> wide = random::bits(state, {3}, u64).second.to_vector<uint64_t>();
  EXPECT_EQ(wide[1], words[2] | static_cast<uint64_t>(words[3]) << 32);
  EXPECT_EQ(random::bits(next, {1}).second.item<uint32_t>(), Philox(uint64_t{42}).at(2)[0]);
}

TEST(Random, UniformStaysBelowItsUpperBound) {
  for (DType dtype : {f32, f64, f16, bf16}) {
    const Tensor x = random::uniform(random::state(7), {20000}, -1, 1, dtype).second;
    EXPECT_EQ(x.dtype(), dtype);
    const std::vector<double> values = cast(x, f64).to_vector<double>();
    double sum = 0;
    for (double v : values) sum += v;
    EXPECT_LT(*std::ranges::max_element(values), 1) << name(dtype);
    EXPECT_GE(*std::ranges::min_element(values), -1) << name(dtype);
    EXPECT_NEAR(sum / 20000, 0, 0.02) << name(dtype);
  }
  EXPECT_THROW(random::uniform(random::state(7), {2}, 0, 1, i32), Error);
}

TEST(Random, NormalHasItsMoments) {
  for (DType dtype : {f32, f64}) {
    const std::vector<double> values =
        cast(random::normal(random::state(3), {40000}, 1, 2, dtype).second, f64).to_vector<double>();
    double sum = 0, squares = 0;
    for (double v : values) sum += v, squares += (v - 1) * (v - 1);
    EXPECT_NEAR(sum / 40000, 1, 0.04);
    EXPECT_NEAR(std::sqrt(squares / 40000), 2, 0.03);
  }
}

}  // namespace
}  // namespace hone
