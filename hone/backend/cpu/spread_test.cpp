#include "hone/backend/cpu/spread.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "hone/hone.h"

namespace hone {
namespace {

// Blocks of any place and size, asked of one spreader in turn, are those of the packed copy.
TEST(Spreader, BlocksAreThoseOfThePackedTensor) {
  std::mt19937 random(7);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  for (int round = 0; round < 300; ++round) {
    Shape small, wide;
    for (int64_t axis = below(round % 3 == 0 ? 2 : 4); axis >= 0; --axis) {
      const int64_t extent = 1 + below(round % 3 == 0 ? 300 : 9);
      small.push_back(below(2) ? extent : 1), wide.push_back(extent);
    }
    const Tensor base = cast(reshape(iota({small.count()}, 0, i32), small), round % 2 ? f64 : f32);
    const Tensor x = broadcast_to(base, wide);
    if (x.layout().dense) continue;
    const size_t item = size_of(x.dtype());
    const Tensor packed = x.dense();
    const int64_t count = wide.count(), largest = 500;
    std::vector<std::byte> scratch(static_cast<size_t>(largest) * item);
    Spreader spreader(x, item);
    EXPECT_EQ(count % spreader.period(), 0);
    for (int i = 0; i < 30; ++i) {
      int64_t begin = below(count);
      if (i % 2) begin = begin / spreader.period() * spreader.period();
      const int64_t n = 1 + below(std::min(largest, count - begin));
      const std::byte* block = spreader.block(scratch.data(), begin, n);
      ASSERT_EQ(
          std::memcmp(block, packed.mutable_bytes() + static_cast<size_t>(begin) * item, static_cast<size_t>(n) * item),
          0)
          << to_string(small) << " as " << to_string(wide) << ", " << n << " from " << begin;
    }
  }
}

TEST(Spreader, RowsAndColumnsAreNotCopied) {
  const Tensor row = broadcast_to(iota({200}, 0), {50, 200});
  Spreader rows(row, 4);
  EXPECT_EQ(rows.period(), 200);
  std::vector<std::byte> scratch(4000);
  EXPECT_EQ(rows.block(scratch.data(), 600, 200), row.mutable_bytes());
  EXPECT_EQ(rows.block(scratch.data(), 650, 100), row.mutable_bytes() + 50 * 4);
}

}  // namespace
}  // namespace hone
