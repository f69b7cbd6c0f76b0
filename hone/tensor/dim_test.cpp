#include "hone/tensor/dim.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "hone/base/error.h"

namespace hone {
namespace {

template <class F>
Code code_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "no error";
  return Code::kInternal;
}

int64_t at(Dim d, int64_t n, int64_t m = 0) {
  return d.evaluate([=](std::string_view name) { return name == "n" ? n : m; });
}

const Dim& n() {
  static const Dim symbol("n", 1, 1000);
  return symbol;
}
const Dim& m() {
  static const Dim symbol("m", 0, 10);
  return symbol;
}

TEST(Dim, NumbersFold) {
  EXPECT_EQ(Dim(3) + Dim(4), Dim(7));
  EXPECT_EQ(Dim(3) - Dim(4), Dim(-1));
  EXPECT_EQ(Dim(3) * Dim(4), Dim(12));
  EXPECT_EQ(max(Dim(3), Dim(4)), Dim(4));
  EXPECT_EQ(min(Dim(3), Dim(4)), Dim(3));
  EXPECT_TRUE((Dim(3) * Dim(4)).is_number());
}

TEST(Dim, DivisionRoundsDownAndModHasTheSignOfTheDivisor) {
  for (int64_t a = -9; a <= 9; ++a) {
    for (int64_t b = 1; b <= 4; ++b) {
      const int64_t q = floor_div(a, b).number(), r = mod(a, b).number();
      EXPECT_EQ(q * b + r, a);
      EXPECT_GE(r, 0);
      EXPECT_LT(r, b);
    }
  }
  EXPECT_EQ(code_of([] { floor_div(4, 0); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { mod(4, -1); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { floor_div(4, m()); }), Code::kInvalidArgument);  // m may be 0
}

TEST(Dim, EqualValuesHaveOneForm) {
  EXPECT_EQ(n() + 1, 1 + n());
  EXPECT_EQ(n() * m(), m() * n());
  EXPECT_EQ((n() + 1) * (n() - 1), n() * n() - 1);
  EXPECT_EQ(n() + n(), 2 * n());
  EXPECT_EQ(n() - n(), Dim(0));
  EXPECT_EQ(0 * n(), Dim(0));
  EXPECT_EQ(max(n(), m()), max(m(), n()));
  EXPECT_EQ(min(n() + m(), n() * 2), min(n() * 2, n() + m()));
  EXPECT_FALSE(n() == m());
  EXPECT_FALSE(n() + 1 == n());
  EXPECT_FALSE(max(n(), m()) == min(n(), m()));
}

TEST(Dim, ANameIsOneSymbol) {
  EXPECT_EQ(Dim("n", 1, 1000), n());
  EXPECT_EQ(code_of([] { Dim("n", 1, 999); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { Dim("", 1, 2); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { Dim("negative", -1, 2); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([] { Dim("turned", 3, 2); }), Code::kInvalidArgument);
}

TEST(Dim, ExactQuotientsStayPolynomial) {
  EXPECT_EQ(floor_div(4 * n() + 8, 4), n() + 2);
  EXPECT_EQ(floor_div(n(), 1), n());
  EXPECT_EQ(floor_div(n(), n()), Dim(1));
  EXPECT_EQ(mod(6 * n(), 3), Dim(0));
}

TEST(Dim, EvaluatesLikeTheNumbers) {
  const Dim conv = floor_div(n() + 2 * m() - 3, 2) + 1, mixed = max(n(), 2 * m()) - min(n() * m(), 5) + mod(n(), 3);
  for (int64_t a = 1; a < 8; ++a) {
    for (int64_t b = 0; b < 5; ++b) {
      EXPECT_EQ(at(conv, a, b), (floor_div(a + 2 * b - 3, 2) + 1).number());
      EXPECT_EQ(at(mixed, a, b), std::max(a, 2 * b) - std::min(a * b, int64_t{5}) + a % 3);
    }
  }
  EXPECT_EQ(at(Dim(5), 1), 5);
}

TEST(Dim, BoundsHoldForEveryValue) {
  const Dim all[] = {n(),         m() - n(),          3 * n() + 1, n() * m(),           floor_div(n() - 5, 7),
                     mod(n(), 4), max(n(), m()) - 20, -1 * n(),    min(n(), 7) * 2 - 1, floor_div(1000, n())};
  for (Dim d : all) {
    EXPECT_LE(d.min(), d.max());
    for (int64_t a : {1, 2, 6, 7, 999, 1000}) {
      for (int64_t b : {0, 1, 9, 10}) {
        EXPECT_GE(at(d, a, b), d.min()) << to_string(d);
        EXPECT_LE(at(d, a, b), d.max()) << to_string(d);
      }
    }
  }
  EXPECT_EQ((2 * n() + 1).min(), 3);
  EXPECT_EQ((2 * n() + 1).max(), 2001);
  EXPECT_EQ(max(n(), Dim(2000)), Dim(2000));  // decided by the bounds
  EXPECT_EQ(min(n(), Dim(0)), Dim(0));
}

TEST(Dim, UnboundedSymbolsSaturateTheBounds) {
  const Dim huge("huge");
  EXPECT_EQ(huge.min(), 1);
  EXPECT_EQ(huge.max(), INT64_MAX);
  EXPECT_EQ((huge * huge * huge).max(), INT64_MAX);
  EXPECT_EQ((-1 * huge * huge).min(), -INT64_MAX);
}

TEST(Dim, PrintsAsOneWouldWriteIt) {
  EXPECT_EQ(to_string(Dim(128)), "128");
  EXPECT_EQ(to_string(n()), "n");
  EXPECT_EQ(to_string(2 * n() + 1), "2*n + 1");
  EXPECT_EQ(to_string(-1 * n()), "-n");
  EXPECT_EQ(to_string(n() - 3), "n - 3");
  EXPECT_EQ(to_string(n() * n() - m()), to_string(n() * n() - m()));
  EXPECT_EQ(to_string(max(n(), 5)), "max(n, 5)");
  EXPECT_EQ(to_string(floor_div(n(), 2)), "floor_div(n, 2)");
}

TEST(Dim, ANumberThatIsNotKnownIsAnError) {
  EXPECT_EQ(code_of([] { n().number(); }), Code::kFailedPrecondition);
  try {
    (n() + 1).number();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("n + 1"), std::string::npos) << error.what();
  }
}

TEST(Dim, OverflowIsAnErrorNotAWrap) {
  const Dim big(int64_t{1} << 60);
  EXPECT_EQ(code_of([&] { big + big + big; }), Code::kOutOfRange);
  EXPECT_EQ(code_of([&] { big* Dim(16); }), Code::kOutOfRange);
  EXPECT_EQ(code_of([&] { (big * n()) * Dim(16); }), Code::kOutOfRange);
  EXPECT_EQ(code_of([&] { at(n() * n() * n() * n(), int64_t{1} << 40); }), Code::kOutOfRange);
  EXPECT_LT(Dim(INT64_MIN).number(), 0);  // a number, not a symbol
  EXPECT_TRUE(Dim(INT64_MIN).is_number());
}

TEST(Dim, IsMadeOnSeveralThreads) {
  std::vector<std::thread> workers;
  std::vector<int64_t> keys(4);
  for (size_t t = 0; t < keys.size(); ++t) {
    workers.emplace_back([&keys, t] {
      Dim sum = 0;
      for (int i = 0; i < 200; ++i) sum = sum + Dim("shared_" + std::to_string(i % 20), 1, 100) * i;
      keys[t] = sum.key();
    });
  }
  for (std::thread& worker : workers) worker.join();
  for (int64_t key : keys) EXPECT_EQ(key, keys[0]);
}

}  // namespace
}  // namespace hone
