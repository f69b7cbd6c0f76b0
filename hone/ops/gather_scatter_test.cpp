#include <gtest/gtest.h>

#include "hone/base/error.h"
#include "hone/base/parallel.h"
#include "hone/function/tape.h"
#include "hone/ops/attrs.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"

namespace hone {
namespace {

using Floats = std::vector<float>;

Tensor counting(const Shape& shape) { return cast(reshape(iota({shape.count()}, 0), shape), f32); }

TEST(Take, RowsColumnsAndGridsOfIndices) {
  const Tensor x = counting({3, 2});
  EXPECT_EQ(take(x, Tensor::of<int32_t>({2, 0})).to_vector<float>(), (Floats{4, 5, 0, 1}));
  EXPECT_EQ(take(x, Tensor::of<int64_t>({1}), 1).to_vector<float>(), (Floats{1, 3, 5}));
  EXPECT_EQ(take(x, Tensor::from<uint8_t>({0, 1, 2, 2}, {2, 2})).shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(take(x, 1).to_vector<float>(), (Floats{2, 3}));
}

TEST(Take, NegativeCountsFromTheEndAndOutOfRangeClamps) {
  const Tensor x = counting({3});
  EXPECT_EQ(take(x, Tensor::of<int32_t>({-1, -3, -9, 7})).to_vector<float>(), (Floats{2, 0, 0, 2}));
  EXPECT_EQ(take(x, Tensor::of<int8_t>({-1})).to_vector<float>(), (Floats{2}));
  EXPECT_EQ(take(x, Tensor::of<uint64_t>({UINT64_MAX, 1})).to_vector<float>(), (Floats{2, 1}));
}

TEST(Take, FromAnEmptyAxisIsRefusedUnlessNothingIsTaken) {
  EXPECT_EQ(take(zeros({2, 0}), zeros({0, 3}, i32), 1).shape(), (Shape{2, 0, 3}));
  EXPECT_EQ(take_along_axis(zeros({2, 0}), zeros({2, 0}, i32), 1).shape(), (Shape{2, 0}));
  try {
    take(zeros({0, 2}), Tensor::of<int32_t>({0}));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("nothing can be taken from an empty axis"), std::string::npos)
        << error.what();
  }
}

TEST(Take, GradientAddsUpInRepeatedRows) {
  const Tensor x = counting({3, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = take(x, Tensor::of<int32_t>({2, 0, 2, 99})) * Tensor::from<float>({1, 2, 4, 8}, {4, 1});
  EXPECT_EQ(tape.gradient(y, x).to_vector<float>(), (Floats{2, 2, 0, 0, 13, 13}));
}

TEST(TakeAlongAxis, PicksAtEachPosition) {
  const Tensor x = counting({2, 3});
  EXPECT_EQ(take_along_axis(x, Tensor::from<int32_t>({2, 0, 0, -1}, {2, 2}), 1).to_vector<float>(),
            (Floats{2, 0, 3, 5}));
  EXPECT_EQ(take_along_axis(x, Tensor::from<int32_t>({1, 0, 1}, {1, 3}), 0).to_vector<float>(), (Floats{3, 1, 5}));
  EXPECT_THROW(take_along_axis(x, Tensor::from<int32_t>({1, 0}, {1, 2}), 0), Error);
}

TEST(Scatter, AddsInIndexOrderAndDropsWhatIsOutOfRange) {
  const Tensor rows = Tensor::of<int32_t>({1, -1, 1, 3, 0});
  const Tensor updates = Tensor::from<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {5, 2});
  EXPECT_EQ(scatter_add(zeros({3, 2}), rows, updates).to_vector<float>(), (Floats{9, 10, 6, 8, 0, 0}));
  EXPECT_EQ(scatter_set(zeros({3, 2}), rows, updates).to_vector<float>(), (Floats{9, 10, 5, 6, 0, 0}));
  EXPECT_EQ(scatter_add(counting({3}), 1, 10).to_vector<float>(), (Floats{0, 11, 2}));
}

TEST(Scatter, PartsOfAWindowThatReachOutAreDropped) {
  const ScatterAttrs window{{0}, {}, {0}, 0, static_cast<int64_t>(Combine::Set)};
  const auto at = [&](int start) {
    return scatter(zeros({4}), Tensor::of<int32_t>({start}), Tensor::of<float>({1, 2, 3}), window).to_vector<float>();
  };
  EXPECT_EQ(at(1), (Floats{0, 1, 2, 3}));
  EXPECT_EQ(at(3), (Floats{0, 0, 0, 1}));
  EXPECT_EQ(at(-2), (Floats{3, 0, 0, 0}));
  EXPECT_EQ(at(INT32_MIN), (Floats{0, 0, 0, 0}));
}

TEST(Scatter, IsTheSameForAnyNumberOfThreads) {
  const auto [state, bits] = random::bits(random::state(1), {3000});
  const Tensor rows = cast(bits % 50, i32), updates = random::normal(state, {3000, 40}).second;
  const int before = threads();
  set_threads(1);
  const Floats expected = scatter_add(zeros({50, 40}), rows, updates).to_vector<float>();
  for (int count : {2, 3, 7}) {
    set_threads(count);
    EXPECT_EQ(scatter_add(zeros({50, 40}), rows, updates).to_vector<float>(), expected);
  }
  set_threads(before);
}

TEST(Scatter, OfATemporaryWorksInPlace) {
  Tensor x = counting({4}) + 0;
  const std::byte* memory = x.mutable_bytes();
  const Tensor y = scatter_add(std::move(x), Tensor::of<int32_t>({1}), Tensor::of<float>({5}));
  EXPECT_EQ(y.mutable_bytes(), memory);
  EXPECT_EQ(y.to_vector<float>(), (Floats{0, 6, 2, 3}));
}

TEST(Scatter, InPlaceOfItsUpdatesKeepsThem) {
  const Tensor x = counting({3});
  EXPECT_EQ(scatter_add(x, Tensor::of<int32_t>({2, 1, 2}), Tensor::of<float>({1, 2, 3}) + 0).to_vector<float>(),
            (Floats{0, 3, 6}));
}

TEST(Scatter, ErrorsSayWhatDoesNotFit) {
  const GatherAttrs attrs{{1}, {0}, {0}, 1, {1, 5}};
  try {
    gather(counting({3, 2}), Tensor::of<int32_t>({0}), attrs);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("axis 1: a slice of 5 from 2 elements"), std::string::npos)
        << error.what();
  }
  try {
    scatter_add(zeros({3, 2}), Tensor::of<int32_t>({0}), zeros({2, 2}));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("cannot broadcast f32[2,2] to [1,2]"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace hone
