// Functors on integers and bool, composites against their formulas, reduce_precision.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "hone/math/composites.h"

namespace hone::math::HONE_LEVEL {
namespace {

template <class T>
class Integers : public testing::Test {};
using IntegerTypes = testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(Integers, IntegerTypes);

template <class F, class T, class... A>
T call(T a, A... more) {
  return F::apply(Scalar<T>(a), Scalar<T>(static_cast<T>(more))...).value;
}

TYPED_TEST(Integers, WrapOnOverflow) {
  using T = TypeParam;
  constexpr T kMin = std::numeric_limits<T>::min(), kMax = std::numeric_limits<T>::max();
  EXPECT_EQ((call<Add, T>(kMax, 1)), kMin);
  EXPECT_EQ((call<Subtract, T>(kMin, 1)), kMax);
  EXPECT_EQ((call<Negate, T>(1)), static_cast<T>(-1));
  EXPECT_EQ((call<Multiply, T>(kMax, kMax)), 1);
  EXPECT_EQ((call<Abs, T>(kMin)), kMin);
  if constexpr (std::is_signed_v<T>) {
    EXPECT_EQ((call<Negate, T>(kMin)), kMin);
    EXPECT_EQ((call<Divide, T>(kMin, -1)), kMin);
    EXPECT_EQ((call<Remainder, T>(kMin, -1)), 0);
  }
}

TYPED_TEST(Integers, DivideAndRemainderAreDefinedEverywhere) {
  using T = TypeParam;
  EXPECT_EQ((call<Divide, T>(7, 0)), static_cast<T>(-1));
  EXPECT_EQ((call<Remainder, T>(7, 0)), 7);
  EXPECT_EQ((call<Divide, T>(7, 2)), 3);
  if constexpr (std::is_signed_v<T>) {
    EXPECT_EQ((call<Divide, T>(-7, 2)), -3);
    EXPECT_EQ((call<Remainder, T>(-7, 2)), -1);
    EXPECT_EQ((call<Remainder, T>(7, -2)), 1);
  }
}

TYPED_TEST(Integers, PowerSquaresRepeatedly) {
  using T = TypeParam;
  EXPECT_EQ((call<Power, T>(3, 4)), 81);
  EXPECT_EQ((call<Power, T>(0, 0)), 1);
  EXPECT_EQ((call<Power, T>(2, 8 * static_cast<int>(sizeof(T)))), 0);
  EXPECT_EQ((call<Power, T>(1, std::numeric_limits<T>::max())), 1);
  if constexpr (std::is_signed_v<T>) {
    EXPECT_EQ((call<Power, T>(2, -1)), 0);
    EXPECT_EQ((call<Power, T>(1, -5)), 1);
    EXPECT_EQ((call<Power, T>(-1, -5)), -1);
    EXPECT_EQ((call<Power, T>(-1, -4)), 1);
    EXPECT_EQ((call<Power, T>(-3, 3)), -27);
  }
}

TYPED_TEST(Integers, ShiftsBeyondTheWidthMoveEverythingOut) {
  using T = TypeParam;
  constexpr int kBits = 8 * sizeof(T);
  EXPECT_EQ((call<ShiftLeft, T>(1, kBits - 1)), static_cast<T>(std::make_unsigned_t<T>(1) << (kBits - 1)));
  EXPECT_EQ((call<ShiftLeft, T>(1, kBits)), 0);
  EXPECT_EQ((call<ShiftLeft, T>(1, -1)), 0);
  const auto top = static_cast<T>(std::make_unsigned_t<T>(1) << (kBits - 1));
  EXPECT_EQ((call<ShiftRightLogical, T>(top, kBits - 1)), 1);
  EXPECT_EQ((call<ShiftRightLogical, T>(top, kBits)), 0);
  EXPECT_EQ((call<ShiftRightArithmetic, T>(top, kBits)), static_cast<T>(-1));
  EXPECT_EQ((call<ShiftRightArithmetic, T>(64, 3)), 8);
}

TYPED_TEST(Integers, SignClampAndBits) {
  using T = TypeParam;
  EXPECT_EQ((call<Sign, T>(0)), 0);
  EXPECT_EQ((call<Sign, T>(5)), 1);
  EXPECT_EQ((call<Sign, T>(static_cast<T>(-5))), std::is_signed_v<T> ? static_cast<T>(-1) : T{1});
  EXPECT_EQ((call<Clamp, T>(2, 9, 5)), 5);
  EXPECT_EQ((call<Clamp, T>(2, 1, 5)), 2);
  EXPECT_EQ((call<Not, T>(0)), static_cast<T>(-1));
  EXPECT_EQ((call<Xor, T>(6, 3)), 5);
}

TEST(Bools, AreLogical) {
  for (const bool a : {false, true}) {
    EXPECT_EQ(Not::apply(Scalar<bool>(a)).value, !a);
    for (const bool b : {false, true}) {
      EXPECT_EQ((call<Add, bool>(a, b)), a || b);
      EXPECT_EQ((call<Multiply, bool>(a, b)), a && b);
      EXPECT_EQ((call<Maximum, bool>(a, b)), a || b);
      EXPECT_EQ((call<Minimum, bool>(a, b)), a && b);
      EXPECT_EQ((call<Xor, bool>(a, b)), a != b);
      EXPECT_EQ(Less::apply(Scalar<bool>(a), Scalar<bool>(b)).on, !a && b);
    }
  }
}

using S = Scalar<float>;
S at(float x) { return x; }

TEST(Floats, NanPassesThroughComparisonLikeFunctors) {
  const S nan = NAN;
  for (const float y :
       {Maximum::apply(nan, at(1)).value, Minimum::apply(at(1), nan).value, Relu::apply(nan).value,
        Relu6::apply(nan).value, Clamp::apply(at(0), nan, at(1)).value, Clamp::apply(nan, at(0), at(1)).value,
        Hardswish::apply(nan).value, Sign::apply(nan).value, Softplus::apply(nan).value}) {
    EXPECT_TRUE(std::isnan(y));
  }
  EXPECT_EQ(ReluGrad::apply(nan, at(3)).value, 0);
  EXPECT_FALSE(IsFinite::apply(nan).on);
  EXPECT_TRUE(NotEqual::apply(nan, nan).on);
}

TEST(Floats, RemainderHasTheDividendsSign) {
  EXPECT_EQ((call<Remainder, float>(-7, 2)), -1);
  EXPECT_EQ((call<Remainder, float>(5.5F, -2)), 1.5F);
  EXPECT_TRUE(std::isnan(call<Remainder, float>(1, 0)));
  EXPECT_EQ((call<Remainder, float>(3, INFINITY)), 3);
}

TEST(Composites, EqualTheirPrimitivesBitForBit) {
  for (float v = -9; v < 9; v += 0.0371F) {
    const S x = v, one = 1;
    const S phi = Multiply::apply(at(0.5F), Add::apply(Erf::apply(Multiply::apply(x, at(0.70710678F))), one));
    EXPECT_EQ(Gelu::apply(x).value, Multiply::apply(Multiply::apply(at(0.5F), x),
                                                    Add::apply(Erf::apply(Multiply::apply(x, at(0.70710678F))), one))
                                        .value);
    const S density = Multiply::apply(Exp::apply(Multiply::apply(Multiply::apply(at(-0.5F), x), x)), at(0.3989423F));
    EXPECT_EQ(GeluGrad::apply(x, at(2)).value,
              Multiply::apply(at(2), Add::apply(phi, Multiply::apply(x, density))).value);
    EXPECT_EQ(Silu::apply(x).value, Multiply::apply(x, Logistic::apply(x)).value);
    EXPECT_EQ(Softplus::apply(x).value,
              Add::apply(Log1p::apply(Exp::apply(Negate::apply(Abs::apply(x)))), Maximum::apply(x, at(0))).value);
    EXPECT_EQ(Hardswish::apply(x).value,
              Divide::apply(Multiply::apply(x, Relu6::apply(Add::apply(x, at(3)))), at(6)).value);
  }
}

TEST(Composites, GradientsAreDerivatives) {
  using D = Scalar<double>;
  const struct {
    const char* name;
    D (*function)(D);
    D (*gradient)(D, D);
  } cases[] = {{"gelu", Gelu::apply<D>, GeluGrad::apply<D>},
               {"silu", Silu::apply<D>, SiluGrad::apply<D>},
               {"relu", Relu::apply<D>, ReluGrad::apply<D>},
               {"relu6", Relu6::apply<D>, Relu6Grad::apply<D>}};
  for (const auto& c : cases) {
    for (double x = -7.93; x < 8; x += 0.17) {
      const double h = 1e-5, slope = (c.function(x + h).value - c.function(x - h).value) / (2 * h);
      EXPECT_NEAR(c.gradient(x, 3.0).value, 3 * slope, 1e-8) << c.name << " at " << x;
    }
  }
  for (double x = -3; x < 3; x += 0.17) {
    const double t = std::tanh(x), s = 1 / (1 + std::exp(-x));
    EXPECT_NEAR(TanhGrad::apply(D(t), D(2)).value, 2 / (std::cosh(x) * std::cosh(x)), 1e-14);
    EXPECT_NEAR(LogisticGrad::apply(D(s), D(2)).value, 2 * s * s * std::exp(-x), 1e-14);
  }
}

TEST(Composites, LeakyReluAndGeluTanh) {
  const double alpha[] = {0.25, 0};
  EXPECT_EQ(LeakyRelu::apply(alpha, at(-4)).value, -1);
  EXPECT_EQ(LeakyRelu::apply(alpha, at(4)).value, 4);
  for (double x = -5; x < 5; x += 0.3) {
    EXPECT_NEAR(GeluTanh::apply(Scalar<double>(x)).value,
                x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * std::pow(x, 3)))), 1e-14);
  }
}

TEST(ReducePrecision, RoundsOverflowsAndFlushes) {
  const struct {
    double exponent, mantissa;
    float x, expected;
  } cases[] = {{8, 23, 0x1.234568p-140F, 0x1.234568p-140F},
               {8, 7, 1 + 0x1p-8F, 1},
               {8, 7, 1 + 0x1.8p-7F, 1 + 0x1p-6F},
               {5, 10, 65504, 65504},
               {5, 10, 65520, INFINITY},
               {5, 10, -65520, -INFINITY},
               {5, 10, 0x1p-14F, 0x1p-14F},
               {5, 10, -0x1p-15F, -0.0F},
               {5, 10, INFINITY, INFINITY},
               {4, 0, 1.5F, 2},
               {8, 0, 0x1.9p127F, INFINITY}};
  for (const auto& c : cases) {
    const double params[] = {c.exponent, c.mantissa};
    const float y = ReducePrecision::apply(params, at(c.x)).value;
    EXPECT_EQ(y, c.expected) << c.x << " to " << c.exponent << "," << c.mantissa;
    EXPECT_EQ(std::signbit(y), std::signbit(c.expected));
  }
  const double params[] = {5, 2};
  EXPECT_TRUE(std::isnan(ReducePrecision::apply(params, at(NAN)).value));
  EXPECT_EQ(ReducePrecision::apply(params, Scalar<double>(1.3)).value, 1.25);
}

}  // namespace
}  // namespace hone::math::HONE_LEVEL
