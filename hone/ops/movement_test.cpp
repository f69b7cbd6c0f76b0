#include "hone/ops/movement.h"

#include <gtest/gtest.h>

#include "hone/base/error.h"
#include "hone/function/tape.h"
#include "hone/ops/attrs.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/kernel.h"

namespace hone {
namespace {

using Floats = std::vector<float>;

Tensor counting(const Shape& shape) {
  Shape flat{shape.count()};
  return cast(reshape(iota(flat, 0), shape), f32);
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Reshape, SharesMemoryAndFillsInTheOpenExtent) {
  const Tensor x = counting({2, 6});
  const Tensor y = reshape(x, {3, -1});
  EXPECT_EQ(y.shape(), (Shape{3, 4}));
  EXPECT_EQ(y.raw(), x.raw());
  EXPECT_NE(y.id(), x.id());
  EXPECT_EQ(flatten(y).to_vector<float>(), x.to_vector<float>());
}

TEST(Reshape, SaysWhichNumbersOfElementsDiffer) {
  const Tensor x = counting({2, 3});
  EXPECT_NE(message_of([&] { reshape(x, {4, 2}); }).find("x has 6 elements, [4,2] holds 8"), std::string::npos);
  EXPECT_NE(message_of([&] { reshape(x, {4, -1}); }).find("6 elements do not divide by 4"), std::string::npos);
  EXPECT_NE(message_of([&] { reshape(x, {-1, -1}); }).find("only one extent may be -1"), std::string::npos);
}

TEST(Transpose, MovesAxes) {
  const Tensor x = counting({2, 3});
  EXPECT_EQ(transpose(x).to_vector<float>(), (Floats{0, 3, 1, 4, 2, 5}));
  const Tensor y = transpose(counting({2, 3, 4}), {2, 0, 1});
  EXPECT_EQ(y.shape(), (Shape{4, 2, 3}));
  EXPECT_EQ((y[{1, 1, 2}].item<float>()), 21);
  EXPECT_EQ(swap_axes(x, 0, -1).to_vector<float>(), transpose(x).to_vector<float>());
}

TEST(Transpose, OfAxesOfExtentOneSharesMemory) {
  const Tensor x = counting({1, 4, 3});
  const Tensor y = transpose(x, {1, 0, 2});
  EXPECT_EQ(y.raw(), x.raw());
  EXPECT_EQ(y.shape(), (Shape{4, 1, 3}));
}

TEST(Transpose, RefusesWhatIsNoPermutation) {
  const Tensor x = counting({2, 3});
  EXPECT_NE(message_of([&] { transpose(x, {0, 0}); }).find("[0, 0] does not name each axis in [0, 1] once"),
            std::string::npos);
  EXPECT_NE(message_of([&] { transpose(x, {0}); }).find("x has 2 axes"), std::string::npos);
}

TEST(Broadcast, IsAViewOfTheSameElements) {
  const Tensor x = counting({3});
  const Tensor y = broadcast_to(x, {2, 3});
  EXPECT_FALSE(y.layout().dense);
  EXPECT_EQ(y.mutable_bytes(), x.mutable_bytes());
  EXPECT_EQ(y.to_vector<float>(), (Floats{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(broadcast_in_dim(x, {3, 2}, {0}).to_vector<float>(), (Floats{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(broadcast_in_dim(counting({2, 3}), {3, 2}, {1, 0}).to_vector<float>(), (Floats{0, 3, 1, 4, 2, 5}));
  EXPECT_TRUE(broadcast_in_dim(x, {1, 3}, {1}).layout().dense);
}

TEST(Broadcast, ConstantsStayOneElement) {
  const Tensor x = zeros({1000, 1000});
  for (const Tensor& y :
       {reshape(x, {-1}), transpose(x), x[slice(3, 7)], broadcast_to(x, {5, 1000, 1000}), reverse(x, {0})}) {
    EXPECT_EQ(y.mutable_bytes(), x.mutable_bytes());
    EXPECT_FALSE(y.layout().dense);
  }
  EXPECT_EQ(reshape(full({2, 2}, 7, f32), {4}).to_vector<float>(), (Floats{7, 7, 7, 7}));
}

TEST(Squeeze, DropsAndExpandDimsAdds) {
  const Tensor x = counting({1, 3, 1});
  EXPECT_EQ(squeeze(x).shape(), (Shape{3}));
  EXPECT_EQ(squeeze(x, {-1}).shape(), (Shape{1, 3}));
  EXPECT_EQ(expand_dims(x, 1).shape(), (Shape{1, 1, 3, 1}));
  EXPECT_EQ(expand_dims(x, -1).shape(), (Shape{1, 3, 1, 1}));
  EXPECT_NE(message_of([&] { squeeze(x, {1}); }).find("only axes of extent 1 can be dropped"), std::string::npos);
}

TEST(Concatenate, JoinsAndPromotes) {
  const Tensor a = counting({2, 2}), b = cast(counting({2, 1}), i32);
  const Tensor y = concatenate({a, b}, 1);
  EXPECT_EQ(y.dtype(), f32);
  EXPECT_EQ(y.to_vector<float>(), (Floats{0, 1, 0, 2, 3, 1}));
  EXPECT_NE(message_of([&] { concatenate({a, counting({3, 3})}, 1); }).find("axis 0 is 2 in part 0, 3 in part 1"),
            std::string::npos);
}

TEST(Stack, JoinsAlongANewAxis) {
  const Tensor a = counting({2}), b = a + 10;
  EXPECT_EQ(stack({a, b}).to_vector<float>(), (Floats{0, 1, 10, 11}));
  EXPECT_EQ(stack({a, b}, -1).to_vector<float>(), (Floats{0, 10, 1, 11}));
  EXPECT_EQ(stack({a, b}, -1).shape(), (Shape{2, 2}));
}

TEST(Split, EqualAndGivenSizes) {
  const Tensor x = counting({4, 2});
  const std::vector<Tensor> halves = split(x, 2);
  EXPECT_EQ(halves[1].raw(), static_cast<const std::byte*>(x.raw()) + 16);
  const int64_t sizes[] = {1, 0, 3};
  const std::vector<Tensor> parts = split(x, sizes, 0);
  EXPECT_EQ(parts[1].shape(), (Shape{0, 2}));
  EXPECT_EQ(parts[2].to_vector<float>(), (Floats{2, 3, 4, 5, 6, 7}));
  EXPECT_NE(message_of([&] { split(x, 3); }).find("cannot split axis 0 into 3 equal parts"), std::string::npos);
}

TEST(Pad, AddsCutsAndSpreads) {
  struct Case {
    int64_t low, high, interior;
    Floats expected;
  };
  for (const Case& c : std::vector<Case>{{1, 2, 0, {9, 0, 1, 2, 9, 9}},
                                         {0, 0, 1, {0, 9, 1, 9, 2}},
                                         {-1, 0, 0, {1, 2}},
                                         {-1, 1, 1, {9, 1, 9, 2, 9}},
                                         {-1, -2, 0, {}},
                                         {-1, -1, 2, {9, 9, 1, 9, 9}},
                                         {2, -3, 0, {9, 9}}}) {
    EXPECT_EQ(pad(counting({3}), {c.low}, {c.high}, 9, {c.interior}).to_vector<float>(), c.expected)
        << c.low << " " << c.high;
  }
  EXPECT_NE(message_of([] { pad(counting({3}), {-2}, {-2}); }).find("3 elements with low -2, high -2 leave -1"),
            std::string::npos);
  EXPECT_EQ(pad(counting({2, 2}), {0, 1}, {1, 0}).to_vector<float>(), (Floats{0, 0, 1, 0, 2, 3, 0, 0, 0}));
}

TEST(Arrange, TileRepeatRoll) {
  const Tensor x = counting({3});
  EXPECT_EQ(tile(x, {2}).to_vector<float>(), (Floats{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(tile(x, {2, 1}).shape(), (Shape{2, 3}));
  EXPECT_EQ(tile(counting({2, 2}), {2}).to_vector<float>(), (Floats{0, 1, 0, 1, 2, 3, 2, 3}));
  EXPECT_EQ(repeat(x, 2, 0).to_vector<float>(), (Floats{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(roll(x, 1, 0).to_vector<float>(), (Floats{2, 0, 1}));
  EXPECT_EQ(roll(x, -4, 0).to_vector<float>(), (Floats{1, 2, 0}));
  const Tensor deep = counting({1, 1, 1, 1, 1, 1, 2});
  EXPECT_EQ(tile(deep, {3, 1, 1, 1, 1, 1, 2}).to_vector<float>(), (Floats{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1}));
}

TEST(DynamicSlice, MovesTheBlockSoThatItFits) {
  const Tensor x = counting({3, 4});
  const auto start = [](int a, int64_t b) { return std::vector{Tensor(a), Tensor(b)}; };
  EXPECT_EQ(dynamic_slice(x, start(1, 2), {1, 2}).to_vector<float>(), (Floats{6, 7}));
  EXPECT_EQ(dynamic_slice(x, start(9, -5), {1, 2}).to_vector<float>(), (Floats{8, 9}));
  EXPECT_EQ(dynamic_update_slice(counting({4}), full({2}, 7, f32), std::vector{Tensor(9)}).to_vector<float>(),
            (Floats{0, 1, 7, 7}));
  const std::string message = message_of([&] { dynamic_slice(x, start(0, 0), {4, 1}); });
  EXPECT_NE(message.find("axis 0: a block of 4 does not fit into 3"), std::string::npos) << message;
}

TEST(DynamicUpdateSlice, OfATemporaryWorksInPlace) {
  Tensor x = counting({4}) + 0;
  const std::byte* memory = x.mutable_bytes();
  const Tensor y = dynamic_update_slice(std::move(x), full({2}, 7, f32), std::vector{Tensor(1)});
  EXPECT_EQ(y.mutable_bytes(), memory);
  EXPECT_EQ(y.to_vector<float>(), (Floats{0, 7, 7, 3}));
}

TEST(StopGradient, GivesNoGradientAndIdentityDoes) {
  const Tensor x = counting({3});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = identity(x) * stop_gradient(x);
  EXPECT_EQ(tape.gradient(y, x).to_vector<float>(), x.to_vector<float>());
}

TEST(OneHot, LabelsOutOfRangeGiveZeros) {
  EXPECT_EQ(one_hot(Tensor::of<int32_t>({1, -1, 3}), 3).to_vector<float>(), (Floats{0, 1, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(one_hot(Tensor::of<uint8_t>({2}), 300).shape(), (Shape{1, 300}));
  EXPECT_NE(message_of([] { one_hot(Tensor::of<float>({1}), 3); }).find("expected an integer dtype"),
            std::string::npos);
}

TEST(Movement, ReadsABorrowedImageWithPaddedRows) {
  const std::vector<uint8_t> image = {0, 1, 2, 99, 3, 4, 5, 99};
  const Tensor x = Tensor::borrow(image.data(), {2, 3}, u8, {.row_bytes = 4});
  EXPECT_EQ(cast(x, f32).to_vector<float>(), (Floats{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ((x[{slice(), slice(1, 3)}].to_vector<uint8_t>()), (std::vector<uint8_t>{1, 2, 4, 5}));
  EXPECT_EQ(transpose(x).to_vector<uint8_t>(), (std::vector<uint8_t>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(flatten(x).to_vector<uint8_t>(), (std::vector<uint8_t>{0, 1, 2, 3, 4, 5}));
}

TEST(Movement, NamesTheUsersLine) {
  const Tensor x = counting({2, 3});
  const std::string message = message_of([&] { concatenate({x, x}, 2); });
  EXPECT_NE(message.find("movement_test.cpp"), std::string::npos) << message;
  EXPECT_NE(message.find("axis 2 is out of range in concatenate"), std::string::npos) << message;
}

// Negative padding cuts into the gaps between elements: the first one left does not lie at the edge.
TEST(Pad, CutsBetweenDilatedElements) {
  const Tensor x = Tensor::of<int>({1, 2});
  EXPECT_EQ(pad(x, {-1}, {0}, 9, {2}).to_vector<int>(), (std::vector{9, 9, 2}));
  EXPECT_EQ(pad(x, {-2}, {1}, 9, {2}).to_vector<int>(), (std::vector{9, 2, 9}));
  EXPECT_EQ(pad(x, {0}, {-1}, 9, {2}).to_vector<int>(), (std::vector{1, 9, 9}));
}

}  // namespace
}  // namespace hone
