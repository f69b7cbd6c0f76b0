// Machine code of functions: which calls run it, with the bits of eager, from any thread.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "hone/backend/cpu/map_code.h"
#include "hone/base/log.h"
#include "hone/base/parallel.h"
#include "hone/base/settings.h"
#include "hone/function/control.h"
#include "hone/function/function.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/nn.h"

namespace hone {
namespace {

Tensor drawn(const Shape& shape, uint64_t key) { return random::normal(random::state(key), shape).second; }

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

int64_t runs() { return map_code_counts().runs; }

// Bias, activation, residual and a mask: a broadcast operand and bool between f32.
Tensor layer(const Tensor& x, const Tensor& bias, const Tensor& residual) {
  const Tensor y = gelu(x + bias) + residual;
  return where(y > 0.5, y, exp(y));
}

struct Inputs {
  Tensor x = drawn({33, 65}, 1), bias = drawn({65}, 2), residual = drawn({33, 65}, 3);
};

class Jit : public testing::Test {
 protected:
  void SetUp() override {
    if (!codegen::built()) GTEST_SKIP() << "built without HONE_JIT";
  }
  void TearDown() override {
    wait_for_machine_code();
    settings.jit = true;
  }
};

TEST_F(Jit, CompiledFunctionsRunMachineCodeFromTheFirstCall) {
  const Inputs in;
  const auto f = function(layer, {.jit_compile = true});
  const Tensor expected = layer(in.x, in.bias, in.residual);
  for (int call = 0; call < 2; ++call) {
    const int64_t before = runs();
    EXPECT_TRUE(same_bits(f(in.x, in.bias, in.residual), expected));
    EXPECT_EQ(runs(), before + 1) << "call " << call;
  }
}

TEST_F(Jit, OtherFunctionsGetItInTheBackgroundAfterTheirSecondCall) {
  const Inputs in;
  const auto f = function([](const Tensor& x, const Tensor& b) { return tanh(x * 1.25 + b) * x; });
  const Tensor expected = tanh(in.x * 1.25 + in.bias) * in.x;
  const int64_t before = runs();
  for (int call = 0; call < 2; ++call) EXPECT_TRUE(same_bits(f(in.x, in.bias), expected));
  wait_for_machine_code();
  EXPECT_LE(runs(), before + 1) << "the first call has none; the second, where there is one thread";
  const int64_t later = runs();
  EXPECT_TRUE(same_bits(f(in.x, in.bias), expected));
  EXPECT_EQ(runs(), later + 1);
}

// Rows, columns and single elements are read where they lie; short and mixed patterns from copies.
TEST_F(Jit, BroadcastOperandsHaveTheBitsOfEager) {
  const auto blend = [](const Tensor& x, const Tensor& a, const Tensor& b) { return tanh(x * a + 0.75) * b + x; };
  for (const Shape& shape : {Shape{7, 128}, Shape{37, 301}, Shape{3, 2, 2500}, Shape{5000}, Shape{40, 3}}) {
    const int64_t last = shape[shape.rank() - 1].number(), rows = shape.count() / last;
    const Tensor x = reshape(drawn(shape, 4), {rows, last});
    const Tensor row = drawn({last}, 5), column = drawn({rows, 1}, 6), one = drawn({1, 1}, 7);
    for (const auto& [a, b] : {std::pair{row, row}, {row, column}, {column, column}, {column, one}, {one, row}}) {
      const auto f = function(blend, {.jit_compile = true});
      EXPECT_TRUE(same_bits(f(x, a, b), blend(x, a, b))) << to_string(shape) << ", " << to_string(a.shape());
    }
  }
}

TEST_F(Jit, SettingKeepsOtherFunctionsFromIt) {
  const Inputs in;
  settings.jit = false;
  const auto body = [](const Tensor& x, const Tensor& b) { return tanh(x * 2.25 + b) * x; };
  function(body, {.jit_compile = true})(in.x, in.bias);  // which makes the code that the other could share
  const auto f = function(body);
  const int64_t before = runs();
  for (int call = 0; call < 4; ++call) f(in.x, in.bias);
  wait_for_machine_code();
  EXPECT_EQ(runs(), before);
}

TEST_F(Jit, LoopsRunItInTheirBodies) {
  const Tensor steps = drawn({9, 80}, 4), start = drawn({80}, 5);
  const auto body = [](const Tensor& carry, const Tensor& x) {
    const Tensor next = tanh(carry * 0.75 + x);
    return std::pair{next, next * next};
  };
  const auto f =
      function([&](const Tensor& init, const Tensor& xs) { return scan(body, init, xs); }, {.jit_compile = true});
  const auto [carry, ys] = scan(body, start, steps);
  const int64_t before = runs();
  const auto [got, got_ys] = f(start, steps);
  EXPECT_TRUE(same_bits(got, carry) && same_bits(got_ys, ys));
  EXPECT_GE(runs(), before + 9);
}

TEST_F(Jit, SymbolicExtentsShareCode) {
  const auto f = function([](const Tensor& x) { return sqrt(abs(x) + 3.5) * x; }, {.jit_compile = true});
  f(drawn({8, 8}, 1));
  const int64_t compiled = map_code_counts().compiled;
  for (int64_t n = 9; n < 20; ++n) {
    const Tensor x = drawn({n, 8}, static_cast<uint64_t>(n));
    EXPECT_TRUE(same_bits(f(x), sqrt(abs(x) + 3.5) * x)) << n;
  }
  EXPECT_EQ(map_code_counts().compiled, compiled);
}

// Threads that compile the same clusters and others, while some run what is there.
TEST_F(Jit, ThreadsCompileAndRunAtTheSameTime) {
  constexpr int kThreads = 6, kRounds = 4;
  const Tensor x = drawn({700}, 7);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < kRounds; ++round) {
        const double own = round % 2 == 0 ? 0.125 * t : 0;  // every other round all compile the same
        const auto body = [=](const Tensor& v) { return sigmoid(v * own + 0.5 * round) * v - own; };
        const auto f = function(body, {.jit_compile = t % 2 == 0});
        for (int call = 0; call < 4; ++call) {
          if (!same_bits(f(x), body(x))) ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Runs what a missing library leaves; exit code 0 if all is as it should be.
int run_without_library() {
  static std::string log;
  logging::set_sink([](logging::Level, std::string_view message, void*) { log += message; });
  setenv("HONE_JIT_LIBRARY", "/nowhere/libhone-jit.so", 1);
  const Inputs in;
  const Tensor expected = layer(in.x, in.bias, in.residual);
  for (int i = 0; i < 2; ++i) {
    const auto f = function(layer, {.jit_compile = true});
    if (!same_bits(f(in.x, in.bias, in.residual), expected)) return 1;
  }
  if (runs() != 0) return 2;
  const size_t first = log.find("/nowhere/libhone-jit.so");
  if (first == std::string::npos || log.find("HONE_JIT_LIBRARY") == std::string::npos) return 3;
  return log.find("no machine code", log.find("no machine code") + 1) == std::string::npos ? 0 : 4;
}

TEST(JitDeathTest, MissingLibraryLeavesTheTilesAndOneWarning) {
  if (!codegen::built()) GTEST_SKIP() << "built without HONE_JIT";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::exit(run_without_library()), testing::ExitedWithCode(0), "");
}

// A process that ends while the generator is loaded, or works, in the background.
int end_after(int milliseconds) {
  const Inputs in;
  const auto f = function(layer);
  for (int call = 0; call < 2; ++call) f(in.x, in.bias, in.residual);
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  return 0;
}

TEST(JitDeathTest, ProcessesEndWhileCodeIsBeingMade) {
  if (!codegen::built()) GTEST_SKIP() << "built without HONE_JIT";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (int i = 0; i < 12; ++i) EXPECT_EXIT(std::exit(end_after(2 * i)), testing::ExitedWithCode(0), "") << i;
}

}  // namespace
}  // namespace hone
