// The 16-bit floats and convert: every value of the 16-bit types, edges of the others.
#include "hone/math/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace hone::math::HONE_LEVEL {
namespace {

template <class H>
double exact(uint16_t bits) {
  const int width = __is_same(H, Float16) ? 10 : 7, bias = __is_same(H, Float16) ? 15 : 127;
  const int exponent = (bits & 0x7FFF) >> width, fraction = bits & ((1 << width) - 1), top = (0x7FFF >> width);
  double value = exponent == top ? (fraction ? NAN : INFINITY)
                 : exponent == 0 ? std::ldexp(fraction, 1 - bias - width)
                                 : std::ldexp(fraction + (1 << width), exponent - bias - width);
  return bits & 0x8000 ? -value : value;
}

template <class H>
class Halves : public testing::Test {};
using HalfTypes = testing::Types<Float16, BFloat16>;
TYPED_TEST_SUITE(Halves, HalfTypes);

TYPED_TEST(Halves, EveryValueReadsExactlyAndReturns) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const TypeParam half{static_cast<uint16_t>(bits)};
    const double value = exact<TypeParam>(half.bits);
    const float read = half_to_float(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(read) && std::isnan(half_to_float(float_to_half<TypeParam>(read)))) << bits;
      continue;
    }
    ASSERT_EQ(read, value) << bits;
    ASSERT_EQ(float_to_half<TypeParam>(read).bits, bits);
  }
}

// Between neighbours: the middle goes to the even one, what lies beside it to the nearer one, from f32 and from f64.
TYPED_TEST(Halves, RoundToNearestEven) {
  const uint32_t infinity = __is_same(TypeParam, Float16) ? 0x7C00 : 0x7F80;
  for (uint32_t bits = 0; bits < infinity; ++bits) {
    const double low = exact<TypeParam>(static_cast<uint16_t>(bits));
    const double high = bits + 1 == infinity ? 2 * low - exact<TypeParam>(static_cast<uint16_t>(bits - 1))
                                             : exact<TypeParam>(static_cast<uint16_t>(bits + 1));
    const double middle = (low + high) / 2;
    const uint32_t even = bits & 1 ? bits + 1 : bits;
    const auto round = [](double x) { return convert_lane<TypeParam>(x).bits; };
    ASSERT_EQ(round(middle), even) << bits;
    ASSERT_EQ(round(std::nextafter(middle, 0)), bits);
    ASSERT_EQ(round(std::nextafter(middle, INFINITY)), bits + 1);
    ASSERT_EQ(round(-std::nextafter(middle, INFINITY)), bits + 1 + 0x8000);
    const auto f = static_cast<float>(middle);
    if (f != middle) continue;  // the middle of the smallest bf16 denormals is no f32
    ASSERT_EQ(float_to_half<TypeParam>(f).bits, even);
    ASSERT_EQ(float_to_half<TypeParam>(std::nextafter(f, 0.0F)).bits, bits);
    ASSERT_EQ(float_to_half<TypeParam>(std::nextafter(f, INFINITY)).bits, bits + 1);
  }
}

template <class To, class From>
void expect_integer(From x, double value) {
  const To y = convert_lane<To>(x);
  const double low = static_cast<double>(std::numeric_limits<To>::min()),
               high = static_cast<double>(std::numeric_limits<To>::max());
  if (std::isnan(value))
    EXPECT_EQ(y, 0);
  else if (value >= high)
    EXPECT_EQ(y, std::numeric_limits<To>::max()) << value;
  else if (value <= low)
    EXPECT_EQ(y, std::numeric_limits<To>::min()) << value;
  else
    EXPECT_EQ(y, static_cast<To>(value)) << value;
}
template <class From>
void expect_integers(From x, double value) {
  expect_integer<int8_t>(x, value);
  expect_integer<int16_t>(x, value);
  expect_integer<int32_t>(x, value);
  expect_integer<int64_t>(x, value);
  expect_integer<uint8_t>(x, value);
  expect_integer<uint16_t>(x, value);
  expect_integer<uint32_t>(x, value);
  expect_integer<uint64_t>(x, value);
  EXPECT_EQ(convert_lane<bool>(x), value != 0);
}

TYPED_TEST(Halves, EveryValueConvertsToEveryIntegerAndFloat) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const TypeParam half{static_cast<uint16_t>(bits)};
    const double value = exact<TypeParam>(half.bits);
    expect_integers(half, value);
    if (std::isnan(value)) continue;
    ASSERT_EQ(convert_lane<double>(half), value);
    ASSERT_EQ(convert_lane<Float16>(half).bits, convert_lane<Float16>(value).bits);
    ASSERT_EQ(convert_lane<BFloat16>(half).bits, convert_lane<BFloat16>(value).bits);
  }
}

TEST(Convert, EveryInteger16ConvertsToEveryType) {
  for (int v = -32768; v < 65536; ++v) {
    const auto check = [&](auto x) {
      ASSERT_EQ(convert_lane<float>(x), static_cast<float>(v));
      ASSERT_EQ(convert_lane<Float16>(x).bits, convert_lane<Float16>(static_cast<double>(v)).bits);
      ASSERT_EQ(convert_lane<BFloat16>(x).bits, convert_lane<BFloat16>(static_cast<double>(v)).bits);
      ASSERT_EQ(convert_lane<int8_t>(x), static_cast<int8_t>(v));
      ASSERT_EQ(convert_lane<int64_t>(x), v);
      ASSERT_EQ(convert_lane<uint64_t>(x), static_cast<uint64_t>(static_cast<int64_t>(v)));
      ASSERT_EQ(convert_lane<bool>(x), v != 0);
    };
    if (v < 32768) check(static_cast<int16_t>(v));
    if (v >= 0) check(static_cast<uint16_t>(v));
  }
}

TEST(Convert, FloatsSaturate) {
  for (const double v :
       {0.0,           -0.0,          0.99,         -0.99,        1.5,       -1.5,        127.5,        128.0,
        -128.9,        -129.0,        255.9,        256.0,        65535.5,   65536.0,     2147483647.0, 2147483648.0,
        -2147483648.0, -2147483649.0, 4294967295.0, 4294967296.0, 9.2e18,    0x1p63,      -0x1p63,      1.9e19,
        0x1p64,        1e300,         -1e300,       HUGE_VAL,     -HUGE_VAL, std::nan("")}) {
    expect_integers(v, v);
    expect_integers(static_cast<float>(v), static_cast<double>(static_cast<float>(v)));
  }
}

TEST(Convert, WideTypesRoundOnceToHalves) {
  // Just above a middle: an intermediate rounding to f32 or f64 would land on it and go to even.
  EXPECT_EQ(convert_lane<BFloat16>(int64_t{257} << 40 | 1).bits, float_to_half<BFloat16>(0x1.02p48F).bits);
  EXPECT_EQ(convert_lane<BFloat16>((int64_t{257} << 54) + 1).bits, float_to_half<BFloat16>(0x1.02p62F).bits);
  EXPECT_EQ(convert_lane<BFloat16>(-((int64_t{257} << 54) + 1)).bits, float_to_half<BFloat16>(-0x1.02p62F).bits);
  EXPECT_EQ(convert_lane<BFloat16>(uint64_t{257} << 55 | 1).bits, float_to_half<BFloat16>(0x1.02p63F).bits);
  EXPECT_EQ(convert_lane<BFloat16>(int64_t{257} << 54).bits, float_to_half<BFloat16>(0x1p62F).bits);
  EXPECT_EQ(convert_lane<BFloat16>(int32_t{(257 << 22) + 1}).bits, float_to_half<BFloat16>(0x1.02p30F).bits);
  EXPECT_EQ(convert_lane<Float16>(std::numeric_limits<int64_t>::min()).bits, 0xFC00);
  EXPECT_EQ(convert_lane<Float16>(1e300).bits, 0x7C00);
  EXPECT_EQ(convert_lane<BFloat16>(1e-300).bits, 0);
  EXPECT_EQ(convert_lane<BFloat16>(-1e300).bits, 0xFF80);
}

TEST(Convert, BoolIsZeroOrOne) {
  EXPECT_EQ(convert_lane<float>(true), 1);
  EXPECT_EQ(convert_lane<BFloat16>(true).bits, 0x3F80);
  EXPECT_EQ(convert_lane<int64_t>(true), 1);
  EXPECT_TRUE(convert_lane<bool>(NAN));
  EXPECT_FALSE(convert_lane<bool>(-0.0F));
}

}  // namespace
}  // namespace hone::math::HONE_LEVEL
