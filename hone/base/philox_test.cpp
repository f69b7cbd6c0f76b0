#include "hone/base/philox.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(Philox, GivesTheKnownAnswers) {
  const struct {
    Philox::Block counter;
    std::array<uint32_t, 2> key;
    Philox::Block expected;
  } cases[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const auto& c : cases) EXPECT_EQ(Philox(c.key).at(c.counter), c.expected);
}

TEST(Philox, TakesWordsLowFirst) {
  EXPECT_EQ(Philox(0x299f31d0a4093822u).at(0x85a308d3243f6a88u, 0x0370734413198a2eu),
            Philox({0xa4093822, 0x299f31d0}).at(Philox::Block{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}));
  static_assert(Philox(uint64_t{0}).at(0)[0] == 0x6627e8d5);
}

TEST(Philox, NeighbouringCountersShareNoWord) {
  const Philox philox(uint64_t{42});
  for (uint64_t i = 0; i < 1000; ++i) {
    const auto a = philox.at(i), b = philox.at(i + 1);
    for (size_t j = 0; j < 4; ++j) EXPECT_NE(a[j], b[j]);
  }
}

}  // namespace
}  // namespace hone
