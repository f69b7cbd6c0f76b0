#include "hone/tensor/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <thread>

#include "hone/base/error.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/reduction.h"
#include "hone/tensor/check_test.h"
#include "hone/tensor/half.h"

namespace hone {
namespace {

template <class T>
void expect_round_trip(const std::vector<T>& values) {
  const Tensor x = Tensor::from(values, {static_cast<int64_t>(values.size())});
  EXPECT_EQ(x.dtype(), dtype_of<T>());
  EXPECT_EQ(x.to_vector<T>(), values);
}

TEST(Tensor, KeepsTheValuesItIsMadeOf) {
  expect_round_trip<float>({1, -2.5F});
  expect_round_trip<double>({1e300, -0.0});
  expect_round_trip<int8_t>({-128, 127});
  expect_round_trip<int16_t>({-32768});
  expect_round_trip<int32_t>({INT32_MIN, 0, INT32_MAX});
  expect_round_trip<int64_t>({INT64_MIN, INT64_MAX});
  expect_round_trip<uint8_t>({0, 255});
  expect_round_trip<uint16_t>({65535});
  expect_round_trip<uint32_t>({UINT32_MAX});
  expect_round_trip<uint64_t>({UINT64_MAX});
  expect_round_trip<bool>({true, false, true});
  expect_round_trip<float>({});
}

TEST(Tensor, IsAHandle) {
  const Tensor x = Tensor::of<float>({1, 2});
  const Tensor y = x;
  EXPECT_EQ(y.id(), x.id());
  EXPECT_EQ(y.data<float>().data(), x.data<float>().data());
  EXPECT_FALSE(Tensor().defined());
  EXPECT_EQ(x.rank(), 1);
  EXPECT_EQ(x.dim(-1), 2);
  EXPECT_EQ(x.bytes(), 8U);
  EXPECT_EQ(Tensor(2.0).rank(), 0);
  message(Code::kOutOfRange, [&] { (void)x.dim(1); });
}

TEST(Tensor, CopiesWhatItIsMadeOf) {
  std::vector<int> values{1, 2};
  const Tensor x = Tensor::from(values, {2});
  values[0] = 9;
  EXPECT_EQ(x.to_vector<int>(), (std::vector{1, 2}));
}

TEST(Tensor, ACountThatIsNotTheShapesIsAnError) {
  const std::string text = message(Code::kInvalidArgument, [] { Tensor::from<int>({1, 2, 3}, {2, 2}); });
  EXPECT_TRUE(contains(text, "3 values do not fill a tensor of i32[2,2]")) << text;
  EXPECT_TRUE(contains(text, "tensor_test.cpp")) << text;
  message(Code::kInvalidArgument, [] { Tensor::from(std::vector<int>(), {}); });
  message(Code::kInvalidArgument, [] { Tensor::from<int>({1}, {0}); });
}

TEST(Tensor, ShapesThatCannotExistAreErrors) {
  const int64_t big = int64_t{1} << 60;
  for (const Shape& shape : {Shape{-1}, Shape{0, -1}, Shape{-2, -2}, Shape{big, 16}, Shape{big, big, big, big},
                             Shape{INT64_MAX}, Shape{INT64_MIN}}) {
    message(Code::kInvalidArgument, [&] { Tensor::empty({f32, shape}); });
    const float data = 0;
    message(Code::kInvalidArgument, [&] { Tensor::borrow(&data, shape, f32); });
  }
  message(Code::kFailedPrecondition, [] { Tensor::empty({f32, {Dim("tensor_batch")}}); });
  for (int64_t exponent = 47; exponent <= 60; ++exponent)
    message(Code::kResourceExhausted, [=] { Tensor::empty({i8, {int64_t{1} << exponent, 1}}); });
  EXPECT_EQ(Tensor::empty({f32, {big, 0, big}}).size(), 0);  // nothing to hold
}

TEST(Tensor, ReadingAsAnotherDtypeIsAnError) {
  const Tensor x = Tensor::of<float>({1});
  const std::string text = message(Code::kInvalidArgument, [&] { (void)x.data<int>(); });
  EXPECT_TRUE(contains(text, "a tensor of f32[1] read as i32")) << text;
  EXPECT_TRUE(contains(text, "cast(x, i32)")) << text;
  message(Code::kInvalidArgument, [&] { (void)x.to_vector<double>(); });
  message(Code::kFailedPrecondition, [] { (void)Tensor().data<float>(); });
  message(Code::kFailedPrecondition, [] { (void)Tensor().item<float>(); });
}

TEST(Tensor, ItemIsTheOnlyElement) {
  EXPECT_EQ(Tensor(2.5F).item<double>(), 2.5);
  EXPECT_EQ(Tensor::from<int>({7}, {1, 1}).item<int64_t>(), 7);
  EXPECT_EQ(Tensor(true).item<bool>(), true);
  EXPECT_EQ(Tensor::of<Float16>({to_float16(0.5F)}).item<float>(), 0.5F);
  const std::string text = message(Code::kInvalidArgument, [] { (void)Tensor::of<int>({1, 2}).item<int>(); });
  EXPECT_TRUE(contains(text, "x: i32[2]")) << text;
  message(Code::kInvalidArgument, [] { (void)zeros({0}).item<float>(); });
}

TEST(Tensor, ItemConvertsAsCastDoes) {
  const double inf = std::numeric_limits<double>::infinity();
  const double values[] = {std::nan(""), inf, -inf, 1e300, -1e300, 1e19, 3e9, -3e9, 300.7, -1.5, 0.9};
  for (double value : values) {
    const Tensor x(value);
    EXPECT_EQ(x.item<int8_t>(), cast(x, i8).to_vector<int8_t>()[0]) << value;
    EXPECT_EQ(x.item<int32_t>(), cast(x, i32).to_vector<int32_t>()[0]) << value;
    EXPECT_EQ(x.item<uint32_t>(), cast(x, u32).to_vector<uint32_t>()[0]) << value;
    EXPECT_EQ(x.item<int64_t>(), cast(x, i64).to_vector<int64_t>()[0]) << value;
    EXPECT_EQ(x.item<uint64_t>(), cast(x, u64).to_vector<uint64_t>()[0]) << value;
    EXPECT_EQ(x.item<bool>(), cast(x, bool_).to_vector<bool>()[0]) << value;
  }
  for (int64_t value : {INT64_MIN, INT64_MAX, int64_t{5000000000}, int64_t{-1}, (int64_t{1} << 53) + 1}) {
    const Tensor x(value);
    EXPECT_EQ(x.item<int64_t>(), value);
    EXPECT_EQ(x.item<int32_t>(), cast(x, i32).to_vector<int32_t>()[0]) << value;
    EXPECT_EQ(x.item<uint64_t>(), cast(x, u64).to_vector<uint64_t>()[0]) << value;
  }
  EXPECT_EQ(Tensor(UINT64_MAX).item<uint64_t>(), UINT64_MAX);
}

TEST(Tensor, BorrowsWithoutCopy) {
  const std::vector<float> memory{1, 2, 3, 4, 5, 6};
  const Tensor x = Tensor::borrow(memory.data(), {2, 3}, f32);
  EXPECT_EQ(x.data<float>().data(), memory.data());
  EXPECT_FALSE(x.exclusive());
  EXPECT_EQ((x + 1).to_vector<float>(), (std::vector<float>{2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(memory[0], 1);
  EXPECT_EQ(Tensor::borrow(nullptr, {0, 3}, f32).size(), 0);
  message(Code::kInvalidArgument, [] { Tensor::borrow(nullptr, {1}, f32); });
}

TEST(Tensor, ReadsPaddedRows) {
  // Two rows of three pixels of two channels, 8 bytes a row.
  const std::vector<uint8_t> image{1, 2, 3, 4, 5, 6, 99, 99, 7, 8, 9, 10, 11, 12, 99, 99};
  const Tensor x = Tensor::borrow(image.data(), {2, 3, 2}, u8, {.row_bytes = 8});
  const std::vector<uint8_t> pixels{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  EXPECT_EQ((x + 0).to_vector<uint8_t>(), pixels);
  EXPECT_EQ(x.to_vector<uint8_t>(), pixels);
  EXPECT_EQ(x.data<uint8_t>().data(), x.data<uint8_t>().data());  // packed once
  EXPECT_EQ((x + 0).to_vector<uint8_t>(), pixels);                // and still the same to ops
  EXPECT_EQ(x[1].to_vector<uint8_t>(), (std::vector<uint8_t>{7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(sum(cast(x, i32)).item<int>(), 78);

  const Tensor gray = Tensor::borrow(image.data(), {2, 6}, u8, {.row_bytes = 8});
  EXPECT_EQ(gray.to_vector<uint8_t>(), pixels);
  const Tensor batch = Tensor::borrow(image.data(), {1, 2, 3, 2}, u8, {.row_bytes = 8});
  EXPECT_EQ(batch.to_vector<uint8_t>(), pixels);
  const Tensor dense = Tensor::borrow(image.data(), {2, 8}, u8, {.row_bytes = 8});
  EXPECT_EQ(static_cast<const void*>(dense.data<uint8_t>().data()), image.data());
}

TEST(Tensor, RowsThatDoNotFitAreErrors) {
  const std::vector<float> memory(64);
  const auto borrow = [&](const Shape& shape, size_t row_bytes) {
    return message(Code::kInvalidArgument,
                   [&] { Tensor::borrow(memory.data(), shape, f32, {.row_bytes = row_bytes}); });
  };
  EXPECT_TRUE(contains(borrow({2, 4}, 12), "a row has 16 bytes"));
  borrow({2, 4}, 18);  // not a multiple of the element
  borrow({4}, 32);     // no rows
}

TEST(Tensor, RunsTheDeleterOnceAfterTheLastView) {
  const std::vector<float> memory{1, 2, 3, 4};
  int runs = 0;
  {
    Tensor view, alias, packed;
    {
      const Tensor x = Tensor::borrow(memory.data(), {2, 2}, f32, {.deleter = [&] { ++runs; }});
      const Tensor copy = x;
      view = x[1];
      alias = reshape(x, {4});
      packed = x + 1;
    }
    EXPECT_EQ(runs, 0);
    EXPECT_EQ(view.to_vector<float>(), (std::vector<float>{3, 4}));
    view = Tensor();
    EXPECT_EQ(runs, 0);
    alias = Tensor();
    EXPECT_EQ(runs, 1);
  }
  EXPECT_EQ(runs, 1);
}

TEST(Tensor, TheDeleterOfARefusedBorrowDoesNotRun) {
  const float memory = 0;
  int runs = 0;
  message(Code::kInvalidArgument, [&] { Tensor::borrow(&memory, {-1}, f32, {.deleter = [&] { ++runs; }}); });
  EXPECT_EQ(runs, 0);
}

TEST(Tensor, SlicesOfAxisZeroShareMemory) {
  const Tensor x = reshape(iota({12}, 0), {4, 3});
  const int* base = x.data<int>().data();
  EXPECT_EQ(x[2].data<int>().data(), base + 6);
  EXPECT_EQ(x[slice(1, 3)].data<int>().data(), base + 3);
  EXPECT_EQ(x[-1][slice(1)].data<int>().data(), base + 10);
  EXPECT_EQ(reshape(x, {3, 4}).data<int>().data(), base);
  EXPECT_NE((x[{ellipsis, slice(0, 2)}]).data<int>().data(), base);
}

TEST(Tensor, AViewKeepsItsMemoryAndItsElements) {
  Tensor x = Tensor::of<float>({1, 2, 3, 4});
  const Tensor tail = x[slice(2)];
  x = x * 10;  // must not be computed in the memory that the view sees
  EXPECT_EQ(tail.to_vector<float>(), (std::vector<float>{3, 4}));
  x = Tensor();
  EXPECT_EQ(tail.to_vector<float>(), (std::vector<float>{3, 4}));
}

TEST(Tensor, ABroadcastIsPackedForTheHostOnly) {
  const Tensor x = broadcast_to(Tensor::of<float>({1, 2}), {3, 2});
  EXPECT_FALSE(x.layout().dense);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(sum(x).item<float>(), 9);
  EXPECT_EQ(sum(x, 0).to_vector<float>(), (std::vector<float>{3, 6}));
  EXPECT_EQ(full({2, 2}, 7, i32).to_vector<int>(), (std::vector{7, 7, 7, 7}));
}

// Reading packs; another thread may be reading the elements through their strides at that moment.
TEST(Tensor, IsReadFromSeveralThreads) {
  for (int round = 0; round < 50; ++round) {
    const Tensor x = broadcast_to(Tensor::of<float>({1, 2, 3}), {5, 3});
    std::vector<std::thread> workers;
    std::vector<float> sums(4);
    for (size_t t = 0; t < sums.size(); ++t) {
      workers.emplace_back([&x, &sums, t] {
        if (t % 2 == 0) {
          for (float value : x.data<float>()) sums[t] += value;
        } else {
          sums[t] = sum(x * 1).item<float>();
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
    for (float total : sums) EXPECT_EQ(total, 30);
  }
}

TEST(Tensor, IdsAreUniqueOverThreads) {
  std::vector<std::vector<uint64_t>> ids(4);
  std::vector<std::thread> workers;
  for (auto& mine : ids) {
    workers.emplace_back([&mine] {
      for (int i = 0; i < 1500; ++i) mine.push_back(Tensor(1).id());
    });
  }
  for (std::thread& worker : workers) worker.join();
  std::vector<uint64_t> all;
  for (const auto& mine : ids) all.insert(all.end(), mine.begin(), mine.end());
  std::ranges::sort(all);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
  EXPECT_NE(all[0], 0U);
}

}  // namespace
}  // namespace hone
