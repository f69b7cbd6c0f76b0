#include "hone/ops/reduction.h"

#include <cmath>
#include <limits>

#include "hone/backend/cpu/isa.h"
#include "hone/backend/cpu/kernel_test_tools.h"
#include "hone/base/error.h"
#include "hone/ops/attrs.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/kernel.h"
#include "hone/ops/movement.h"
#include "hone/ops/table.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();

struct Case {
  Shape shape;
  Ints axes;
};
const Case kCases[] = {{{0}, {0}},
                       {{1}, {0}},
                       {{7}, {0}},
                       {{64}, {0}},
                       {{65}, {0}},
                       {{4095}, {0}},
                       {{4097}, {0}},
                       {{12289}, {0}},
                       {{200000}, {0}},
                       {{3, 5}, {0}},
                       {{3, 5}, {1}},
                       {{3, 5}, {0, 1}},
                       {{63, 9}, {0}},
                       {{65, 6}, {0}},
                       {{1025, 17}, {0}},
                       {{5000, 3}, {0}},
                       {{130, 2100}, {0}},
                       {{9, 4100}, {1}},
                       {{2, 300, 33}, {1}},
                       {{2, 3, 4, 5}, {0, 2}},
                       {{2, 70, 4, 5}, {1, 3}},
                       {{3, 1, 5}, {0, 2}},
                       {{4, 0, 3}, {1}},
                       {{5, 6, 7, 8, 2}, {0, 2, 4}},
                       {{3, 4}, {}}};

Tensor reduced(const Op& op, const Tensor& x, const Ints& axes) { return call_op(op, AxesAttrs{axes}, {}, x); }

TEST(Reduction, HasTheReferencesBitsForEveryTypeAndThreadCount) {
  for (const Op* op : {&ops::reduce_sum, &ops::reduce_prod, &ops::reduce_max, &ops::reduce_min}) {
    for (DType dtype : {f32, f64, f16, bf16, i8, u8, i16, i32, u32, i64, u64}) {
      for (const Case& c : kCases) {
        if (dtype != f32 && c.shape.count() > 20000) continue;
        const Tensor x = random_tensor(c.shape, 3, is_floating(dtype) ? 0.4 : 0, is_floating(dtype) ? 1.6 : 4, dtype);
        const Tensor expected = by_reference([&] { return reduced(*op, x, c.axes); });
        for (int count : {1, 2, 3, 7}) {
          if (count > 2 && dtype != f32) continue;
          const Tensor y = with_threads(count, [&] { return reduced(*op, x, c.axes); });
          ASSERT_TRUE(same_bits(y, expected)) << op->name << " " << to_string(x.type()) << " threads " << count;
        }
      }
    }
  }
}

TEST(Reduction, LogicalAndBitwiseMatchTheReference) {
  for (const Op* op : {&ops::reduce_and, &ops::reduce_or}) {
    for (DType dtype : {bool_, u8, i32, i64}) {
      for (const Case& c : kCases) {
        if (c.shape.count() > 20000) continue;
        const Tensor x = random_tensor(c.shape, 5, 0, dtype == bool_ ? 1.001 : 99, dtype);
        EXPECT_TRUE(same_bits(reduced(*op, x, c.axes), by_reference([&] { return reduced(*op, x, c.axes); })))
            << op->name << to_string(x.type());
      }
    }
  }
}

TEST(Reduction, KernelsOfAllLevelsGiveTheSameBits) {
  const Tensor x = random_tensor({200, 77}, 9);
  const int64_t n = x.size();
  float row = 0;
  std::vector<float> columns(77);
  const auto run = [&](const math::Kernels& k) {
    const math::ReduceKernels& sum = k.reduce[math::kReduceSum][static_cast<int>(f32)];
    sum.row(x.raw(), n, &row);
    sum.columns(x.raw(), 200, 77, 77, columns.data());
  };
  run(*kernels_at(IsaLevel::v2));
  const float first = row;
  const std::vector<float> first_columns = columns;
  for (IsaLevel level : kIsaLevels) {
    if (!kernels_at(level)) continue;
    run(*kernels_at(level));
    EXPECT_EQ(row, first) << name(level);
    EXPECT_EQ(columns, first_columns) << name(level);
  }
}

TEST(Reduction, SumsInBlocksLoseLittle) {
  const Tensor x = full({10'000'000}, 0.1, f32) + zeros({1});
  EXPECT_NEAR(sum(x).item<double>(), 1e6, 1);  // one running f32 sum gives 1087937
}

TEST(Reduction, KeepsTheSignOfZeroAndGivesZeroForNothing) {
  EXPECT_TRUE(std::signbit(sum(Tensor::of<float>({-0.0F, -0.0F})).item<float>()));
  EXPECT_FALSE(std::signbit(sum(Tensor::empty({f32, {0}})).item<float>()));
  EXPECT_EQ(prod(Tensor::empty({f32, {0}})).item<float>(), 1);
  EXPECT_EQ(max(Tensor::empty({f32, {0}})).item<float>(), -kInf);
  EXPECT_EQ(min(Tensor::empty({i8, {0}})).item<int>(), 127);
  EXPECT_TRUE(std::isnan(mean(Tensor::empty({f32, {0}})).item<float>()));
}

TEST(Reduction, SixteenBitFloatsSumInF32) {
  const Tensor x = cast(full({4096}, 1, f32), bf16);  // bf16 alone would stick at 256
  EXPECT_EQ(cast(sum(x), f32).item<float>(), 4096);
  EXPECT_EQ(sum(x).dtype(), bf16);
}

TEST(Reduction, NaNPropagatesWhereverItStands) {
  for (int64_t at : {0, 1, 7, 8, 63, 64, 99}) {
    std::vector<float> values(100, 1);
    values[static_cast<size_t>(at)] = kNaN;
    const Tensor x = Tensor::from(values, {100});
    EXPECT_TRUE(std::isnan(max(x).item<float>())) << at;
    EXPECT_TRUE(std::isnan(min(reshape(x, {100, 1}) * ones({1, 3}), 0).to_vector<float>()[2])) << at;
    EXPECT_EQ(argmax(x).item<int64_t>(), at);
    EXPECT_EQ(argmin(x).item<int64_t>(), at);
  }
}

TEST(ArgMax, TakesTheFirstNaNThenTheFirstOfEquals) {
  EXPECT_EQ(argmax(Tensor::of<float>({1, 3, 3, 2})).item<int64_t>(), 1);
  EXPECT_EQ(argmin(Tensor::of<float>({0.0F, -0.0F})).item<int64_t>(), 0);
  EXPECT_EQ(argmax(Tensor::of<float>({1, kNaN, kInf, kNaN})).item<int64_t>(), 1);
  const Tensor x = random_tensor({7, 9, 5}, 4);
  for (int axis : {0, 1, 2}) EXPECT_TRUE(same_bits(argmax(x, axis), by_reference([&] { return argmax(x, axis); })));
  EXPECT_EQ(argmax(x, {}).item<int64_t>(), argmax(flatten(x)).item<int64_t>());
  EXPECT_EQ(argmax(x, 1, true).shape(), (Shape{7, 1, 5}));
}

TEST(Reduction, PublicFunctionsMatchHandMadeValues) {
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(sum(x).item<float>(), 21);
  EXPECT_EQ(sum(x, 0).to_vector<float>(), (std::vector<float>{5, 7, 9}));
  EXPECT_EQ(sum(x, -1, true).shape(), (Shape{2, 1}));
  EXPECT_EQ(mean(x, {0, 1}).item<float>(), 3.5F);
  EXPECT_EQ(prod(x, 1).to_vector<float>(), (std::vector<float>{6, 120}));
  EXPECT_FLOAT_EQ(variance(x).item<float>(), 35.0F / 12);
  EXPECT_FLOAT_EQ(stddev(x, 1).to_vector<float>()[0], std::sqrt(2.0F / 3));
  EXPECT_FLOAT_EQ(norm(Tensor::of<float>({3, 4})).item<float>(), 5);
  EXPECT_FLOAT_EQ(logsumexp(Tensor::of<float>({1000, 1000})).item<float>(), 1000 + std::log(2.0F));
  EXPECT_EQ(logsumexp(Tensor::of<float>({-kInf, -kInf})).item<float>(), -kInf);
  EXPECT_EQ(logsumexp(Tensor::of<float>({1, kInf})).item<float>(), kInf);
  EXPECT_TRUE(all(x > 0).item<bool>());
  EXPECT_TRUE(any(x > 5).item<bool>());
  EXPECT_FALSE(any(x > 6).item<bool>());
  EXPECT_EQ(sum(x > 2).item<int>(), 4);
  EXPECT_EQ(sum(cast(x, u8)).dtype(), u32);
  EXPECT_EQ(mean(cast(x, i32)).item<float>(), 3.5F);
  EXPECT_EQ(sum(x, Ints{}).shape(), x.shape());
}

TEST(Reduction, ErrorsNameAxisAndOperand) {
  const Tensor x = zeros({2, 3});
  EXPECT_THROW(sum(x, 2), Error);
  EXPECT_THROW(sum(x, {0, -2}), Error);
  EXPECT_THROW(argmax(zeros({2, 0}), 1), Error);
  try {
    argmax(zeros({2, 3, 4}), {0, 1});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("f32[2,3,4]"), std::string::npos) << error.what();
  }
}

WindowAttrs window(Combine combine) {
  return {{1, 3, 2}, {1, 2, 1}, {0, 1, 0}, {0, 1, 1}, {1, 1, 2}, {1, 2, 1}, static_cast<int64_t>(combine)};
}

TEST(Window, MatchesTheReferenceForAllCombinations) {
  for (DType dtype : {f32, f64, f16, bf16, i32, u8}) {
    const Tensor x = random_tensor({3, 6, 4}, 8, 0, 9, dtype);
    for (Combine combine : {Combine::Sum, Combine::Prod, Combine::Max, Combine::Min}) {
      const WindowAttrs attrs = window(combine);
      const Tensor y = reduce_window(x, attrs);
      EXPECT_TRUE(same_bits(y, by_reference([&] { return reduce_window(x, attrs); }))) << to_string(x.type());
      if (combine == Combine::Sum || combine == Combine::Prod) continue;
      for (int count : {1, 3}) {
        EXPECT_TRUE(same_bits(with_threads(count, [&] { return select_and_scatter(x, y, attrs); }),
                              by_reference([&] { return select_and_scatter(x, y, attrs); })));
      }
    }
  }
}

TEST(Window, SelectsTheFirstOfEqualsAndTheFirstNaN) {
  const WindowAttrs attrs{{3}, {3}, {0}, {0}, {1}, {1}, static_cast<int64_t>(Combine::Max)};
  const Tensor x = Tensor::of<float>({1, 1, 0, -kInf, -kInf, -kInf, 5, kNaN, kNaN});
  EXPECT_EQ(select_and_scatter(x, Tensor::of<float>({1, 2, 3}), attrs).to_vector<float>(),
            (std::vector<float>{1, 0, 0, 2, 0, 0, 0, 3, 0}));
  const std::vector<float> y = reduce_window(x, attrs).to_vector<float>();
  EXPECT_EQ(y[1], -kInf);
  EXPECT_TRUE(std::isnan(y[2]));
}

TEST(Window, RejectsWhatDoesNotFit) {
  WindowAttrs attrs = window(Combine::Sum);
  EXPECT_THROW(reduce_window(zeros({4, 4}), attrs), Error);
  attrs.strides[1] = 0;
  EXPECT_THROW(reduce_window(zeros({3, 6, 4}), attrs), Error);
  EXPECT_THROW(select_and_scatter(zeros({3, 6, 4}), zeros({1, 1, 1}), window(Combine::Max)), Error);
}

}  // namespace
}  // namespace hone
