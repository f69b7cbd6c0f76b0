#include "hone/data/dataset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <stdexcept>

#include "hone/base/error.h"
#include "hone/base/log.h"
#include "hone/data/sources.h"
#include "hone/device/device.h"

namespace hone::data {
namespace {

using Numbers = std::vector<int64_t>;

Numbers upto(int64_t n) {
  Numbers out(static_cast<size_t>(n));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

Numbers read(const Dataset<int64_t>& dataset) {
  Numbers out;
  for (const int64_t x : dataset) out.push_back(x);
  return out;
}

std::vector<Numbers> read(const Dataset<Tensor>& dataset) {
  std::vector<Numbers> out;
  for (const Tensor& x : dataset) out.push_back(x.to_vector<int64_t>());
  return out;
}

/// 0, 1, ..., n - 1 where the engine can have no element by index.
Dataset<int64_t> counter(int64_t n) {
  return generator([i = int64_t{0}, n]() mutable { return i < n ? std::optional(i++) : std::nullopt; });
}

std::string message_of(const auto& call, Code code = Code::kInvalidArgument) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "no Error";
  return "";
}

TEST(Dataset, RangeCountsAsPythons) {
  EXPECT_EQ(read(range(4)), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(read(range(2, 9, 3)), (Numbers{2, 5, 8}));
  EXPECT_EQ(read(range(5, 0, -2)), (Numbers{5, 3, 1}));
  EXPECT_EQ(read(range(3, 3)), Numbers());
  EXPECT_EQ(read(range(-1)), Numbers());
  EXPECT_EQ(range(INT64_MIN + 1, INT64_MAX, INT64_MAX).size(), 2);
  message_of([] { range(0, 1, 0); });
  message_of([] { range(INT64_MIN, INT64_MAX); }, Code::kOutOfRange);
}

TEST(Dataset, SlicesAreViewsOfTheRows) {
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {3, 2}), y = Tensor::of<uint8_t>({7, 8, 9});
  const auto dataset = from_tensor_slices(x, y);
  EXPECT_EQ(dataset.size(), 3);
  EXPECT_EQ(to_string(dataset.element_spec()), "(f32[2], u8[])");
  int row = 0;
  for (const auto& [a, b] : dataset) {
    EXPECT_EQ(a.data<float>().data(), x.data<float>().data() + 2 * row);
    EXPECT_EQ(b.item<int>(), 7 + row++);
  }
  EXPECT_EQ(row, 3);
  const Tensor batch = *from_tensor_slices(x).batch(2).begin();
  EXPECT_EQ(batch.raw(), x.raw());
  EXPECT_NE(message_of([&] { from_tensor_slices(x, Tensor::of<float>({1, 2})); }).find("argument 1: f32[2]"),
            std::string::npos);
  EXPECT_NE(message_of([&] { from_tensor_slices(Tensor(1.F)); }).find("dataset_test.cpp"), std::string::npos);
  EXPECT_EQ(from_tensor_slices(Tensor::empty({f32, {0, 4}})).size(), 0);
}

TEST(Dataset, GeneratorStartsAnewInEachPass) {
  const auto dataset = counter(3);
  EXPECT_EQ(dataset.size(), kUnknown);
  EXPECT_EQ(read(dataset), upto(3));
  EXPECT_EQ(read(dataset), upto(3));
  int calls = 0;
  const auto ends_once = generator([&calls]() -> std::optional<std::tuple<int, const char*>> {
    if (++calls == 2) return std::nullopt;
    return std::tuple{calls, "name"};
  });
  auto it = ends_once.iterator();
  EXPECT_EQ(it.next(), std::optional(std::tuple(1, std::string("name"))));
  EXPECT_EQ(it.next(), std::nullopt);
  EXPECT_EQ(it.next(), std::nullopt);
  EXPECT_EQ(calls, 2);
}

TEST(Dataset, MapTakesTensorsAndPlainValues) {
  EXPECT_EQ(read(range(3).map([](int64_t i) { return i * i; })), (Numbers{0, 1, 4}));
  const auto pairs = range(2).map([](int64_t i) { return std::pair{i, std::to_string(i)}; });
  static_assert(std::is_same_v<decltype(pairs), const Dataset<int64_t, std::string>>);
  const auto back = pairs.map([](int64_t i, const std::string& text) { return text + std::to_string(i); });
  EXPECT_EQ(*back.skip(1).begin(), "11");
  const auto literal = range(1).map([](int64_t) { return "text"; });
  static_assert(std::is_same_v<decltype(literal), const Dataset<std::string>>);
  const auto tensors = range(2).map([](int64_t i) { return std::tuple{Tensor(static_cast<float>(i)), 2.5}; },
                                    {.num_parallel_calls = AUTOTUNE});
  static_assert(std::is_same_v<decltype(tensors), const Dataset<Tensor, double>>);
  EXPECT_EQ(to_string(tensors.element_spec()), "(f32[], f64)");
  struct Own {
    std::vector<int> values;
    std::string name[3];
  };
  const auto own = range(3).map([](int64_t i) { return Own{std::vector<int>(static_cast<size_t>(i)), {}}; }).cache();
  EXPECT_EQ((*own.skip(2).begin()).values.size(), 2U);
  message_of([] { range(3).map([](int64_t i) { return i; }, {.num_parallel_calls = 0}); });
}

TEST(Dataset, BatchJoinsEachKindInItsWay) {
  const auto dataset = range(5).map([](int64_t i) {
    return std::tuple{Tensor::of<int64_t>({i, -i}), static_cast<float>(i), i % 2 == 0, std::to_string(i)};
  });
  const auto batches = dataset.batch(3);
  static_assert(std::is_same_v<decltype(batches), const Dataset<Tensor, Tensor, Tensor, std::vector<std::string>>>);
  EXPECT_EQ(batches.size(), 2);
  auto it = batches.iterator();
  const auto [a, b, c, d] = *it.next();
  EXPECT_EQ(to_string(a.type()), "i64[3,2]");
  EXPECT_EQ(a.to_vector<int64_t>(), (Numbers{0, 0, 1, -1, 2, -2}));
  EXPECT_EQ(b.to_vector<float>(), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(c.to_vector<bool>(), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(d, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(std::get<0>(*it.next()).dim(0), 2);
  EXPECT_FALSE(it.next());
  EXPECT_EQ(to_string(batches.element_spec()), "(i64[batch,2], f32[batch], bool[batch], vector)");
  EXPECT_EQ(to_string(dataset.batch(3, {.drop_remainder = true}).element_spec()),
            "(i64[3,2], f32[3], bool[3], vector)");
  EXPECT_EQ(read(range(6).batch(2).batch(2)), (std::vector<Numbers>{{0, 1, 2, 3}, {4, 5}}));
}

TEST(Dataset, BatchKeepsOrDropsTheRemainder) {
  for (const int64_t n : {0, 1, 2, 3, 4, 6, 7}) {
    for (const auto& input : {range(n), counter(n)}) {
      const auto kept = read(input.batch(3)), full = read(input.batch(3, {.drop_remainder = true}));
      EXPECT_EQ(static_cast<int64_t>(kept.size()), (n + 2) / 3);
      EXPECT_EQ(static_cast<int64_t>(full.size()), n / 3);
      for (const Numbers& batch : full) EXPECT_EQ(batch.size(), 3U);
    }
    EXPECT_EQ(range(n).batch(3).size(), (n + 2) / 3);
    EXPECT_EQ(range(n).batch(3, {.drop_remainder = true}).size(), n / 3);
  }
  message_of([] { range(3).batch(0); });
}

TEST(Dataset, BatchOfUnevenTensorsNamesThem) {
  const auto uneven =
      range(3).map([](int64_t i) { return std::pair{Tensor(1.F), Tensor::empty({f32, {i < 2 ? 2 : 3}})}; });
  const std::string message = message_of([&] { uneven.batch(3).begin(); });
  EXPECT_NE(message.find("component 1: element 0 of the batch is f32[2], element 2 is f32[3]"), std::string::npos)
      << message;
  EXPECT_NE(message_of([] { range(2).map([](int64_t) { return Tensor(); }).batch(2).begin(); }).find("never set"),
            std::string::npos);
}

TEST(Dataset, PartsAndRepetitionsHaveTheirSizes) {
  for (const auto& input : {range(5), counter(5), range(5).map([](int64_t i) { return i; }), counter(5).cache()}) {
    EXPECT_EQ(read(input.take(2)), upto(2));
    EXPECT_EQ(read(input.take(0)), Numbers());
    EXPECT_EQ(read(input.take(-1)), upto(5));
    EXPECT_EQ(read(input.take(9)), upto(5));
    EXPECT_EQ(read(input.skip(3)), (Numbers{3, 4}));
    EXPECT_EQ(read(input.skip(9)), Numbers());
    EXPECT_EQ(read(input.skip(-1)), Numbers());
    EXPECT_EQ(read(input.skip(1).take(3).skip(1)), (Numbers{2, 3}));
    EXPECT_EQ(read(input.take(2).repeat(2).repeat(2)), (Numbers{0, 1, 0, 1, 0, 1, 0, 1}));
    EXPECT_EQ(read(input.take(2).repeat(0)), Numbers());
    EXPECT_EQ(read(input.take(2).repeat().take(5)), (Numbers{0, 1, 0, 1, 0}));
    EXPECT_EQ(read(input.take(2).concatenate(input.skip(4)).concatenate(input.take(1))), (Numbers{0, 1, 4, 0}));
    EXPECT_EQ(read(input.filter([](int64_t i) { return i % 2 == 1; })), (Numbers{1, 3}));
    EXPECT_EQ(read(input.batch(2).skip(1)), (std::vector<Numbers>{{2, 3}, {4}}));
    EXPECT_EQ(read(input.repeat(3).skip(6).batch(4).take(1)), (std::vector<Numbers>{{1, 2, 3, 4}}));
  }
  EXPECT_EQ(read(range(0).repeat()), Numbers());
  EXPECT_EQ(read(range(9).filter([](int64_t) { return false; }).repeat()), Numbers());
  const auto five = range(5);
  EXPECT_EQ(five.repeat().size(), kInfinite);
  EXPECT_EQ(five.repeat(3).size(), 15);
  EXPECT_EQ(five.repeat().take(7).size(), 7);
  EXPECT_EQ(five.repeat().batch(2).size(), kInfinite);
  EXPECT_EQ(five.filter([](int64_t) { return true; }).size(), kUnknown);
  EXPECT_EQ(five.concatenate(five.repeat()).size(), kInfinite);
  EXPECT_EQ(five.concatenate(counter(2)).size(), kUnknown);
  message_of([&] { five.repeat(-2); });
  message_of([&] { five.take(-2); });
}

TEST(Dataset, ZipAndEnumerateStandSideBySide) {
  for (const auto& input : {range(5), counter(5)}) {
    const auto zipped = zip(input, range(3).map([](int64_t i) { return std::to_string(i); }), input.skip(1));
    static_assert(std::is_same_v<decltype(zipped), const Dataset<int64_t, std::string, int64_t>>);
    Numbers sums;
    for (const auto& [a, text, b] : zipped) sums.push_back(100 * a + 10 * std::stoll(text) + b);
    EXPECT_EQ(sums, (Numbers{1, 112, 223}));
    Numbers indices;
    for (const auto& [i, x] : input.skip(2).enumerate(10)) indices.push_back(10 * i + x);
    EXPECT_EQ(indices, (Numbers{102, 113, 124}));
  }
  EXPECT_EQ(zip(range(5), range(3)).size(), 3);
  EXPECT_EQ(zip(range(5).repeat(), range(3)).size(), 3);
  const auto same = counter(4).cache();  // one cache on both sides
  Numbers sums;
  for (const auto& [a, b] : zip(same, same)) sums.push_back(a + b);
  EXPECT_EQ(sums, (Numbers{0, 2, 4, 6}));
}

TEST(Dataset, FastBatchesEqualBatchesOfElements) {
  std::vector<int64_t> values = upto(60);
  const Tensor x = Tensor::from(values, {20, 3}), y = Tensor::from(std::vector<uint8_t>(20, 5), {20});
  const auto slices = from_tensor_slices(x, y).cache().shuffle(20, {.seed = 3});
  const auto slow = slices.map([](Tensor a, Tensor b) { return std::tuple{a, b}; });
  auto fast = slices.batch(6).iterator({.pass = 4}), other = slow.batch(6).iterator({.pass = 4});
  int batches = 0;
  while (auto a = fast.next()) {
    const auto b = other.next();
    ASSERT_TRUE(b);
    EXPECT_EQ(std::get<0>(*a).to_vector<int64_t>(), std::get<0>(*b).to_vector<int64_t>());
    EXPECT_EQ(std::get<1>(*a).to_vector<uint8_t>(), std::get<1>(*b).to_vector<uint8_t>());
    ++batches;
  }
  EXPECT_EQ(batches, 4);
  EXPECT_FALSE(other.next());
}

TEST(Dataset, CacheReadsEachElementOnceAndKeepsAPartialPass) {
  for (const bool indexed : {true, false}) {
    int calls = 0;
    const auto input = indexed ? range(6) : counter(6);
    const auto dataset = input.map([&calls](int64_t i) { return ++calls, i; }).cache();
    EXPECT_EQ(read(dataset.take(4)), upto(4));
    EXPECT_EQ(calls, 4);
    EXPECT_EQ(read(dataset), upto(6));
    EXPECT_EQ(read(dataset), upto(6));
    EXPECT_EQ(calls, 6);
    EXPECT_EQ(dataset.size(), 6);
  }
}

TEST(Dataset, CacheGoesOnAfterAnError) {
  int calls = 0;
  const auto dataset = counter(4)
                           .map([&calls](int64_t i) {
                             if (++calls == 3) throw std::runtime_error("third call");
                             return i;
                           })
                           .cache();
  EXPECT_THROW(read(dataset), std::runtime_error);
  EXPECT_EQ(read(dataset), (Numbers{0, 1, 3}));  // the element of the failed call is lost, as without a cache
}

TEST(Dataset, CacheAfterShuffleWarns) {
  std::string warnings;
  logging::set_sink(
      [](logging::Level, std::string_view text, void* to) { static_cast<std::string*>(to)->append(text); }, &warnings);
  const auto good = range(4).cache().shuffle(4).batch(2);
  const auto fixed = range(4).shuffle(4, {.reshuffle_each_iteration = false}).cache();
  EXPECT_EQ(warnings, "");
  const auto bad = range(4).shuffle(4).batch(2).cache();
  logging::set_sink(nullptr);
  EXPECT_NE(warnings.find("shuffle after cache instead"), std::string::npos);
}

TEST(Dataset, ClassNamesPassThrough) {
  const auto dataset =
      from_tensor_slices(Tensor::of<float>({1, 2}), Tensor::of<uint8_t>({0, 1})).with_class_names({"cat", "dog"});
  const auto batches =
      dataset.cache().shuffle(2).map([](Tensor x, Tensor y) { return std::tuple{x, y}; }).batch(2).prefetch(1);
  EXPECT_EQ(batches.class_names(), (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(zip(range(2), dataset).class_names().size(), 2U);
  EXPECT_TRUE(range(2).class_names().empty());
}

TEST(Dataset, AnEmptyComputedDatasetHasNoSpec) {
  EXPECT_EQ(to_string(range(0).element_spec()), "(i64)");
  message_of([] { range(0).map([](int64_t i) { return i; }).element_spec(); }, Code::kFailedPrecondition);
  EXPECT_EQ(to_string(zip(range(3), counter(1)).enumerate().element_spec()), "(i64, i64, i64)");
}

TEST(Dataset, ManyAbandonedPassesKeepNoMemory) {
  const auto dataset = range(100)
                           .map([](int64_t i) { return Tensor::from(std::vector<int64_t>(64, i), {64}); })
                           .shuffle(50, {.seed = 1})
                           .batch(4);
  const size_t before = memory_stats().in_use;
  for (int i = 0; i < 1000; ++i) EXPECT_EQ((*dataset.begin()).dim(0), 4);
  EXPECT_EQ(memory_stats().in_use, before);
}

TEST(Dataset, PassesOverGeneratorsKeepNothing) {
  const auto token = std::make_shared<int>(0);
  const auto dataset =
      generator([token, i = 0]() mutable {
        return i < 50 ? std::optional(Tensor::from(std::vector<int64_t>(64, i++), {64})) : std::nullopt;
      }).batch(4);
  for (const auto& batch : dataset) EXPECT_LE(batch.dim(0), 4);
  const long owners = token.use_count();
  const size_t before = memory_stats().in_use;
  for (int pass = 0; pass < 200; ++pass) {
    auto it = dataset.iterator();
    for (int i = 0; i < pass % 20; ++i) it.next();  // some passes end early, some do not
  }
  EXPECT_EQ(token.use_count(), owners);
  EXPECT_EQ(memory_stats().in_use, before);
}

TEST(Sources, FashionMnistIsRead) {
  const auto [train, test] = fashion_mnist();
  EXPECT_EQ(train.size(), 60000);
  EXPECT_EQ(test.size(), 10000);
  EXPECT_EQ(to_string(train.element_spec()), "(u8[28,28,1], u8[])");
  EXPECT_EQ(to_string(train.batch(128).element_spec()), "(u8[batch,28,28,1], u8[batch])");
  ASSERT_EQ(train.class_names().size(), 10U);
  EXPECT_EQ(train.class_names()[9], "Ankle boot");
  std::vector<int> counts(10);
  int64_t sum = 0;
  for (const auto& [images, labels] : test.batch(1000)) {
    for (const uint8_t label : labels.data<uint8_t>()) ++counts.at(label);
    for (const uint8_t pixel : images.data<uint8_t>()) sum += pixel;
  }
  EXPECT_EQ(counts, std::vector<int>(10, 1000));
  EXPECT_NEAR(static_cast<double>(sum) / (10000 * 28 * 28), 73.15, 0.01);
  const std::string message = message_of([] { fashion_mnist("/nowhere"); }, Code::kNotFound);
  EXPECT_NE(message.find("apt install dataset-fashion-mnist"), std::string::npos);
}

}  // namespace
}  // namespace hone::data
