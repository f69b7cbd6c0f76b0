// Values at the edge: NaN, infinities, lanes that hold nothing, halves that overflow.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "hone/function/tape.h"
#include "hone/nn/loss.h"
#include "hone/ops/attention.h"
#include "hone/ops/attrs.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/nn.h"
#include "hone/ops/reduction.h"
#include "tests/conformance/cases.h"

namespace hone::conformance {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
constexpr DType kFloatTypes[] = {f32, f64, f16, bf16};

bool all_finite(const Tensor& x) { return all(is_finite(x)).item<bool>(); }

// A NaN at each place of vectors of each length comes out at its place, and nowhere else.
void expect_nan_at_its_place(const std::string& what, const std::function<Tensor(const Tensor&)>& f) {
  for (const DType dtype : kFloatTypes) {
    for (const int64_t length : {1, 3, 8, 17, 35}) {
      for (int64_t place = 0; place < length; ++place) {
        std::vector<float> values(static_cast<size_t>(length), 0.5F);
        values[static_cast<size_t>(place)] = kNaN;
        const std::vector<double> y = numbers(f(cast(Tensor::from(values, {length}), dtype)));
        for (int64_t i = 0; i < length; ++i) {
          ASSERT_EQ(std::isnan(y[static_cast<size_t>(i)]), i == place)
              << what << " " << name(dtype) << " " << length << " " << i;
        }
      }
    }
  }
}

TEST(Relu6, PassesNaNThrough) {
  expect_nan_at_its_place("relu6", [](const Tensor& x) { return relu6(x); });
  expect_nan_at_its_place("relu", [](const Tensor& x) { return relu(x); });
  expect_nan_at_its_place("clamp", [](const Tensor& x) { return clamp(0, x, 1); });
  expect_nan_at_its_place("maximum", [](const Tensor& x) { return maximum(x, 0.25); });
  expect_nan_at_its_place("maximum, right",
                          [](const Tensor& x) { return maximum(full(x.shape(), 0.25, x.dtype()), x); });
  expect_nan_at_its_place("minimum", [](const Tensor& x) { return minimum(x, 0.75); });
  expect_nan_at_its_place("max_pool", [](const Tensor& x) { return max_pool(reshape(x, {1, x.size(), 1}), {1}); });
}

TEST(MathFunctions, NaNGivesNaN) {
  int checked = 0;
  for (const Case& c : cases()) {
    if (c.number > 0 || c.op.op_class != OpClass::Elementwise || c.op.numerics != NumericsClass::Approximate) continue;
    std::vector<TensorType> types = c.sample.inputs;
    for (TensorType& type : types) type.shape = {19};
    for (size_t i = 0; i < types.size(); ++i) {
      std::vector<Tensor> inputs = draw(c, types);
      inputs[i] = full({19}, kNaN, f32).dense();
      for (double value : numbers(run(c, inputs)[0])) EXPECT_TRUE(std::isnan(value)) << c.op.name << ", operand " << i;
      ++checked;
    }
  }
  EXPECT_GT(checked, 20);
}

TEST(IsFinite, SeesNaNAndInfinity) {
  for (const DType dtype : kFloatTypes) {
    const double denormal = dtype == f64 ? 5e-324 : dtype == f16 ? 0x1p-24 : 1e-39;
    const Tensor x = cast(Tensor::of<double>({0, -0.0, denormal, 1, -1, kNaN, kInf, -kInf, 2, 3, 4}), dtype);
    const std::vector<bool> finite = {true, true, true, true, true, false, false, false, true, true, true};
    const Tensor flags[] = {is_finite(x), x == x, x != x, x - x == 0, x != 0};
    for (size_t i = 0; i < finite.size(); ++i) {
      const auto flag = [&](int k) { return flags[k].data<bool>()[i]; };
      EXPECT_EQ(flag(0), finite[i]) << name(dtype) << " " << i;
      EXPECT_EQ(flag(1), i != 5) << name(dtype) << " " << i;
      EXPECT_EQ(flag(2), i == 5) << name(dtype) << " " << i;
      EXPECT_EQ(flag(3), finite[i]) << name(dtype) << " " << i;
      EXPECT_EQ(flag(4), i > 1) << name(dtype) << " " << i;  // denormals are not flushed
    }
  }
}

TEST(Numerics, ProductAndSumRoundSeparately) {
  const Tensor x = cast(noise({10000}, 9), f32), square = x * x;
  EXPECT_EQ(max(abs(x * x - square)).item<float>(), 0);
  EXPECT_EQ(max(abs(x * x + -square)).item<float>(), 0);
  const std::vector<float> values = x.to_vector<float>();
  const std::vector<float> sums = (x * 3.1F + x * x).to_vector<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    const volatile float product = values[i] * 3.1F, other = values[i] * values[i];
    ASSERT_EQ(sums[i], product + other) << values[i];
  }
}

TEST(Softmax, LargeProductsStayFinite) {
  const Tensor x = cast(noise({7, 33}, 4), f32);
  for (int power = 0; power <= 40; power += 4) {
    const Tensor y = softmax(x * std::ldexp(1.0, power));
    EXPECT_TRUE(all_finite(y)) << power;
    EXPECT_TRUE(all_finite(log_softmax(x * std::ldexp(1.0, power)))) << power;
    EXPECT_LT(max(abs(sum(y, 1) - 1)).item<float>(), 1e-6F) << power;
  }
}

TEST(Scatter, MaximumKeepsNaN) {
  const auto maximum_at_zero = [](const Tensor& x, std::initializer_list<float> updates) {
    const ScatterAttrs attrs{{}, {0}, {0}, 1, static_cast<int64_t>(Combine::Max)};
    const Tensor values = Tensor::of<float>(updates), places = zeros({values.size(), 1}, i32);
    return scatter(x, places, values, attrs).to_vector<float>()[0];
  };
  const Tensor zero = zeros({2}), nan = full({2}, kNaN, f32);
  EXPECT_EQ(maximum_at_zero(zero, {1, 3, 2}), 3);
  EXPECT_TRUE(std::isnan(maximum_at_zero(zero, {kNaN, 3, 2})));
  EXPECT_TRUE(std::isnan(maximum_at_zero(zero, {1, kNaN, 2})));
  EXPECT_TRUE(std::isnan(maximum_at_zero(zero, {1, 3, kNaN})));
  EXPECT_TRUE(std::isnan(maximum_at_zero(nan, {1, 3, 2})));
}

TEST(Reduce, InactiveLanesStayOut) {
  for (const DType dtype : {f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64}) {
    for (int64_t n = 1; n <= 130; ++n) {
      const Tensor positive = full({n}, 7, dtype).dense();
      ASSERT_EQ(min(positive).item<double>(), 7) << name(dtype) << " " << n;
      ASSERT_EQ(prod(full({n}, 1, dtype).dense()).item<double>(), 1) << name(dtype) << " " << n;
      if (is_unsigned_integer(dtype)) continue;
      ASSERT_EQ(max(-positive).item<double>(), -7) << name(dtype) << " " << n;
    }
  }
}

TEST(LayerNorm, HalfInputsOfSixtyThousandStayFinite) {
  for (const DType dtype : {f16, bf16}) {
    const Tensor x = cast(noise({4, 64}, 6) * 6e4, dtype), scale = ones({64}, dtype), offset = zeros({64}, dtype);
    const Tensor wide = cast(x, f64), one = ones({64}, f64), zero = zeros({64}, f64);
    const double unit = dtype == f16 ? 0x1p-10 : 0x1p-7;
    EXPECT_LT(max(abs(cast(layer_norm(x, scale, offset, -1, 1e-12), f64) - layer_norm(wide, one, zero, -1, 1e-12)))
                  .item<double>(),
              4 * unit);
    EXPECT_LT(max(abs(cast(rms_norm(x, scale, -1, 1e-12), f64) - rms_norm(wide, one, -1, 1e-12))).item<double>(),
              4 * unit);
  }
}

TEST(Attention, FullyMaskedRowInHalfHasNoNaN) {
  for (const DType dtype : {f16, bf16, f32}) {
    const Tensor q = cast(noise({1, 3, 2, 8}, 1) * 8, dtype), k = cast(noise({1, 5, 2, 8}, 2) * 8, dtype),
                 v = cast(noise({1, 5, 2, 8}, 3), dtype);
    // Query 0 sees nothing, query 1 the first key, query 2 all.
    std::vector<bool> mask(15, false);
    for (size_t i : {5, 10, 11, 12, 13, 14}) mask[i] = true;
    const Tensor y = scaled_dot_product_attention(q, k, v, {.mask = Tensor::from(mask, {1, 1, 3, 5})});
    EXPECT_TRUE(all_finite(y)) << name(dtype);
    EXPECT_EQ(max(abs(cast(y[{0, 0}], f32))).item<float>(), 0) << name(dtype);
    EXPECT_EQ(max(abs(cast(y[{0, 1}], f32) - cast(v[{0, 0}], f32))).item<float>(), 0) << name(dtype);
  }
}

TEST(BatchNorm, HalfReductionsAccumulateInFloat) {
  const Tensor x = cast(noise({100000, 2}, 8) * 3 + 100, f16), wide = cast(x, f64);
  const BatchNormResult half = batch_norm_training(x, ones({2}, f16), zeros({2}, f16));
  EXPECT_TRUE(all_finite(half.y));
  EXPECT_LT(max(abs(cast(half.mean, f64) - mean(wide, 0))).item<double>(), 0.07);
  EXPECT_LT(max(abs(cast(half.variance, f64) - variance(wide, 0))).item<double>(), 0.01);
  EXPECT_LT(max(abs(cast(mean(x, 0), f64) - mean(wide, 0))).item<double>(), 0.07);
  EXPECT_LT(max(abs(cast(variance(x, 0), f64) - variance(wide, 0))).item<double>(), 0.01);
}

TEST(CrossEntropy, HalfProbabilitiesOfZeroAndOneStayFinite) {
  const Tensor labels = Tensor::of<int32_t>({0, 1, 1}), one_hots = one_hot(labels, 2);
  const std::pair<nn::Loss, Tensor> losses[] = {{nn::SparseCategoricalCrossentropy(), labels},
                                                {nn::CategoricalCrossentropy(), one_hots},
                                                {nn::BinaryCrossentropy(), one_hots}};
  for (const DType dtype : {f16, bf16}) {
    const Tensor certain = cast(Tensor::from(std::vector<float>{0, 1, 1, 0, 0, 0}, {3, 2}), dtype);
    for (const auto& [loss, y_true] : losses) {
      GradientTape tape;
      tape.watch(certain);
      const Tensor value = loss(y_true, certain);
      EXPECT_TRUE(all_finite(value)) << loss.name() << " " << name(dtype);
      EXPECT_TRUE(all_finite(tape.gradient(value, certain))) << loss.name() << " " << name(dtype);
    }
  }
}

}  // namespace
}  // namespace hone::conformance
