#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "hone/base/error.h"
#include "hone/data/data.h"
#include "hone/device/device.h"

namespace hone::data {
namespace {

using Numbers = std::vector<int64_t>;

Numbers read(const Dataset<int64_t>& dataset, int64_t pass = -1) {
  Numbers out;
  auto it = dataset.iterator({.pass = pass});
  while (auto x = it.next()) out.push_back(*x);
  return out;
}

Numbers sorted(Numbers numbers) {
  std::ranges::sort(numbers);
  return numbers;
}

Dataset<int64_t> counter(int64_t n) {
  return generator([i = int64_t{0}, n]() mutable { return i < n ? std::optional(i++) : std::nullopt; });
}

// Expected orders: a separate program of the algorithm in shuffle.cpp over Philox4x32-10, key hash_combine(seed, pass).
TEST(Shuffle, HasTheOrderThatTheSeedFixesOnEveryMachine) {
  EXPECT_EQ(read(range(10).shuffle(10, {.seed = 7})), (Numbers{6, 4, 9, 8, 0, 5, 2, 7, 3, 1}));
  EXPECT_EQ(read(range(10).shuffle(3, {.seed = 7})), (Numbers{2, 1, 3, 5, 0, 7, 4, 8, 6, 9}));
}

TEST(Shuffle, GivesEachElementOnce) {
  for (const int64_t n : {0, 1, 2, 10, 100}) {
    for (const int64_t buffer : {1, 2, 7, 100, 1000}) {
      Numbers expected(static_cast<size_t>(n));
      std::iota(expected.begin(), expected.end(), 0);
      EXPECT_EQ(sorted(read(range(n).shuffle(buffer, {.seed = 1}))), expected) << n << " " << buffer;
    }
  }
  EXPECT_EQ(read(range(5).shuffle(1)), (Numbers{0, 1, 2, 3, 4}));
}

TEST(Shuffle, HasTheSameOrderWithAndWithoutRandomAccess) {
  for (const int64_t n : {1, 5, 64}) {
    for (const int64_t buffer : {1, 3, 5, 63, 64, 65}) {
      const ShuffleOptions options{.seed = 11};
      const Numbers expected = read(range(n).shuffle(buffer, options), 2);
      EXPECT_EQ(read(counter(n).shuffle(buffer, options), 2), expected);
      const auto cached = counter(n).cache().shuffle(buffer, options);
      EXPECT_EQ(read(cached, 2), expected) << "cold";
      EXPECT_EQ(read(cached, 2), expected) << "warm";
    }
  }
}

TEST(Shuffle, DrawsFromTheNextElementsOnly) {
  const Numbers order = read(range(1000).shuffle(10, {.seed = 2}));
  for (int64_t i = 0; i < 1000; ++i) EXPECT_LT(order[static_cast<size_t>(i)], i + 10);
}

TEST(Shuffle, ABufferOfAllElementsMixesAllPlaces) {
  constexpr size_t kN = 20;
  constexpr int kOrders = 2000;
  int counts[kN][kN] = {};  // of element i at place j
  for (int seed = 0; seed < kOrders; ++seed) {
    const Numbers order = read(range(kN).shuffle(kN, {.seed = seed}));
    for (size_t j = 0; j < kN; ++j) ++counts[static_cast<size_t>(order[j])][j];
  }
  // Pearson's sum over 19 * 19 degrees of freedom: 361 on average, above 465 in one of 10,000 fair tables.
  const double expected = static_cast<double>(kOrders) / kN;
  double sum = 0;
  for (const auto& row : counts) {
    for (const int count : row) sum += (count - expected) * (count - expected) / expected;
  }
  EXPECT_LT(sum, 465);
  EXPECT_GT(sum, 265) << "too even to be random";
}

TEST(Shuffle, OfTheWholeDataKeepsPlacesOnly) {
  const Tensor rows = Tensor::from(std::vector<float>(size_t{1} << 18, 1), {1024, 256});  // 1 MiB
  int made = 0;
  const auto dataset =
      from_tensor_slices(rows).map([&made](Tensor row) { return ++made, row; }).shuffle(1024, {.seed = 1});
  const size_t before = memory_stats().in_use;
  for (int epoch = 0; epoch < 3; ++epoch) {
    made = 0;
    auto it = dataset.iterator();
    it.next();
    EXPECT_EQ(made, 1) << "the first element comes at once, no buffer is filled before";
    while (it.next()) EXPECT_LE(memory_stats().in_use, before + 4096);
    EXPECT_EQ(made, 1024);
  }
}

TEST(Shuffle, EachPassHasAnOrderOfItsOwn) {
  const auto dataset = range(50).shuffle(50, {.seed = 5});
  const Numbers first = read(dataset), second = read(dataset), third = read(dataset);
  EXPECT_NE(first, second);
  EXPECT_NE(second, third);
  EXPECT_EQ(read(dataset, 0), first);  // a pass can be had again, in another process too
  EXPECT_EQ(read(dataset, 1), second);
  EXPECT_EQ(read(range(50).shuffle(50, {.seed = 5})), first);
  EXPECT_NE(read(range(50).shuffle(50, {.seed = 6})), first);
  EXPECT_NE(read(range(50).shuffle(50)), read(range(50).shuffle(50)));
}

TEST(Shuffle, KeepsItsOrderIfAsked) {
  const auto dataset = range(50).shuffle(50, {.seed = 5, .reshuffle_each_iteration = false});
  const Numbers first = read(dataset);
  EXPECT_EQ(read(dataset), first);
  Numbers twice = first;
  twice.insert(twice.end(), first.begin(), first.end());
  EXPECT_EQ(read(dataset.repeat(2)), twice);
}

TEST(Shuffle, RepetitionsArePassesWithOrdersOfTheirOwn) {
  const auto once = range(20).shuffle(20, {.seed = 9});
  Numbers expected;
  for (int64_t pass = 0; pass < 3; ++pass) {
    for (const int64_t x : read(once, pass)) expected.push_back(x);
  }
  EXPECT_EQ(read(once.repeat(3), 0), expected);
  EXPECT_EQ(read(once.repeat().take(60), 0), expected);
  const Numbers next = read(once.repeat(3), 1);
  EXPECT_EQ(Numbers(next.begin(), next.begin() + 20), read(once, 3));
  EXPECT_NE(read(once.repeat().take(60), 1), expected);
}

TEST(Shuffle, SkippingLeavesTheOrder) {
  for (const auto& input : {range(30), counter(30)}) {
    const auto dataset = input.shuffle(8, {.seed = 3});
    const Numbers all = read(dataset, 0);
    auto it = dataset.iterator({.pass = 0});
    EXPECT_EQ(it.skip(12), 12);
    EXPECT_EQ(it.next(), std::optional(all[12]));
    EXPECT_EQ(it.skip(100), 17);
    EXPECT_EQ(it.next(), std::nullopt);
  }
}

TEST(Shuffle, AnErrorOfTheInputLosesNoOtherElement) {
  int calls = 0;
  const auto dataset = counter(20)
                           .map([&calls](int64_t i) {
                             if (++calls == 9) throw std::runtime_error("ninth");
                             return i;
                           })
                           .shuffle(4, {.seed = 1});
  auto it = dataset.iterator();
  Numbers got;
  int errors = 0;
  while (true) {
    try {
      const auto x = it.next();
      if (!x) break;
      got.push_back(*x);
    } catch (const std::runtime_error&) {
      ++errors;
    }
  }
  EXPECT_EQ(errors, 1);
  EXPECT_EQ(got.size(), 19U);
  EXPECT_EQ(std::ranges::count(got, 8), 0);
}

TEST(Shuffle, TakesUnknownAndRefusesSenselessSizes) {
  EXPECT_EQ(sorted(read(counter(5).shuffle(kUnknown))), (Numbers{0, 1, 2, 3, 4}));
  EXPECT_EQ(read(range(0).shuffle(0)), Numbers());
  for (const int64_t size : {int64_t{0}, int64_t{-1}}) EXPECT_THROW(range(5).shuffle(size), Error);
  EXPECT_THROW(range(5).repeat().shuffle(range(5).repeat().size()), Error);
}

}  // namespace
}  // namespace hone::data
