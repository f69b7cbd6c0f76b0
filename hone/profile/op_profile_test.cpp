#include "hone/profile/op_profile.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

ProbeSink::Span op(const char* name, int64_t begin, int64_t end, const char* kernel = "cpu.x", double flops = 0) {
  return {.category = "op",
          .name = name,
          .detail = kernel,
          .location = {},
          .begin_ns = begin,
          .end_ns = end,
          .flops = flops};
}

TEST(OpProfile, CountsAnOpWithoutTheOpsItCalled) {
  OpProfile profile;
  profile.span(op("inner", 1000, 3000));
  profile.span(op("inner", 3000, 4000));
  profile.span(op("outer", 500, 10500, "decomposed"));
  profile.span(op("inner", 11000, 12000));
  const std::vector<OpTime> times = profile.slowest();
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].op, "outer");
  EXPECT_NEAR(times[0].seconds, 7e-6, 1e-12);
  EXPECT_EQ(times[1].calls, 3);
  EXPECT_NEAR(times[1].seconds, 4e-6, 1e-12);
  EXPECT_NEAR(profile.seconds(), 11e-6, 1e-12);
}

TEST(OpProfile, KeepsKernelsOfOneOpApartAndOtherSpansOut) {
  OpProfile profile;
  profile.span(op("dot_general", 0, 10, "a"));
  profile.span(op("dot_general", 10, 30, "b"));
  profile.span({.category = "step", .name = "train_step", .detail = "", .location = {}, .begin_ns = 0, .end_ns = 90});
  const std::vector<OpTime> times = profile.slowest(1);
  ASSERT_EQ(times.size(), 1u);
  EXPECT_EQ(times[0].kernel, "b");
  EXPECT_EQ(profile.slowest().size(), 2u);
}

TEST(OpProfile, ForgetsOldSpansOfALongStep) {
  OpProfile profile;
  for (int64_t i = 0; i < 20000; ++i) profile.span(op("add", i * 10, i * 10 + 4));
  EXPECT_EQ(profile.slowest()[0].calls, 20000);
  EXPECT_NEAR(profile.seconds(), 20000 * 4e-9, 1e-9);
}

TEST(OpProfile, TableNamesRatesAndShares) {
  OpProfile profile;
  profile.span(op("dot_general", 0, 1'000'000, "onednn.matmul", 5e7));
  const std::string table = profile.table(5);
  EXPECT_NE(table.find("onednn.matmul"), std::string::npos);
  EXPECT_NE(table.find("100.0%"), std::string::npos);
  EXPECT_NE(table.find("50.0"), std::string::npos) << table;
}

TEST(OpProfile, ReceivesTheProbesEventsInItsScope) {
  OpProfile profile;
  {
    const ProbeScope scope(profile);
    const probe::Scope span("op", "measured");
    probe::sink.load()->allocation(64, 128);
  }
  EXPECT_FALSE(probe::on());
  ASSERT_EQ(profile.slowest().size(), 1u);
  EXPECT_EQ(profile.slowest()[0].op, "measured");
  EXPECT_EQ(profile.peak_bytes(), 128u);
  EXPECT_EQ(profile.allocated_bytes(), 64);
}

}  // namespace
}  // namespace hone
