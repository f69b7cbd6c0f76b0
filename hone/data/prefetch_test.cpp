#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "hone/base/error.h"
#include "hone/base/parallel.h"
#include "hone/data/data.h"
#include "hone/device/device.h"

namespace hone::data {
namespace {

using Numbers = std::vector<int64_t>;

Numbers read(const Dataset<int64_t>& dataset) {
  Numbers out;
  for (const int64_t x : dataset) out.push_back(x);
  return out;
}

int64_t threads_of_process() {
  const auto begin = std::filesystem::directory_iterator("/proc/self/task");
  return std::distance(begin, std::filesystem::directory_iterator());
}

/// Waits, at most some seconds, until `condition` holds.
bool eventually(const auto& condition) {
  for (int i = 0; i < 5000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return condition();
}

TEST(Prefetch, KeepsOrderAndSize) {
  for (const int64_t depth : {0, 1, 2, 100, AUTOTUNE}) {
    for (const int64_t n : {0, 1, 500}) {
      const auto dataset = range(n).map([](int64_t i) { return i * 3; });
      EXPECT_EQ(read(dataset.prefetch(depth)), read(dataset));
      EXPECT_EQ(dataset.prefetch(depth).size(), n);
    }
  }
  EXPECT_THROW(range(3).prefetch(-2), Error);
  auto it = range(2).prefetch(1).iterator();
  it.next(), it.next();
  EXPECT_EQ(it.next(), std::nullopt);
  EXPECT_EQ(it.next(), std::nullopt);
}

TEST(Prefetch, RunsAheadByItsDepthAndNoFurther) {
  std::atomic<int> made{0};
  auto it = range(100).map([&](int64_t i) { return ++made, i; }).prefetch(3).iterator();
  EXPECT_TRUE(eventually([&] { return made == 3; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(made, 3);
  it.next();
  EXPECT_TRUE(eventually([&] { return made == 4; }));
}

TEST(Prefetch, AutotuneIsBoundedByBytes) {
  const int before = threads();
  set_threads(2);
  std::atomic<int> made{0};
  auto it =
      range(100).map([&](int64_t) { return ++made, Tensor::empty({u8, {20 << 20}}); }).prefetch(AUTOTUNE).iterator();
  EXPECT_TRUE(eventually([&] { return made == 2; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(made, 2);  // 40 MiB are ready
  set_threads(before);
}

TEST(Prefetch, ErrorsReachTheReaderInTheirPlace) {
  const auto dataset = range(6).map([](int64_t i) {
    if (i == 2) throw Error(Code::kNumerical, "element 2 is bad");
    if (i == 4) throw std::runtime_error("element 4 is bad");
    return i;
  });
  for (const int64_t depth : {0, 1, 10}) {
    auto it = dataset.prefetch(depth).iterator();
    std::string log;
    while (true) {
      try {
        const auto x = it.next();
        if (!x) break;
        log += std::to_string(*x) + ";";
      } catch (const std::exception& e) {
        log += std::string(e.what()) + ";";
      }
    }
    EXPECT_EQ(log, "0;1;element 2 is bad;3;element 4 is bad;5;") << depth;
  }
}

TEST(Prefetch, AnAbandonedPassEndsItsThreadAndMemory) {
  const auto dataset = range(1000000)
                           .map([](int64_t i) { return Tensor::from(std::vector<int64_t>(64, i), {64}); })
                           .batch(2)
                           .prefetch(3)
                           .prefetch(2);
  const size_t bytes = memory_stats().in_use;
  const int64_t count = threads_of_process();
  for (int i = 0; i < 200; ++i) {
    auto it = dataset.iterator();
    if (i % 2 != 0) {
      EXPECT_EQ((*it.next()).dim(0), 2);
    }
  }
  EXPECT_TRUE(eventually([&] { return threads_of_process() == count; }));
  EXPECT_EQ(memory_stats().in_use, bytes);
}

TEST(Prefetch, TheReaderMayThrowInItsLoop) {
  const int64_t count = threads_of_process();
  EXPECT_THROW(
      {
        for (const int64_t x : range(1000).prefetch(4)) {
          if (x == 10) throw std::runtime_error("enough");
        }
      },
      std::runtime_error);
  EXPECT_TRUE(eventually([&] { return threads_of_process() == count; }));
}

TEST(Prefetch, AutotuneMakesNoThreadWhereThereIsOneCpu) {
  const int before = threads();
  set_threads(1);
  const auto here = std::this_thread::get_id();
  bool same = true;
  for (const int64_t x : range(20)
                             .map([&](int64_t i) { return same = same && std::this_thread::get_id() == here, i; })
                             .prefetch(AUTOTUNE))
    EXPECT_GE(x, 0);
  EXPECT_TRUE(same);
  set_threads(before);
}

TEST(Prefetch, LoopsInThePipelineStayOnItsThread) {
  std::atomic<bool> alone{true};
  const auto dataset = range(4).map([&](int64_t i) {
    const auto here = std::this_thread::get_id();
    parallel_for(1 << 16, 1, [&](int64_t, int64_t) { alone = alone && std::this_thread::get_id() == here; });
    return i;
  });
  EXPECT_EQ(read(dataset.prefetch(2)).size(), 4U);
  EXPECT_TRUE(alone);
}

TEST(Prefetch, TwoPassesAtOnceShareACache) {
  std::atomic<int> calls{0};
  for (const bool indexed : {true, false}) {
    const auto input =
        indexed ? range(300)
                : generator([i = int64_t{0}]() mutable { return i < 300 ? std::optional(i++) : std::nullopt; });
    const auto dataset = input.map([&](int64_t i) { return ++calls, i; }).cache().prefetch(4);
    Numbers first, second;
    std::thread other([&] { first = read(dataset); });
    second = read(dataset);
    other.join();
    EXPECT_EQ(first, second);
    EXPECT_EQ(first.size(), 300U);
  }
  EXPECT_GE(calls, 600);
}

}  // namespace
}  // namespace hone::data
