#include "hone/base/arena.h"

#include <gtest/gtest.h>

#include <limits>
#include <new>
#include <vector>

namespace hone {
namespace {

struct Pair {
  int a, b;
};

TEST(Arena, GivesAlignedBytesThatDoNotOverlap) {
  Arena arena(256);
  std::vector<std::pair<unsigned char*, size_t>> blocks;
  for (const size_t align : {1, 8, 64, 4096}) {
    for (const size_t bytes : {0, 1, 7, 100, 1000}) {
      auto* const block = static_cast<unsigned char*>(arena.allocate(bytes, align));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % align, 0u);
      std::memset(block, static_cast<int>(blocks.size()), bytes);
      blocks.emplace_back(block, bytes);
    }
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    for (size_t j = 0; j < blocks[i].second; ++j) ASSERT_EQ(blocks[i].first[j], i);
  }
}

TEST(Arena, ResetReusesItsChunks) {
  Arena arena(256);
  size_t capacity = 0;
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 50; ++i) arena.allocate(100);
    arena.allocate(5000);
    EXPECT_GE(arena.used(), 50 * 100 + 5000u);
    if (round == 0) capacity = arena.capacity();
    EXPECT_EQ(arena.capacity(), capacity) << "round " << round;
    arena.reset();
    EXPECT_EQ(arena.used(), 0u);
  }
}

TEST(Arena, HoldsObjectsArraysAndCopies) {
  Arena arena;
  const Pair* const pair = arena.create<Pair>(1, 2);
  EXPECT_EQ(pair->b, 2);
  for (const int value : arena.create_array<int>(1000)) EXPECT_EQ(value, 0);
  std::string text = "text";
  const std::string_view copy = arena.copy(std::string_view(text));
  text = "gone";
  EXPECT_EQ(copy, "text");
  EXPECT_TRUE(arena.copy(std::string_view()).empty());
}

TEST(Arena, MovesWithItsObjects) {
  Arena first;
  const int* const value = first.create<int>(7);
  Arena second(std::move(first));
  EXPECT_EQ(first.capacity(), 0u);  // NOLINT: what a moved-from arena is
  EXPECT_NE(first.allocate(10), nullptr);
  first = std::move(second);
  EXPECT_EQ(*value, 7);
}

TEST(Arena, RefusesSizesThatOverflow) {
  Arena arena;
  EXPECT_THROW(arena.allocate(std::numeric_limits<size_t>::max() - 8), std::bad_alloc);
  EXPECT_THROW(arena.create_array<int64_t>(std::numeric_limits<size_t>::max() / 4), std::bad_alloc);
  EXPECT_NE(arena.allocate(8), nullptr);
}

}  // namespace
}  // namespace hone
