// Vec<T> at the baseline's width against Scalar<T>: the same bits for every operation.
#include "hone/math/vec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "hone/math/bits.h"

namespace hone::math::HONE_LEVEL {
namespace {

template <class T>
bool same(T a, T b) {
  return (a != a && b != b) || std::memcmp(&a, &b, sizeof a) == 0;
}

template <class T>
class VecFloats : public testing::Test {};
using FloatTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(VecFloats, FloatTypes);

TYPED_TEST(VecFloats, EveryOperationEqualsScalar) {
  using T = TypeParam;
  constexpr T kInf = std::numeric_limits<T>::infinity(), kNan = std::numeric_limits<T>::quiet_NaN();
  const T values[] = {0,
                      T(-0.0),
                      1,
                      -1,
                      kInf,
                      -kInf,
                      kNan,
                      T(0.5),
                      T(1.5),
                      T(2.5),
                      T(-2.5),
                      T(-0.3),
                      T(1e-40),
                      T(1e9),
                      T(8388609),
                      T(0.1),
                      T(1e30),
                      T(-1e30),
                      std::numeric_limits<T>::denorm_min(),
                      std::numeric_limits<T>::max()};
  for (const T a : values) {
    for (const T b : values) {
      const auto check = [&](const char* what, auto f) {
        const Vec<T> vector = f(Vec<T>(a), Vec<T>(b), Vec<T>(T(1.25)));
        const T expected = f(Scalar<T>(a), Scalar<T>(b), Scalar<T>(T(1.25))).value;
        for (int i = 0; i < Vec<T>::kLanes; ++i)
          EXPECT_TRUE(same(lane(vector, i), expected)) << what << " " << a << " " << b;
      };
      check("max", [](auto x, auto y, auto) { return max(x, y); });
      check("min", [](auto x, auto y, auto) { return min(x, y); });
      check("fma", [](auto x, auto y, auto z) { return fma(x, y, z); });
      check("divide", [](auto x, auto y, auto) { return x / y; });
      check("sqrt", [](auto x, auto, auto) { return sqrt(x); });
      check("floor", [](auto x, auto, auto) { return floor(x); });
      check("ceil", [](auto x, auto, auto) { return ceil(x); });
      check("trunc", [](auto x, auto, auto) { return trunc(x); });
      check("round_even", [](auto x, auto, auto) { return round_even(x); });
      check("copysign", [](auto x, auto y, auto) { return copysign(x, y); });
      check("abs", [](auto x, auto, auto) { return abs(x); });
      check("negate", [](auto x, auto, auto) { return -x; });
      check("select", [](auto x, auto y, auto z) { return select((x < y) | is_nan(x), x, z); });
      check("finite", [](auto x, auto y, auto z) { return select(is_finite(x) & !(y >= x), x, z); });
      check("map_lanes", [](auto x, auto y, auto) { return map_lanes<T>([](T u, T v) { return u - v; }, x, y); });
      check("patch_lanes", [](auto x, auto y, auto) { return patch_lanes(x > y, [](T u) { return u + 1; }, x, y); });
    }
  }
}

TEST(Vec, MaximumAndMinimumOrderZerosAndKeepNan) {
  const float nan = NAN;
  EXPECT_FALSE(std::signbit(max(Scalar<float>(-0.0F), Scalar<float>(0.0F)).value));
  EXPECT_TRUE(std::signbit(min(Scalar<float>(0.0F), Scalar<float>(-0.0F)).value));
  EXPECT_TRUE(std::isnan(max(Scalar<float>(nan), Scalar<float>(1)).value));
  EXPECT_TRUE(std::isnan(max(Scalar<float>(1), Scalar<float>(nan)).value));
  EXPECT_TRUE(std::isnan(lane(min(Vec<float>(1), Vec<float>(nan)), 0)));
}

TEST(Vec, PartialLoadFillsAndPartialStoreKeepsTheRest) {
  float memory[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  for (int n = 0; n <= Vec<float>::kLanes; ++n) {
    const auto v = Vec<float>::load_partial(memory, n, -1);
    for (int i = 0; i < Vec<float>::kLanes; ++i) EXPECT_EQ(lane(v, i), i < n ? memory[i] : -1);
    float to[16] = {};
    v.store_partial(to, n);
    for (int i = 0; i < 16; ++i) EXPECT_EQ(to[i], i < n ? memory[i] : 0);
  }
}

TEST(Vec, IntegersWrapAndConvert) {
  const Vec<int> top = std::numeric_limits<int>::max();
  EXPECT_EQ(lane(top + Vec<int>(1), 0), std::numeric_limits<int>::min());
  EXPECT_EQ(lane(Vec<int>(-8) >> 1, 0), -4);
  EXPECT_EQ(lane(Vec<unsigned>(0x80000000U) >> 31, 0), 1U);
  EXPECT_EQ(lane(to<int>(Vec<float>(-2.75F)), 0), -2);
  EXPECT_EQ(lane(as<int>(Vec<float>(1.0F)), 0), 0x3F800000);
  EXPECT_EQ(lane(Vec<signed char>(static_cast<signed char>(100)) * Vec<signed char>(static_cast<signed char>(3)), 5),
            44);
}

TEST(Vec, InDoubleRoundsOnce) {
  const float x = 1 + 0x1p-23F, y = 1 - 0x1p-24F;
  const auto product = [](auto a, auto b) { return a * b - 1.0; };
  EXPECT_EQ(lane(in_double(product, Vec<float>(x), Vec<float>(y)), 1),
            in_double(product, Scalar<float>(x), Scalar<float>(y)).value);
  EXPECT_EQ(in_double(product, Scalar<float>(x), Scalar<float>(y)).value, 0x1p-24F - 0x1p-47F);
}

}  // namespace
}  // namespace hone::math::HONE_LEVEL
