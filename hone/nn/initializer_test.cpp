#include "hone/nn/initializer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "hone/base/error.h"
#include "hone/ops/contraction.h"
#include "hone/ops/creation.h"
#include "hone/ops/movement.h"

namespace hone::nn {
namespace {

struct Statistics {
  double mean, stddev, low, high;
};
Statistics statistics(const Tensor& x) {
  Statistics s{0, 0, INFINITY, -INFINITY};
  const std::vector<float> values = x.to_vector<float>();
  const auto n = static_cast<double>(values.size());
  for (const double v : values) s.mean += v / n, s.low = std::min(s.low, v), s.high = std::max(s.high, v);
  for (const double v : values) s.stddev += (v - s.mean) * (v - s.mean) / n;
  s.stddev = std::sqrt(s.stddev);
  return s;
}

TEST(Initializer, HasTheSpreadOfItsFans) {
  struct Case {
    Initializer initializer;
    Shape shape;
    double stddev, limit;
  };
  // A kernel [3, 3, 20, 30]: fan_in 180, fan_out 270.
  const Shape kernel{3, 3, 20, 30}, matrix{100, 60};
  const auto uniform = [](double variance) { return std::sqrt(3 * variance); };
  const auto cut = [](double variance) { return 2 * std::sqrt(variance) / 0.87962566; };
  const Case cases[] = {
      {GlorotUniform(), kernel, std::sqrt(2 / 450.0), uniform(2 / 450.0)},
      {GlorotUniform(), matrix, std::sqrt(2 / 160.0), uniform(2 / 160.0)},
      {GlorotNormal(), kernel, std::sqrt(2 / 450.0), cut(2 / 450.0)},
      {HeUniform(), kernel, std::sqrt(2 / 180.0), uniform(2 / 180.0)},
      {HeNormal(), kernel, std::sqrt(2 / 180.0), cut(2 / 180.0)},
      {LecunNormal(), kernel, std::sqrt(1 / 180.0), cut(1 / 180.0)},
      {RandomUniform(), kernel, 0.1 / std::sqrt(12), 0.05},
      {RandomNormal(), kernel, 0.05, 0.05 * 5.5},
  };
  set_random_seed(1);
  for (const Case& c : cases) {
    const Statistics s = statistics(c.initializer.make(c.shape, f32));
    EXPECT_NEAR(s.mean, 0, 0.05 * c.stddev) << c.initializer.name;
    EXPECT_NEAR(s.stddev, c.stddev, 0.05 * c.stddev) << c.initializer.name;
    EXPECT_LE(s.high, c.limit * (1 + 1e-6)) << c.initializer.name;
    EXPECT_GE(s.low, -c.limit * (1 + 1e-6)) << c.initializer.name;
    EXPECT_GT(s.high, 0.6 * c.limit) << c.initializer.name;
  }
}

TEST(Initializer, OrthogonalHasOrthonormalRowsOrColumns) {
  for (const Shape& shape : {Shape{6, 6}, Shape{4, 9}, Shape{9, 4}, Shape{3, 2, 4}}) {
    const int64_t columns = shape.dim(-1).number(), rows = shape.count() / columns;
    const Tensor q = reshape(Orthogonal().make(shape, f32), {rows, columns});
    const Tensor product = rows < columns ? matmul(q, q, {.transpose_b = true}) : matmul(q, q, {.transpose_a = true});
    const std::vector<float> got = product.to_vector<float>(),
                             expected = eye(std::min(rows, columns)).to_vector<float>();
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5) << to_string(shape);
  }
  EXPECT_THROW(Orthogonal().make({3}, f32), Error);
}

TEST(Initializer, ConstantsAreConstant) {
  EXPECT_EQ(Zeros().make({2}, f32).to_vector<float>(), (std::vector<float>{0, 0}));
  EXPECT_EQ(Ones().make({2}, f64).to_vector<double>(), (std::vector<double>{1, 1}));
  EXPECT_EQ(Constant(2.5).make({1}, f32).to_vector<float>(), (std::vector<float>{2.5}));
}

TEST(Initializer, SeedGivesTheSameValuesAndEachCallItsOwn) {
  set_random_seed(3);
  const std::vector<float> first = GlorotUniform().make({4, 4}, f32).to_vector<float>(),
                           second = GlorotUniform().make({4, 4}, f32).to_vector<float>();
  set_random_seed(3);
  EXPECT_EQ(GlorotUniform().make({4, 4}, f32).to_vector<float>(), first);
  EXPECT_NE(first, second);
  set_random_seed(4);
  EXPECT_NE(GlorotUniform().make({4, 4}, f32).to_vector<float>(), first);
}

TEST(Initializer, NamesGiveThemBack) {
  const Initializer list[] = {GlorotUniform(),      GlorotNormal(),          HeUniform(),  HeNormal(), LecunNormal(),
                              RandomUniform(-1, 2), RandomNormal(0.5, 1e-3), Orthogonal(), Zeros(),    Ones(),
                              Constant(-0.25)};
  for (const Initializer& each : list) {
    set_random_seed(9);
    const std::vector<float> expected = each.make({3, 2}, f32).to_vector<float>();
    set_random_seed(9);
    const Initializer again = initializer(each.name);
    EXPECT_EQ(again.name, each.name);
    EXPECT_EQ(again.make({3, 2}, f32).to_vector<float>(), expected) << each.name;
  }
  EXPECT_EQ(Initializer("random_normal").name, RandomNormal().name);
  for (const char* bad : {"glorot_unifrom", "constant(x)", "constant(1", "random_uniform(1)", "zeros(1)", ""})
    EXPECT_THROW(initializer(bad), Error) << bad;
  try {
    initializer("glorot_unifrom");
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'glorot_uniform'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace hone::nn
