#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>

#include "hone/backend/cpu/onednn.h"
#include "hone/base/error.h"
#include "hone/base/parallel.h"
#include "hone/base/settings.h"
#include "hone/ops/attrs.h"
#include "hone/ops/contraction.h"
#include "hone/ops/creation.h"
#include "hone/ops/dot_axes.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/kernel.h"
#include "hone/ops/movement.h"

namespace hone {
namespace {

Tensor numbers(const Shape& shape, uint32_t seed = 1) {
  std::vector<float> values(static_cast<size_t>(shape.count()));
  for (float& v : values) {
    seed = seed * 1664525U + 1013904223U;
    v = static_cast<float>(seed >> 8) * 0x1p-23F - 1;
  }
  return Tensor::from(values, shape);
}

std::vector<double> wide(const Tensor& x) {
  const auto values = x.to_vector<float>();
  return {values.begin(), values.end()};
}

// dot_general by its definition, in double.
std::vector<double> naive(const Tensor& a, const Tensor& b, const DotAttrs& attrs) {
  const auto offsets = [](const Shape& shape, const Ints& axes) {
    std::vector<size_t> list = {0};
    for (int64_t axis : axes) {
      size_t stride = 1;
      for (int i = static_cast<int>(axis) + 1; i < shape.rank(); ++i)
        stride *= static_cast<size_t>(shape.dim(i).number());
      std::vector<size_t> next;
      for (size_t base : list) {
        for (int64_t i = 0; i < shape.dim(static_cast<int>(axis)).number(); ++i)
          next.push_back(base + static_cast<size_t>(i) * stride);
      }
      list = next;
    }
    return list;
  };
  const auto x = wide(a), y = wide(b);
  const auto ba = offsets(a.shape(), attrs.lhs_batch), bb = offsets(b.shape(), attrs.rhs_batch);
  const auto ka = offsets(a.shape(), attrs.lhs_contract), kb = offsets(b.shape(), attrs.rhs_contract);
  std::vector<double> out;
  for (size_t l = 0; l < ba.size(); ++l) {
    for (size_t i : offsets(a.shape(), free_axes(a.rank(), attrs.lhs_batch, attrs.lhs_contract))) {
      for (size_t j : offsets(b.shape(), free_axes(b.rank(), attrs.rhs_batch, attrs.rhs_contract))) {
        double sum = 0;
        for (size_t k = 0; k < ka.size(); ++k) sum += x[ba[l] + i + ka[k]] * y[bb[l] + j + kb[k]];
        out.push_back(sum);
      }
    }
  }
  return out;
}

void expect_near(const Tensor& got, const std::vector<double>& wanted, double tolerance, const std::string& what) {
  const auto values = got.to_vector<float>();
  ASSERT_EQ(values.size(), wanted.size()) << what;
  for (size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], wanted[i], tolerance) << what << " at " << i;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

class Threads {
 public:
  explicit Threads(int count) : before_(threads()) { set_threads(count); }
  ~Threads() { set_threads(before_); }

 private:
  int before_;
};
struct ReproducibleThreads {
  ReproducibleThreads() { settings.reproducible = Reproducible::Threads; }
  ~ReproducibleThreads() { settings.reproducible = Reproducible::Off; }
};

TEST(DotGeneral, AllAxisOrdersAndSizes) {
  struct Case {
    Shape a, b;
    DotAttrs attrs;
  };
  const Case cases[] = {
      {{3, 4}, {4, 5}, {{}, {}, {1}, {0}}},
      {{64, 64}, {64, 64}, {{}, {}, {1}, {0}}},
      {{37, 129}, {129, 65}, {{}, {}, {1}, {0}}},
      {{129, 37}, {129, 65}, {{}, {}, {0}, {0}}},
      {{37, 129}, {65, 129}, {{}, {}, {1}, {1}}},
      {{129, 37}, {65, 129}, {{}, {}, {0}, {1}}},
      {{1, 512}, {512, 300}, {{}, {}, {1}, {0}}},
      {{300, 512}, {512, 1}, {{}, {}, {1}, {0}}},
      {{512}, {512}, {{}, {}, {0}, {0}}},
      {{33}, {270}, {{}, {}, {}, {}}},
      {{4, 17, 33}, {4, 33, 20}, {{0}, {0}, {2}, {1}}},
      {{2, 17, 3, 32}, {2, 19, 3, 32}, {{0, 2}, {0, 2}, {3}, {3}}},  // attention's scores: heads in the middle
      {{2, 3, 17, 19}, {2, 19, 3, 32}, {{0, 1}, {0, 2}, {3}, {1}}},  // and its values
      {{6, 7, 40}, {40, 7, 33}, {{}, {}, {1, 2}, {1, 0}}},           // terms in another order: packed
      {{7, 6, 40}, {40, 33, 7}, {{}, {}, {0, 2}, {2, 0}}},
      {{5, 40, 6, 7}, {9, 40, 8}, {{}, {}, {1}, {1}}},  // several free axes on both sides
      {{100, 2, 50}, {50, 30}, {{}, {}, {2}, {0}}},
      {{16, 8, 12}, {12, 16, 40}, {{0}, {1}, {2}, {0}}},
  };
  for (const Case& c : cases) {
    const Tensor a = numbers(c.a, 1), b = numbers(c.b, 2);
    for (int count : {1, 2, 3}) {
      const Threads scope(count);
      const Tensor got = dot_general(a, b, c.attrs);
      expect_near(got, naive(a, b, c.attrs), 1e-4, to_string(c.a) + to_string(c.b) + " " + last_kernel());
    }
  }
}

TEST(DotGeneral, BroadcastOperandIsReadInPlace) {
  const Tensor a = numbers({2, 1, 20, 30}, 1), b = numbers({5, 30, 40}, 2);
  const Tensor got = matmul(a, b);
  EXPECT_EQ(got.shape(), (Shape{2, 5, 20, 40}));
  EXPECT_STREQ(last_kernel(), "onednn.matmul");
  const auto x = wide(a), y = wide(b);
  std::vector<double> wanted;
  for (size_t i = 0; i < 2; ++i)
    for (size_t j = 0; j < 5; ++j)
      for (size_t m = 0; m < 20; ++m)
        for (size_t n = 0; n < 40; ++n) {
          double sum = 0;
          for (size_t k = 0; k < 30; ++k) sum += x[(i * 20 + m) * 30 + k] * y[(j * 30 + k) * 40 + n];
          wanted.push_back(sum);
        }
  expect_near(got, wanted, 1e-4, "broadcast");
}

TEST(DotGeneral, EmptyOperands) {
  EXPECT_EQ(matmul(zeros({0, 4}), zeros({4, 5})).shape(), (Shape{0, 5}));
  EXPECT_EQ(matmul(zeros({3, 0}), zeros({0, 2})).to_vector<float>(), std::vector<float>(6, 0.0F));
  EXPECT_EQ(dense(zeros({2, 0}), zeros({0, 2}), Tensor::of<float>({1, 2})).to_vector<float>(),
            (std::vector<float>{1, 2, 1, 2}));
}

TEST(SmallContraction, TakesAFewRowsTimesAMatrixThatLiesRowByRow) {
  const auto taken = [](const Shape& a, const Shape& b, MatmulOptions options = {}) {
    (void)matmul(numbers(a, 1), numbers(b, 2), options);
    return std::string_view(last_kernel()) == "cpu.small_contraction";
  };
  EXPECT_TRUE(taken({1, 40}, {40, 160}));
  EXPECT_TRUE(taken({16, 16}, {16, 32}));
  EXPECT_FALSE(taken({17, 16}, {16, 30})) << "many rows";
  EXPECT_FALSE(taken({1, 40}, {160, 40}, {false, true})) << "columns lie apart";
  EXPECT_FALSE(taken({1, 64}, {64, 160})) << "more than 8192 products";
}

TEST(SmallContraction, TermsAscendInFma) {
  const Tensor a = numbers({5, 13}, 1), b = numbers({13, 19}, 2);
  const Tensor got = matmul(a, b);
  EXPECT_STREQ(last_kernel(), "cpu.small_contraction");
  const auto x = a.to_vector<float>(), y = b.to_vector<float>(), z = got.to_vector<float>();
  for (size_t i = 0; i < 5; ++i) {
    for (size_t j = 0; j < 19; ++j) {
      float sum = 0;
      for (size_t k = 0; k < 13; ++k) sum = std::fma(x[i * 13 + k], y[k * 19 + j], sum);
      EXPECT_EQ(z[i * 19 + j], sum);
    }
  }
}

TEST(SmallContraction, OneRowThroughSeveralPanelsHasTheBitsOfTwoRows) {
  for (const DType dtype : {f32, f64, i8, i32}) {
    for (const int64_t n : {7, 16, 31, 64, 100, 160, 272, 300}) {
      const auto drawn = [&](const Shape& shape, uint32_t seed) { return cast(numbers(shape, seed) * 9.0F, dtype); };
      const Tensor a = drawn({2, 13}, 1), b = drawn({13, n}, 2), bias = drawn({n}, 3);
      const Tensor row = reshape(a[0], {1, 13});
      const Tensor one = dense(row, b, bias), two = dense(a, b, bias);
      EXPECT_STREQ(last_kernel(), "cpu.small_contraction");
      EXPECT_EQ(std::memcmp(one.raw(), two.raw(), one.bytes()), 0) << to_string(two.type());
      const Tensor plain = matmul(row, b), both = matmul(a, b);
      EXPECT_EQ(std::memcmp(plain.raw(), both.raw(), plain.bytes()), 0) << to_string(both.type());
    }
  }
}

TEST(SmallContraction, F64AndIntegersOfAnySize) {
  const auto ints = [](const Shape& shape, int step) {
    std::vector<int32_t> values(static_cast<size_t>(shape.count()));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<int32_t>(i * static_cast<size_t>(step) % 101) - 50;
    return Tensor::from(values, shape);
  };
  const Tensor a = ints({35, 70}, 7), b = ints({33, 70}, 11);
  const auto x = a.to_vector<int32_t>(), y = b.to_vector<int32_t>();
  for (DType dtype : {i32, i64, f64}) {
    const Tensor got = matmul(cast(a, dtype), cast(b, dtype), {.transpose_b = true});
    EXPECT_EQ(got.dtype(), dtype);
    const auto z = cast(got, i64).to_vector<int64_t>();
    for (size_t i = 0; i < 35; ++i) {
      for (size_t j = 0; j < 33; ++j) {
        int64_t sum = 0;
        for (size_t k = 0; k < 70; ++k) sum += x[i * 70 + k] * y[j * 70 + k];
        ASSERT_EQ(z[i * 33 + j], sum) << name(dtype);
      }
    }
  }
  const Tensor bytes = Tensor::of<int8_t>({100, 100});
  EXPECT_EQ(matmul(bytes, bytes).item<int>(), static_cast<int8_t>(20000));  // wraps
}

TEST(Matmul, HalfPrecisionRoundsOnce) {
  const Tensor a = numbers({40, 50}, 1), b = numbers({50, 60}, 2);
  for (DType dtype : {bf16, f16}) {
    const Tensor x = cast(a, dtype), y = cast(b, dtype);
    const Tensor got = matmul(x, y), wanted = cast(matmul(cast(x, f32), cast(y, f32)), dtype);
    EXPECT_TRUE(same_bits(got, wanted)) << name(dtype);
  }
}

TEST(Dense, BiasAndLeadingAxes) {
  for (const Shape& shape : {Shape{784}, Shape{1, 784}, Shape{33, 784}, Shape{2, 3, 784}, Shape{256, 784}}) {
    const Tensor x = numbers(shape, 1), w = numbers({784, 50}, 2), bias = numbers({50}, 3);
    std::vector<double> wanted = naive(x, w, dense_as_dot(x.rank()));
    for (size_t i = 0; i < wanted.size(); ++i) wanted[i] += wide(bias)[i % 50];
    expect_near(dense(x, w, bias), wanted, 3e-4, to_string(shape));
  }
}

TEST(Matmul, NumpysRules) {
  struct Case {
    Shape a, b, result;
    MatmulOptions options;
  };
  const Case cases[] = {{{3, 4}, {4, 5}, {3, 5}, {}},
                        {{4}, {4, 5}, {5}, {}},
                        {{3, 4}, {4}, {3}, {}},
                        {{4}, {4}, {}, {}},
                        {{2, 3, 4}, {4, 5}, {2, 3, 5}, {}},
                        {{3, 4}, {2, 4, 5}, {2, 3, 5}, {}},
                        {{4}, {2, 4, 5}, {2, 5}, {}},
                        {{2, 3, 4}, {4}, {2, 3}, {}},
                        {{2, 1, 3, 4}, {6, 4, 5}, {2, 6, 3, 5}, {}},
                        {{4, 3}, {4, 5}, {3, 5}, {true, false}},
                        {{2, 4, 3}, {2, 5, 4}, {2, 3, 5}, {true, true}},
                        {{7, 3, 4}, {1, 4, 5}, {7, 3, 5}, {}},
                        {{3, 4}, {1, 5, 4}, {1, 3, 5}, {false, true}}};
  for (const Case& c : cases) {
    const Tensor got = matmul(ones(c.a), ones(c.b), c.options);
    EXPECT_EQ(got.shape(), c.result) << to_string(c.a) << to_string(c.b);
    for (float v : got.to_vector<float>()) EXPECT_EQ(v, 4);
  }
}

TEST(Reproducible, SameBitsForAnyThreadCount) {
  const ReproducibleThreads scope;
  struct Case {
    Shape a, b;
    MatmulOptions options;
  };
  const Case cases[] = {{{256, 784}, {784, 512}, {}},
                        {{256, 784}, {256, 512}, {true, false}},
                        {{1, 4096}, {4096, 1024}, {}},
                        {{300, 200}, {100, 200}, {false, true}},
                        {{3, 130, 140}, {3, 140, 150}, {}}};
  for (const Case& c : cases) {
    const Tensor a = numbers(c.a, 1), b = numbers(c.b, 2);
    Tensor first;
    for (int count : {1, 2, 3, 7}) {
      const Threads team(count);
      const Tensor got = matmul(a, b, c.options);
      if (!first.defined()) first = got;
      EXPECT_TRUE(same_bits(first, got)) << to_string(c.a) << " with " << count << " threads";
    }
  }
}

TEST(Errors, SizesThatDoNotFitSayWhichAxes) {
  const auto message = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument);
      return error.what();
    }
    return "no error";
  };
  const std::string text = message([] { matmul(zeros({128, 784}), zeros({512, 10})); });
  EXPECT_NE(text.find("shape mismatch in dot_general"), std::string::npos) << text;
  EXPECT_NE(text.find("x: f32[128,784]   w: f32[512,10]"), std::string::npos) << text;
  EXPECT_NE(text.find("contracting sizes differ: x axis 1 is 784, w axis 0 is 512"), std::string::npos) << text;
  EXPECT_NE(text.find("fix: the layer before gives 784 features; build w as [784, n]"), std::string::npos) << text;
  EXPECT_NE(message([] { matmul(zeros({2, 3, 4}), zeros({5, 4, 6})); }).find("do not broadcast"), std::string::npos);
  EXPECT_NE(message([] { matmul(zeros({}), zeros({4, 6})); }).find("at least one axis"), std::string::npos);
  EXPECT_NE(message([] { dense(zeros({2, 4}), zeros({5, 6})); }).find("build w as [4, n]"), std::string::npos);
  EXPECT_NE(message([] { dense(zeros({2, 5}), zeros({5, 6}), zeros({5})); }).find("bias must be [6]"),
            std::string::npos);
  EXPECT_NE(message([] { tensordot(zeros({2, 5}), zeros({5, 6}), 3); }).find("exceeds the rank"), std::string::npos);
  EXPECT_NE(message([] { dot_general(zeros({2, 5}), zeros({5, 6}), {{}, {}, {1, 1}, {0, 1}}); }).find("listed twice"),
            std::string::npos);
}

TEST(Contraction, FewRowsTimesATransposedMatrixAreItsRowsMultipliedInOrder) {
  for (const auto& [m, n, k] : {std::array{16, 64, 256}, {33, 130, 517}, {128, 65, 300}}) {
    const Tensor a = numbers({m, k}), b = numbers({n, k}, 2);
    const Tensor lying = dot_general(a, b, DotAttrs{{}, {}, {1}, {1}});
    EXPECT_STREQ(last_kernel(), "onednn.matmul_transposed");
    const Tensor plain = dot_general(a, transpose(b, {1, 0}), DotAttrs{{}, {}, {1}, {0}});
    EXPECT_STREQ(last_kernel(), "onednn.matmul");
    EXPECT_EQ(lying.to_vector<float>(), plain.to_vector<float>());
  }
  (void)dot_general(numbers({15, 256}), numbers({64, 256}), DotAttrs{{}, {}, {1}, {1}});
  EXPECT_STREQ(last_kernel(), "onednn.matmul");
}

TEST(DotGeneral, ARepeatedOperandIsMultipliedAsItsDenseCopy) {
  const auto drawn = [](const Shape& shape) { return random::normal(random::state(1), shape).second; };
  const Tensor x = drawn({6, 31});
  for (const Tensor& repeated : {broadcast_to(full({}, 2, f32), {31, 31}), broadcast_to(drawn({31}), {31, 31})}) {
    for (const int64_t axis : {0, 1}) {
      const DotAttrs attrs{{}, {}, {1}, {axis}};
      EXPECT_TRUE(same_bits(dot_general(x, repeated, attrs), dot_general(x, repeated.dense(), attrs))) << axis;
    }
  }
}

}  // namespace
}  // namespace hone
