#include "hone/base/small_vector.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace hone {
namespace {

using Strings = SmallVector<std::string, 2>;

std::string text(size_t i) { return "a text too long for the string's own buffer " + std::to_string(i); }

Strings filled(size_t count) {
  Strings values;
  for (size_t i = 0; i < count; ++i) values.push_back(text(i));
  return values;
}

void expect_filled(const Strings& values, size_t count) {
  ASSERT_EQ(values.size(), count);
  for (size_t i = 0; i < count; ++i) EXPECT_EQ(values[i], text(i));
}

class SmallVectorOf : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, SmallVectorOf, testing::Values(0, 1, 2, 3, 5, 40));

TEST_P(SmallVectorOf, KeepsItsElementsThroughCopiesAndMoves) {
  for (const size_t other_size : {0, 1, 2, 3, 9}) {
    Strings source = filled(GetParam());
    const Strings copy(source);
    expect_filled(copy, GetParam());
    EXPECT_EQ(copy, source);
    Strings target = filled(other_size);
    target = source;
    expect_filled(target, GetParam());
    Strings moved(std::move(source));
    expect_filled(moved, GetParam());
    EXPECT_TRUE(source.empty());  // NOLINT: what a moved-from vector is
    source.push_back(text(0));
    expect_filled(source, 1);
    source = std::move(moved);
    expect_filled(source, GetParam());
    source = *&source;
    expect_filled(source, GetParam());
  }
}

TEST_P(SmallVectorOf, InsertsErasesAndResizes) {
  Strings values = filled(GetParam());
  values.insert(values.begin() + values.size() / 2, "new");
  EXPECT_EQ(values[GetParam() / 2], "new");
  values.erase(values.begin() + GetParam() / 2);
  expect_filled(values, GetParam());
  values.resize(GetParam() + 3);
  EXPECT_EQ(values.back(), "");
  values.resize(GetParam());
  expect_filled(values, GetParam());
  values.erase(values.begin(), values.end());
  EXPECT_TRUE(values.empty());
}

TEST(SmallVector, TheFirstElementsStandInside) {
  SmallVector<int, 4> values{1, 2, 3, 4};
  const auto* const begin = reinterpret_cast<const char*>(&values);
  const auto inside = [&](const int* p) {
    return reinterpret_cast<const char*>(p) >= begin && reinterpret_cast<const char*>(p) < begin + sizeof values;
  };
  EXPECT_TRUE(inside(values.data()));
  values.push_back(5);
  EXPECT_FALSE(inside(values.data()));
  EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0), 15);
}

TEST(SmallVector, HoldsMoveOnlyElements) {
  SmallVector<std::unique_ptr<int>, 2> values;
  for (int i = 0; i < 9; ++i) values.push_back(std::make_unique<int>(i));
  SmallVector<std::unique_ptr<int>, 2> moved(std::move(values));
  for (size_t i = 0; i < 9; ++i) EXPECT_EQ(*moved[i], static_cast<int>(i));
  moved.erase(moved.begin() + 1, moved.begin() + 8);
  EXPECT_EQ(*moved.back(), 8);
}

TEST(SmallVector, MayGrowFromItsOwnElement) {
  Strings values{text(0), text(1)};
  values.push_back(values[0]);
  EXPECT_EQ(values[2], text(0));
}

TEST(SmallVector, ConvertsToASpanAndFromRanges) {
  const std::vector<int> source{1, 2, 3};
  const SmallVector<int, 2> values(source.begin(), source.end());
  const std::span<const int> span = values;
  EXPECT_EQ(span.size(), 3u);
  EXPECT_EQ((SmallVector<int, 2>(span)), values);
  EXPECT_EQ((SmallVector<int, 2>(3, 7)), (SmallVector<int, 2>{7, 7, 7}));
}

TEST(SmallVector, AThrowingConstructorLeavesItAsItWas) {
  struct Picky {
    explicit Picky(int v) : value(v) {
      if (v < 0) throw std::invalid_argument("negative");
    }
    int value;
  };
  SmallVector<Picky, 1> values;
  values.emplace_back(1);
  EXPECT_THROW(values.emplace_back(-1), std::invalid_argument);
  EXPECT_EQ(values.size(), 1u);
  EXPECT_EQ(values[0].value, 1);
}

}  // namespace
}  // namespace hone
