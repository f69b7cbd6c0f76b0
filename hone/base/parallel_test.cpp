#include "hone/base/parallel.h"
#include "hone/base/openmp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "hone/base/error.h"

namespace hone {
namespace {

class ThreadsLoop : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { set_threads(GetParam()); }
  void TearDown() override {
    set_executor({});
    set_threads(previous_);
  }
  const int previous_ = threads();
};
INSTANTIATE_TEST_SUITE_P(Counts, ThreadsLoop, testing::Values(1, 2, 3, 7));

TEST_P(ThreadsLoop, VisitsEachIndexOnceInAlignedRanges) {
  for (const int64_t n : {0, 1, 63, 64, 65, 127, 1000, 4096}) {
    for (const int64_t grain : {-1, 0, 1, 64, 1000}) {
      for (const int64_t align : {0, 1, 64}) {
        std::vector<int> visits(static_cast<size_t>(n));
        std::atomic<int64_t> ranges{0}, misaligned{0};
        parallel_for(
            n, grain,
            [&](int64_t begin, int64_t end) {
              ++ranges;
              if (align > 0 && begin % align != 0) ++misaligned;
              for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
            },
            align);
        EXPECT_EQ(visits, std::vector<int>(static_cast<size_t>(n), 1)) << n << " " << grain << " " << align;
        EXPECT_EQ(misaligned, 0);
        EXPECT_LE(ranges, threads());
        EXPECT_LE(ranges, (n + std::max<int64_t>(grain, 1) - 1) / std::max<int64_t>(grain, 1));
      }
    }
  }
}

TEST_P(ThreadsLoop, SplitsIntoAsManyRangesAsThreads) {
  std::atomic<int> ranges{0};
  parallel_for(7 * 64, 64, [&](int64_t, int64_t) { ++ranges; });
  EXPECT_EQ(ranges, threads());
}

TEST_P(ThreadsLoop, RunsEachTaskOnce) {
  for (const int64_t tasks : {0, 1, 2, 5, 100}) {
    std::vector<int> visits(static_cast<size_t>(tasks));
    parallel_tasks(tasks, [&](int64_t i) { ++visits[static_cast<size_t>(i)]; });
    EXPECT_EQ(visits, std::vector<int>(static_cast<size_t>(tasks), 1));
  }
}

TEST_P(ThreadsLoop, TheFirstExceptionByRangeReachesTheCaller) {
  for (const int64_t first : {0, 64, 192}) {
    int64_t seen = -1, expected = -1;
    std::mutex mutex;
    try {
      parallel_for(7 * 64, 64, [&](int64_t begin, int64_t end) {
        if (end <= first) return;
        const std::lock_guard lock(mutex);
        if (expected < 0 || begin < expected) expected = begin;
        throw begin;
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (int64_t begin) {
      seen = begin;
    }
    EXPECT_EQ(seen, expected);
  }
  parallel_for(7 * 64, 64, [](int64_t, int64_t) { EXPECT_TRUE(in_parallel_loop()); });  // still works
  EXPECT_FALSE(in_parallel_loop());
}

TEST_P(ThreadsLoop, AllTasksRunThoughSomeThrow) {
  std::atomic<int> ran{0};
  EXPECT_THROW(parallel_tasks(20,
                              [&](int64_t i) {
                                ++ran;
                                if (i == 3) throw std::out_of_range("3");
                                if (i > 3) throw std::logic_error("later");
                              }),
               std::out_of_range);
  EXPECT_EQ(ran, 20);
}

TEST_P(ThreadsLoop, NestedLoopsStayOnTheirThread) {
  EXPECT_FALSE(in_parallel_loop());
  std::atomic<int> wrong{0}, inner_calls{0};
  parallel_for(
      7, 1,
      [&](int64_t, int64_t) {
        const auto here = std::this_thread::get_id();
        wrong += !in_parallel_loop() || library_threads() != 1;
        parallel_for(10000, 1, [&](int64_t begin, int64_t end) {
          ++inner_calls;
          wrong += std::this_thread::get_id() != here || begin != 0 || end != 10000;
        });
        parallel_tasks(5, [&](int64_t) { wrong += std::this_thread::get_id() != here; });
        run_library([&] { wrong += std::this_thread::get_id() != here || omp_get_max_threads() != 1; });
        wrong += !in_parallel_loop();
      },
      1);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(inner_calls, threads());
  EXPECT_FALSE(in_parallel_loop());
}

TEST_P(ThreadsLoop, LibraryCallsSeeTheThreadCountAndTheHostKeepsItsOwn) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(5);
  omp_set_dynamic(1);
  int inside = 0, dynamic = 1;
  run_library([&] { inside = omp_get_max_threads(), dynamic = omp_get_dynamic(); });
  EXPECT_EQ(inside, library_threads());
  EXPECT_EQ(dynamic, 0);
  EXPECT_EQ(omp_get_max_threads(), 5);
  EXPECT_EQ(omp_get_dynamic(), 1);
  EXPECT_THROW(run_library([] { throw std::runtime_error("library"); }), std::runtime_error);
  EXPECT_EQ(omp_get_max_threads(), 5);
  parallel_for(1000, 1, [](int64_t, int64_t) {});
  EXPECT_EQ(omp_get_max_threads(), 5);
  omp_set_dynamic(0);
  omp_set_num_threads(before);
}

TEST_P(ThreadsLoop, LoopsAndLibraryCallsMayStandInsideALibraryCall) {
  std::atomic<int64_t> sum{0};
  run_library([&] {
    parallel_for(1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    run_library([&] { sum += 1; });
  });
  EXPECT_EQ(sum, 1001);
}

TEST_P(ThreadsLoop, TheExecutorGetsAllSplitWork) {
  int64_t given = 0;
  set_executor([&](int64_t tasks, const std::function<void(int64_t)>& task) {
    given += tasks;
    for (int64_t i = tasks; i-- > 0;) task(i);  // in any order
  });
  EXPECT_TRUE(has_executor());
  EXPECT_EQ(library_threads(), 1);
  const auto here = std::this_thread::get_id();
  std::vector<int> visits(1000);
  parallel_for(1000, 1, [&](int64_t begin, int64_t end) {
    EXPECT_EQ(std::this_thread::get_id(), here);
    for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
  });
  EXPECT_EQ(visits, std::vector<int>(1000, 1));
  EXPECT_EQ(given, threads() == 1 ? 0 : threads());
  given = 0;
  parallel_tasks(20, [&](int64_t i) { ++visits[static_cast<size_t>(i)]; });
  EXPECT_EQ(given, threads() == 1 ? 0 : 20);
  run_library([&] {
    EXPECT_EQ(std::this_thread::get_id(), here);
    EXPECT_EQ(omp_get_max_threads(), 1);
  });
  EXPECT_THROW(parallel_for(1000, 1, [](int64_t, int64_t) { throw std::runtime_error("body"); }), std::runtime_error);
  set_executor({});
  EXPECT_FALSE(has_executor());
}

TEST(ThreadsSettings, RefusesCountsOutOfRange) {
  const int before = threads();
  for (const int count : {0, -1, 1025}) {
    try {
      set_threads(count);
      ADD_FAILURE() << count;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find("got " + std::to_string(count)), std::string::npos) << error.what();
    }
  }
  EXPECT_EQ(threads(), before);
  EXPECT_GE(cpu_budget(), 1);
}

}  // namespace
}  // namespace hone
