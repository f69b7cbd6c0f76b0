// What a person reads when a tensor is printed.
#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/tensor/half.h"
#include "hone/tensor/tensor.h"

namespace hone {
namespace {

TEST(Print, Scalars) {
  EXPECT_EQ(to_string(Tensor(1.5F)), "f32[] 1.5");
  EXPECT_EQ(to_string(Tensor(0.1)), "f64[] 0.1");
  EXPECT_EQ(to_string(Tensor(true)), "bool[] true");
  EXPECT_EQ(to_string(Tensor(-3)), "i32[] -3");
}

TEST(Print, AVectorOnOneLine) {
  EXPECT_EQ(to_string(Tensor::of<float>({1, 2.25, -3})), "f32[3] [   1, 2.25,   -3]");
  EXPECT_EQ(to_string(Tensor::from<bool>(std::vector<bool>{true, false}, {2})), "bool[2] [ true, false]");
}

TEST(Print, BytesAreNumbersNotLetters) {
  EXPECT_EQ(to_string(Tensor::of<uint8_t>({65, 255})), "u8[2] [ 65, 255]");
  EXPECT_EQ(to_string(Tensor::of<int8_t>({-128, 10})), "i8[2] [-128,   10]");
}

TEST(Print, TheLargestIntegersWhole) {
  EXPECT_EQ(to_string(Tensor::of<uint64_t>({UINT64_MAX})), "u64[1] [18446744073709551615]");
  EXPECT_EQ(to_string(Tensor::of<int64_t>({INT64_MIN})), "i64[1] [-9223372036854775808]");
}

TEST(Print, AMatrixWithAlignedColumns) {
  EXPECT_EQ(to_string(Tensor::from<int>({1, 20, 300, 4, 5, 6}, {2, 3})),
            "i32[2,3]\n"
            "[[  1,  20, 300],\n"
            " [  4,   5,   6]]");
}

TEST(Print, ThreeAxesWithABlankLineBetween) {
  EXPECT_EQ(to_string(reshape(iota({8}, 0), {2, 2, 2})),
            "i32[2,2,2]\n"
            "[[[0, 1],\n"
            "  [2, 3]],\n"
            "\n"
            " [[4, 5],\n"
            "  [6, 7]]]");
}

TEST(Print, LongAxesAreShortened) {
  EXPECT_EQ(to_string(iota({1001}, 0)), "i32[1001] [   0,    1,    2, ...,  998,  999, 1000]");
  EXPECT_EQ(to_string(iota({1000}, 0)).find("..."), std::string::npos);
  EXPECT_EQ(to_string(reshape(iota({1400}, 0), {700, 2})),
            "i32[700,2]\n"
            "[[   0,    1],\n"
            " [   2,    3],\n"
            " [   4,    5],\n"
            " ...,\n"
            " [1394, 1395],\n"
            " [1396, 1397],\n"
            " [1398, 1399]]");
}

TEST(Print, SpecialNumbers) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(to_string(Tensor::of<float>({nan, inf, -inf, -0.0F})), "f32[4] [ nan,  inf, -inf,   -0]");
  EXPECT_EQ(to_string(Tensor::of<float>({1e-30F, 123456789.0F})), "f32[2] [      1e-30, 1.23457e+08]");
}

TEST(Print, HalfTypesAsNumbers) {
  EXPECT_EQ(to_string(Tensor::of<Float16>({to_float16(1.5F), to_float16(65504)})), "f16[2] [     1.5, 6.55e+04]");
  EXPECT_EQ(to_string(Tensor::of<BFloat16>({to_bfloat16(-2), to_bfloat16(0.1F)})), "bf16[2] [    -2, 0.1001]");
}

TEST(Print, EmptyTensorsAtOnce) {
  EXPECT_EQ(to_string(zeros({0})), "f32[0] []");
  EXPECT_EQ(to_string(zeros({3, 0})), "f32[3,0] []");
  EXPECT_EQ(to_string(zeros({1 << 30, 0}, i8)), "i8[1073741824,0] []");
  EXPECT_EQ(to_string(Tensor()), "undefined tensor");
}

TEST(Print, ViewsShowTheirElements) {
  EXPECT_EQ(to_string(broadcast_to(Tensor::of<int>({1, 2}), {2, 2})), "i32[2,2]\n[[1, 2],\n [1, 2]]");
  std::ostringstream out;
  out << iota({4}, 0)[slice(2)];
  EXPECT_EQ(out.str(), "i32[2] [2, 3]");
}

}  // namespace
}  // namespace hone
