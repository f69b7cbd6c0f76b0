#include "hone/ops/misc.h"

#include <gtest/gtest.h>

#include "hone/base/error.h"
#include "hone/function/tape.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"

namespace hone {
namespace {

TEST(HostCallback, ComputesOnTheHost) {
  const Tensor x = Tensor::of<float>({1, 2});
  const auto twice = [](std::span<const Tensor> inputs) { return inputs[0] * 2; };
  EXPECT_EQ(host_callback(twice, {&x, 1}, {f32, {2}}).to_vector<float>(), (std::vector<float>{2, 4}));
  const int64_t function = register_host_function(twice, {f32, {2}});
  EXPECT_EQ(host_callback(function, {&x, 1}).to_vector<float>(), (std::vector<float>{2, 4}));
  EXPECT_THROW(host_callback(twice, {&x, 1}, {f32, {3}}), Error);
  EXPECT_THROW(host_callback(int64_t{1} << 40, {&x, 1}), Error);
}

TEST(HostCallback, HasNoGradientAndSaysSo) {
  const Tensor x = Tensor::of<float>({1, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = host_callback([](std::span<const Tensor> inputs) { return inputs[0] * 2; }, {&x, 1}, x.type());
  EXPECT_THROW(tape.gradient(y, x), Error);
}

TEST(Print, WritesToStderrAndPassesOn) {
  const Tensor x = Tensor::of<float>({1, 2});
  GradientTape tape;
  tape.watch(x);
  testing::internal::CaptureStderr();
  const Tensor y = print(x, "x") * 3;
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "x: " + to_string(x) + "\n");
  EXPECT_EQ(tape.gradient(y, x).to_vector<float>(), (std::vector<float>{3, 3}));
}

TEST(Check, NamesTheMessageAndTheFirstFailure) {
  const Tensor x = Tensor::of<float>({1, 2, -3});
  EXPECT_EQ(check(x > -9, "bounded").to_vector<bool>(), (std::vector<bool>{true, true, true}));
  try {
    check(x > 0, "x must be positive");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition);
    const std::string message = error.what();
    EXPECT_NE(message.find("x must be positive"), std::string::npos);
    EXPECT_NE(message.find("false at 1 of 3 elements, first at flat index 2"), std::string::npos) << message;
    EXPECT_NE(message.find("misc_test.cpp"), std::string::npos) << message;
  }
}

TEST(DimensionSize, IsAScalar) {
  const Tensor n = dimension_size(zeros({2, 5}), -1);
  EXPECT_EQ(n.item<int32_t>(), 5);
  EXPECT_EQ(n.dtype(), i32);
}

}  // namespace
}  // namespace hone
