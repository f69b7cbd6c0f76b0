// Special values of the maths functions, and pairs of the binary ones. Bounds over all f32: backend/cpu/isa_test.cpp.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "hone/math/functors.h"

namespace hone::math::HONE_LEVEL {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kTiny = std::numeric_limits<float>::denorm_min();

bool same(float a, float b) { return (a != a && b != b) || (a == b && std::signbit(a) == std::signbit(b)); }

struct Case {
  const char* name;
  Scalar<float> (*function)(Scalar<float>);
  float x, expected;
};
using S = Scalar<float>;

const Case kCases[] = {
    {"exp", exp<S>, 0, 1},
    {"exp", exp<S>, -0.0F, 1},
    {"exp", exp<S>, -kInf, 0},
    {"exp", exp<S>, kInf, kInf},
    {"exp", exp<S>, kNan, kNan},
    {"exp", exp<S>, 88.75F, kInf},
    {"exp", exp<S>, -103.9F, kTiny},
    {"exp", exp<S>, -104.5F, 0},
    {"exp", exp<S>, 1e30F, kInf},
    {"exp", exp<S>, -1e30F, 0},
    {"exp", exp<S>, kTiny, 1},
    {"expm1", expm1<S>, -0.0F, -0.0F},
    {"expm1", expm1<S>, -kInf, -1},
    {"expm1", expm1<S>, kInf, kInf},
    {"expm1", expm1<S>, kTiny, kTiny},
    {"expm1", expm1<S>, kNan, kNan},
    {"expm1", expm1<S>, -100, -1},
    {"log", log<S>, 1, 0},
    {"log", log<S>, 0, -kInf},
    {"log", log<S>, -0.0F, -kInf},
    {"log", log<S>, -1, kNan},
    {"log", log<S>, kInf, kInf},
    {"log", log<S>, -kInf, kNan},
    {"log", log<S>, kNan, kNan},
    {"log", log<S>, kTiny, -103.278929903F},
    {"log1p", log1p<S>, -0.0F, -0.0F},
    {"log1p", log1p<S>, -1, -kInf},
    {"log1p", log1p<S>, -1.5F, kNan},
    {"log1p", log1p<S>, kInf, kInf},
    {"log1p", log1p<S>, kTiny, kTiny},
    {"log1p", log1p<S>, kNan, kNan},
    {"log1p", log1p<S>, -kInf, kNan},
    {"tanh", tanh<S>, -0.0F, -0.0F},
    {"tanh", tanh<S>, kInf, 1},
    {"tanh", tanh<S>, -kInf, -1},
    {"tanh", tanh<S>, kTiny, kTiny},
    {"tanh", tanh<S>, kNan, kNan},
    {"tanh", tanh<S>, 20, 1},
    {"logistic", logistic<S>, 0, 0.5F},
    {"logistic", logistic<S>, kInf, 1},
    {"logistic", logistic<S>, -kInf, 0},
    {"logistic", logistic<S>, kNan, kNan},
    {"logistic", logistic<S>, -103.9F, kTiny},
    {"erf", erf<S>, -0.0F, -0.0F},
    {"erf", erf<S>, kInf, 1},
    {"erf", erf<S>, -kInf, -1},
    {"erf", erf<S>, kNan, kNan},
    {"sin", sin<S>, -0.0F, -0.0F},
    {"sin", sin<S>, kInf, kNan},
    {"sin", sin<S>, -kInf, kNan},
    {"sin", sin<S>, kNan, kNan},
    {"sin", sin<S>, kTiny, kTiny},
    {"sin", sin<S>, 0x1.fffffep127F, -0.521876514F},
    {"cos", cos<S>, -0.0F, 1},
    {"cos", cos<S>, kInf, kNan},
    {"cos", cos<S>, kTiny, 1},
    {"cos", cos<S>, 0x1.fffffep127F, 0.853021033F},
    {"tan", tan<S>, -0.0F, -0.0F},
    {"tan", tan<S>, kInf, kNan},
    {"tan", tan<S>, kTiny, kTiny},
    {"cbrt", cbrt<S>, -0.0F, -0.0F},
    {"cbrt", cbrt<S>, -27, -3},
    {"cbrt", cbrt<S>, kInf, kInf},
    {"cbrt", cbrt<S>, -kInf, -kInf},
    {"cbrt", cbrt<S>, kNan, kNan},
    {"cbrt", cbrt<S>, 0x1p-147F, 0x1p-49F},
    {"rsqrt", rsqrt<S>, 0, kInf},
    {"rsqrt", rsqrt<S>, -0.0F, -kInf},
    {"rsqrt", rsqrt<S>, kInf, 0},
    {"rsqrt", rsqrt<S>, -1, kNan},
    {"rsqrt", rsqrt<S>, 0.25F, 2},
    {"erf_inv", erf_inv<S>, -0.0F, -0.0F},
    {"erf_inv", erf_inv<S>, 1, kInf},
    {"erf_inv", erf_inv<S>, -1, -kInf},
    {"erf_inv", erf_inv<S>, 1.5F, kNan},
    {"erf_inv", erf_inv<S>, kNan, kNan},
    {"round_afz", RoundNearestAfz::apply<S>, 0.5F, 1},
    {"round_afz", RoundNearestAfz::apply<S>, -2.5F, -3},
    {"round_afz", RoundNearestAfz::apply<S>, 0.49999997F, 0},
    {"round_afz", RoundNearestAfz::apply<S>, -0.25F, -0.0F},
    {"round_afz", RoundNearestAfz::apply<S>, 8388609, 8388609},
    {"round_afz", RoundNearestAfz::apply<S>, 4194304.5F, 4194305},
    {"round_even", RoundNearestEven::apply<S>, 2.5F, 2},
    {"round_even", RoundNearestEven::apply<S>, -0.5F, -0.0F},
    {"sign", Sign::apply<S>, -0.0F, -0.0F},
    {"sign", Sign::apply<S>, -kTiny, -1},
    {"sign", Sign::apply<S>, kNan, kNan},
};

TEST(Functions, SpecialValues) {
  for (const Case& c : kCases) {
    const float y = c.function(c.x).value;
    EXPECT_TRUE(same(y, c.expected)) << c.name << "(" << c.x << ") = " << y << ", expected " << c.expected;
  }
}

const float kPairs[] = {
    0,         -0.0F, 1,      -1,           0.5F,         -0.5F,  2,      -2,       3,          -3,
    2.5F,      -2.5F, kInf,   -kInf,        kNan,         kTiny,  -kTiny, 0x1p127F, 16777216,   16777216.0F,
    -16777215, 1e30F, -1e30F, 1 + 0x1p-23F, 1 - 0x1p-24F, 1e-30F, 149,    -149,     33554432.0F};

double ulps(float y, double exact) {
  const auto rounded = static_cast<float>(exact);
  if (!std::isfinite(y) || !std::isfinite(rounded) || rounded == 0) return same(y, rounded) ? 0 : 1e9;
  const float next = std::nextafter(std::fabs(rounded), kInf);
  return std::fabs(y - exact) / (std::isinf(next) ? 0x1p104 : static_cast<double>(next) - std::fabs(rounded));
}

template <class F, class R>
void check_pairs(const char* name, F function, R reference) {
  for (const float a : kPairs) {
    for (const float b : kPairs) {
      const float y = function(S(a), S(b)).value;
      EXPECT_LE(ulps(y, reference(a, b)), 0.51) << name << "(" << a << ", " << b << ") = " << y;
    }
  }
  uint64_t state = 7;
  double worst = 0;
  for (int i = 0; i < 300000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto a = std::bit_cast<float>(static_cast<uint32_t>(state >> 32));
    state = state * 6364136223846793005U + 1442695040888963407U;
    // Half of the exponents near those where the result is finite.
    float b = std::bit_cast<float>(static_cast<uint32_t>(state >> 32));
    if (i % 2 == 0) b = static_cast<float>(static_cast<int32_t>(state >> 32)) * 0x1p-26F;
    if (std::isnan(a) || std::isnan(b)) continue;
    worst = std::max(worst, ulps(function(S(a), S(b)).value, reference(a, b)));
  }
  EXPECT_LE(worst, 0.51) << name;
  EXPECT_GE(worst, 0.3) << name << ": the sample finds no rounding at all";
}

TEST(Functions, PowOfSpecialAndRandomPairs) {
  check_pairs("pow", [](S a, S b) { return pow(a, b); }, [](double a, double b) { return std::pow(a, b); });
}
TEST(Functions, Atan2OfSpecialAndRandomPairs) {
  check_pairs("atan2", [](S a, S b) { return atan2(a, b); }, [](double a, double b) { return std::atan2(a, b); });
}

TEST(Functions, PowHardCases) {
  const struct {
    float x, y, expected;
  } cases[] = {{2, -149, kTiny},       {2, -150, 0},         {2, 128, kInf},
               {2, 127, 0x1p127F},     {-2, 3, -8},          {-2, -3, -0.125F},
               {3, 20, 3486784401.0F}, {10, 10, 1e10F},      {-1, kInf, 1},
               {-1, 16777216.0F, 1},   {1, kNan, 1},         {kNan, 0, 1},
               {-0.0F, -3, -kInf},     {-0.0F, -2, kInf},    {-kInf, 3, -kInf},
               {-kInf, -3, -0.0F},     {-8, 1 / 3.0F, kNan}, {0.9999999404F, 1e9F, 1.3037e-26F}};
  for (const auto& c : cases) {
    const float y = pow(S(c.x), S(c.y)).value;
    if (c.y == 1e9F)
      EXPECT_LE(ulps(y, std::pow(static_cast<double>(c.x), static_cast<double>(c.y))), 0.51);
    else
      EXPECT_TRUE(same(y, c.expected)) << c.x << "^" << c.y << " = " << y << ", expected " << c.expected;
  }
}

TEST(Functions, LargeArgumentsAreReducedExactly) {
  for (float x = 1e5F; x < kInf; x *= 1.37F) {
    EXPECT_LE(ulps(sin(S(x)).value, std::sin(static_cast<double>(x))), 2) << x;
    EXPECT_LE(ulps(cos(S(-x)).value, std::cos(static_cast<double>(x))), 2) << x;
    EXPECT_LE(ulps(tan(S(x)).value, std::tan(static_cast<double>(x))), 0.51) << x;
  }
  EXPECT_LE(ulps(cos(S(16367173.0F * 0x1p72F)).value, std::cos(16367173.0 * 0x1p72)),
            2);  // nearest to a multiple of pi/2
}

TEST(Functions, DoubleErfInvInvertsErf) {
  for (double x : {-0.999999999999, -0.7, -1e-3, 1e-300, 1e-9, 0.3, 0.5, 0.9, 0.99, 0.9999999, 1 - 0x1p-53}) {
    const double y = erf_inv(Scalar<double>(x)).value;
    if (std::fabs(x) < 0.5)
      EXPECT_NEAR(std::erf(y), x, 4e-16 * std::fabs(x));
    else
      EXPECT_NEAR(std::erfc(std::fabs(y)), 1 - std::fabs(x), 4e-14 * (1 - std::fabs(x))) << x;
    EXPECT_EQ(std::signbit(y), std::signbit(x));
  }
}

}  // namespace
}  // namespace hone::math::HONE_LEVEL
