#include "hone/function/flat_map.h"

#include <gtest/gtest.h>

#include <unordered_map>

#include "hone/base/philox.h"

namespace hone {
namespace {

TEST(FlatMap, AgreesWithTheStandardMapThroughGrowthAndClearing) {
  FlatMap map;
  std::unordered_map<uint64_t, uint32_t> expected;
  EXPECT_EQ(map.find(1), FlatMap::kNone);
  const Philox generator(11);
  for (int round = 0; round < 3; ++round) {
    for (uint32_t i = 0; i < 5000; ++i) {
      const auto draw = generator.at(i + 5000 * static_cast<uint64_t>(round));
      const uint64_t key = 1 + draw[0] % 3000;  // many keys come twice
      map.set(key, i);
      expected[key] = i;
    }
    for (uint64_t key = 1; key <= 3001; ++key) {
      const auto found = expected.find(key);
      ASSERT_EQ(map.find(key), found == expected.end() ? FlatMap::kNone : found->second) << key;
    }
    map.clear();
    expected.clear();
    for (uint64_t key = 1; key <= 3001; ++key) ASSERT_EQ(map.find(key), FlatMap::kNone);
  }
}

TEST(FlatMap, KeepsKeysThatFallTogether) {
  FlatMap map;
  for (uint32_t i = 1; i < 2000; ++i) map.set(uint64_t{i} << 44, i);
  for (uint32_t i = 1; i < 2000; ++i) ASSERT_EQ(map.find(uint64_t{i} << 44), i);
}

}  // namespace
}  // namespace hone
