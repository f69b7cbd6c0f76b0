#include "hone/base/hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace hone {
namespace {

TEST(Hash, IsXxh3) {
  EXPECT_EQ(hash_of(""), 0x2d06800538d394c2u);  // known answer of XXH3_64bits, seed 0
  EXPECT_EQ(hash_of("text"), hash_bytes("text", 4));
  EXPECT_NE(hash_of("text"), hash_of("text", 1));
}

TEST(Hash, SpansHashTheirBytes) {
  const std::vector<int32_t> values{1, 2, 3};
  EXPECT_EQ(hash_of(std::span<const int32_t>(values)), hash_bytes(values.data(), 12));
}

TEST(Hash, CombiningDependsOnOrderAndAllBits) {
  std::set<uint64_t> seen;
  for (uint64_t a = 0; a < 64; ++a) {
    for (uint64_t b = 0; b < 64; ++b) seen.insert(hash_combine(uint64_t{1} << a, uint64_t{1} << b));
  }
  EXPECT_EQ(seen.size(), 64u * 64u);
  EXPECT_NE(hash_combine(1, 2), hash_combine(2, 1));
}

}  // namespace
}  // namespace hone
