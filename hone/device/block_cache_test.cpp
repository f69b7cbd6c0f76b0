#include "hone/device/block_cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "hone/device/device.h"

namespace hone::block_cache {
namespace {

TEST(BlockCache, ClassesServeWhatIsAskedWithBoundedWaste) {
  const auto check = [](size_t bytes) {
    const int size_class = class_of(bytes);
    const size_t served = class_bytes(size_class);
    ASSERT_GE(served, bytes);
    ASSERT_LE(served - bytes, std::max<size_t>(63, bytes / 8)) << bytes;
    ASSERT_EQ(served % 64, 0U) << bytes;
    if (size_class > 0) {
      ASSERT_LT(class_bytes(size_class - 1), bytes) << "a smaller class would do";
    }
  };
  for (size_t bytes = 1; bytes < 20000; ++bytes) check(bytes);
  for (int octave = 14; octave < 48; ++octave) {
    for (size_t eighth = 0; eighth < 8; ++eighth) {
      const size_t at = (size_t{8} + eighth) << (octave - 3);
      for (size_t bytes : {at - 1, at, at + 1}) check(bytes);
    }
  }
  EXPECT_EQ(class_of(0), class_of(1));
}

TEST(BlockCache, ClassesGrow) {
  for (int c = 1; c < class_of(size_t{1} << 48); ++c) {
    ASSERT_GT(class_bytes(c), class_bytes(c - 1));
    ASSERT_EQ(class_of(class_bytes(c)), c);
  }
}

// Sizes of this test only, so that what others cached does not come.
constexpr size_t kSmall = 23 * 1024, kLarge = 200 * 1024;

TEST(BlockCache, GivesBackWhatItWasGiven) {
  for (size_t bytes : {kSmall, kLarge}) {
    release();
    const int size_class = class_of(bytes);
    EXPECT_EQ(take(size_class), nullptr);
    void* block = fresh(size_class);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0U);
    std::memset(block, 1, class_bytes(size_class));
    const size_t before = cached_bytes();
    give(block, size_class);
    EXPECT_EQ(cached_bytes(), before + class_bytes(size_class));
    EXPECT_EQ(take(size_class), block);
    EXPECT_EQ(cached_bytes(), before);
    give(block, size_class);
    release();
    EXPECT_EQ(take(size_class), nullptr);
  }
}

TEST(BlockCache, CountsBlocksOfThreadsThatEnded) {
  release();
  const size_t before = cached_bytes();
  std::thread([] {
    std::vector<void*> blocks;
    for (int i = 0; i < 10; ++i) blocks.push_back(fresh(class_of(kSmall)));
    for (void* block : blocks) give(block, class_of(kSmall));
  }).join();
  EXPECT_EQ(cached_bytes(), before + 10 * class_bytes(class_of(kSmall)));
  void* block = take(class_of(kSmall));  // the ended thread's blocks serve the others
  EXPECT_NE(block, nullptr);
  EXPECT_EQ(cached_bytes(), before + 9 * class_bytes(class_of(kSmall)));
  give(block, class_of(kSmall));
  release();
  EXPECT_EQ(cached_bytes(), before);
}

TEST(BlockCache, AThreadKeepsFewBlocksForItself) {
  release();
  const int size_class = class_of(kSmall);
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(fresh(size_class));
  for (void* block : blocks) give(block, size_class);
  std::atomic<int> shared{0};
  std::thread([&] {
    std::vector<void*> mine;
    while (void* block = take(size_class)) mine.push_back(block);
    shared = static_cast<int>(mine.size());
    for (void* block : mine) give(block, size_class);
  }).join();
  EXPECT_EQ(shared, 100 - 64);
  release();
}

TEST(BlockCache, BlocksMoveBetweenThreads) {
  constexpr int kThreads = 4, kRounds = 500;
  std::vector<std::thread> workers;
  std::atomic<void*> slots[kThreads] = {};
  std::atomic<int> wrong{0};
  for (int t = 0; t < kThreads; ++t) {
    workers.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        auto* block = static_cast<int*>(pool_allocate(kSmall));
        block[0] = t;
        block[1] = i;
        // Leaves its block for another thread to free, and frees what it finds.
        if (auto* found = static_cast<int*>(slots[(t + i) % kThreads].exchange(block))) {
          if (found[0] < 0 || found[0] >= kThreads || found[1] < 0 || found[1] >= kRounds) ++wrong;
          pool_free(found, kSmall);
        }
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  for (auto& slot : slots) {
    if (void* block = slot.load()) pool_free(block, kSmall);
  }
  EXPECT_EQ(wrong, 0);
  release();
}

// The child has the forking thread only: locks and lists must be whole for it.
TEST(BlockCache, AForkedChildAllocatesWhileOthersDid) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> workers;
  for (int t = 0; t < 2; ++t) {
    workers.emplace_back([&stop] {
      while (!stop) {
        void *small = pool_allocate(kSmall), *large = pool_allocate(kLarge);
        pool_free(large, kLarge);
        pool_free(small, kSmall);
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(20);  // a deadlock ends the child
      for (int k = 0; k < 20; ++k) {
        void *small = pool_allocate(kSmall), *large = pool_allocate(kLarge);
        pool_free(large, kLarge);
        pool_free(small, kSmall);
      }
      const size_t cached = cached_bytes();
      release();
      _exit(cached >= class_bytes(class_of(kSmall)) + class_bytes(class_of(kLarge)) && cached_bytes() == 0 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  stop = true;
  for (std::thread& worker : workers) worker.join();
}

}  // namespace
}  // namespace hone::block_cache
