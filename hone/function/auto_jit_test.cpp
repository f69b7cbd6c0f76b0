// Auto-JIT: queued calls give what calls give at once, whoever asks for the elements, and only what is read is written.
#include "hone/function/auto_jit.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <thread>

#include "hone/base/error.h"
#include "hone/base/settings.h"
#include "hone/device/device.h"
#include "hone/function/function.h"
#include "hone/function/grad.h"
#include "hone/function/tape.h"
#include "hone/function/variable.h"
#include "hone/function/vmap.h"
#include "hone/ops/contraction.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/reduction.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

Tensor drawn(const Shape& shape, uint64_t key) { return random::normal(random::state(key), shape).second; }

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

class AutoJit : public testing::Test {
 protected:
  void SetUp() override {
    ensure_defaults();  // reads HONE_AUTOJIT
    settings.auto_jit = 0;
  }
  void TearDown() override {
    settings.auto_jit = 0;
    settings.check_numerics = settings.reference_kernels = settings.flush_denormals = false;
    settings.poison_memory = false;
  }
  // The program's results with a queue, three times: call by call, compiled, and with what is known.
  static void expect_same(const std::function<Tensor()>& program) {
    settings.auto_jit = 0;
    const Tensor plain = program();
    settings.auto_jit = 3;
    for (int run = 0; run < 3; ++run) EXPECT_TRUE(same_bits(program(), plain)) << "run " << run;
    settings.auto_jit = 0;
  }
};

Tensor chain(Tensor x, int calls) {
  for (int i = 0; i < calls; ++i) x = i % 2 ? tanh(x) : x * 1.5;
  return x;
}

TEST_F(AutoJit, AChainIsOneClusterAndOneResult) {
  const Tensor x = drawn({1024, 256}, 1);
  const Tensor plain = chain(x, 20);
  settings.auto_jit = 3;
  for (int run = 0; run < 2; ++run) chain(x, 20).raw();
  const AutoJitCounts before = auto_jit_counts();
  cpu().reset_peak();
  const size_t used = memory_stats().in_use;
  const Tensor y = chain(x, 20);
  EXPECT_LT(memory_stats().in_use, used + x.bytes()) << "nothing is computed yet";
  EXPECT_TRUE(same_bits(y, plain));
  EXPECT_EQ(auto_jit_counts().clusters, before.clusters + 1);
  EXPECT_EQ(auto_jit_counts().op_by_op, before.op_by_op);
  EXPECT_LT(memory_stats().peak, used + 2 * x.bytes()) << "one result of 20";
}

TEST_F(AutoJit, WhatNobodyReadsIsNotComputed) {
  settings.auto_jit = 3;
  const Tensor x = drawn({64, 64}, 2);
  x.raw();
  const AutoJitCounts before = auto_jit_counts();
  {
    const Tensor dead = chain(x, 5);
  }
  EXPECT_EQ(sum(x).size(), 1);
  EXPECT_EQ(auto_jit_counts().clusters + auto_jit_counts().op_by_op, before.clusters + before.op_by_op);
}

TEST_F(AutoJit, ProgramsOfManyKindsKeepTheirBits) {
  const Tensor x = drawn({33, 65}, 3), bias = drawn({65}, 4), column = drawn({33, 1}, 5);
  expect_same([&] { return exp(x * 0.1 + bias) / (column + 3.0); });
  expect_same([&] { return where(x > 0.5, x, bias) + cast(cast(x, i32), f32); });
  expect_same([&] { return cast(cast(x, bf16) + cast(bias, bf16), f32); });
  expect_same([&] { return matmul(tanh(x + bias), transpose(x * 2.0)) + 1.0; });
  expect_same([&] { return chain(x, 150); });
  expect_same([&] { return reshape(x + x, {65, 33}) * (x - x)[0][0]; });
  expect_same([&] { return vmap([&](const Tensor& row) { return exp(row) + bias; })(x); });
  expect_same([&] { return function([&](const Tensor& y) { return tanh(y + bias) * 2.0; })(x + 1.0) - 1.0; });
  expect_same([&] { return grad([&](const Tensor& y) { return sum(exp(tanh(y * bias) - 1.0)); })(x + 0.5); });
}

TEST_F(AutoJit, VariablesAndDonationKeepTheirBits) {
  const Tensor start = drawn({17, 9}, 6);
  expect_same([&] {
    const Variable w(start + 1.0);
    for (int step = 0; step < 3; ++step) {
      const Tensor old = w.value() * 2.0;
      w.assign_sub(w.value() * 0.1);
      w.assign_add(old * 0.01);
    }
    return w.value() + 0.0;
  });
}

TEST_F(AutoJit, ErrorsAreRaisedAtTheCall) {
  settings.auto_jit = 3;
  const Tensor x = drawn({2, 3}, 7), y = x + 1.0;
  EXPECT_THROW(y + drawn({4}, 8), Error);
  settings.check_numerics = true;
  EXPECT_THROW(log(y * 0.0), Error);
  settings.check_numerics = false;
  EXPECT_TRUE(same_bits(y, [&] {
    settings.auto_jit = 0;
    return x + 1.0;
  }()));
}

TEST_F(AutoJit, BorrowedMemoryIsReadByTheCall) {
  settings.auto_jit = 3;
  std::vector<float> memory(8, 1.0F);
  const Tensor y = Tensor::borrow(memory.data(), {8}, f32) + 1.0;
  memory[0] = 100;
  EXPECT_EQ(y.data<float>()[0], 2.0F);
}

TEST_F(AutoJit, OnlyLargeCallsWaitInModeOne) {
  const Tensor small = drawn({8}, 9), large = drawn({256, 256}, 9);
  settings.auto_jit = 1;
  const AutoJitCounts before = auto_jit_counts();
  chain(small, 4).raw();
  EXPECT_EQ(auto_jit_counts().op_by_op, before.op_by_op);
  chain(large, 4).raw();
  EXPECT_EQ(auto_jit_counts().op_by_op, before.op_by_op + 1);
}

TEST_F(AutoJit, TinyCallsDoNotWaitInModeTwo) {
  const Tensor tiny = drawn({64}, 9), middle = drawn({64, 128}, 9);
  settings.auto_jit = 2;
  const AutoJitCounts before = auto_jit_counts();
  chain(tiny, 4).raw();
  EXPECT_EQ(auto_jit_counts().op_by_op, before.op_by_op);
  chain(middle, 4).raw();
  EXPECT_EQ(auto_jit_counts().op_by_op, before.op_by_op + 1);
}

TEST_F(AutoJit, CallsRunUnderTheSettingsTheyWereMadeWith) {
  const Tensor tiny = full({64}, 1e-40, f32), huge = full({64}, 3e38, f32);
  settings.auto_jit = 3;
  for (int run = 0; run < 3; ++run) {  // call by call, then compiled
    settings.flush_denormals = true;
    const Tensor flushed = tiny * 1.0 + 0.0;
    settings.flush_denormals = false;
    const Tensor kept = tiny * 1.0 + 0.0;
    EXPECT_EQ(flushed.data<float>()[0], 0.0F);
    EXPECT_NE(kept.data<float>()[0], 0.0F);
    const Tensor infinite = huge * 2.0 + 1.0;
    settings.check_numerics = settings.reference_kernels = true;
    EXPECT_EQ(infinite.data<float>()[0], std::numeric_limits<float>::infinity()) << "made without checks";
    EXPECT_TRUE(settings.check_numerics && settings.reference_kernels);
    settings.check_numerics = settings.reference_kernels = false;
  }
}

TEST_F(AutoJit, OnlyElementwiseCallsJoinAndAtMost64) {
  const Tensor x = drawn({16, 16}, 13);
  settings.auto_jit = 3;
  const auto queues = [](const std::function<void()>& program) {
    const AutoJitCounts before = auto_jit_counts();
    program();
    const AutoJitCounts after = auto_jit_counts();
    return after.clusters + after.op_by_op - before.clusters - before.op_by_op;
  };
  EXPECT_EQ(queues([&] { sum(x).raw(); }), 0);
  EXPECT_EQ(queues([&] { (matmul(x + 1.0, x) * 2.0).raw(); }), 2);
  EXPECT_EQ(queues([&] { chain(x, 64).raw(); }), 1);
  EXPECT_EQ(queues([&] { chain(x, 65).raw(); }), 2);
}

TEST_F(AutoJit, ShapesThatComeOnceAreNotCompiled) {
  settings.auto_jit = 3;
  const AutoJitCounts before = auto_jit_counts();
  for (int64_t n = 1; n <= 200; ++n) chain(drawn({n}, 12), 6).raw();
  EXPECT_EQ(auto_jit_counts().compiled, before.compiled);
}

TEST_F(AutoJit, OtherThreadsReadWhatWaits) {
  const Tensor x = drawn({64, 33}, 10);
  const Tensor plain = exp(x) + 1.0;
  settings.auto_jit = 3;
  for (int round = 0; round < 20; ++round) {
    const Tensor y = exp(x) + 1.0;
    bool same[4] = {};
    std::vector<std::thread> threads;
    for (bool& result : same)
      threads.emplace_back([&y, &plain, &result] { result = same_bits(y * 1.0, plain) && same_bits(y, plain); });
    const Tensor more = y * 2.0;
    for (std::thread& thread : threads) thread.join();
    for (const bool result : same) EXPECT_TRUE(result);
    EXPECT_EQ(more.data<float>()[0], plain.data<float>()[0] * 2);
  }
}

TEST_F(AutoJit, AnEndedThreadsResultsCanBeRead) {
  const Tensor x = drawn({5, 5}, 11), plain = x * 3.0;
  settings.auto_jit = 3;
  Tensor y;
  std::thread([&] { y = x * 3.0; }).join();
  EXPECT_TRUE(same_bits(y, plain));
}

TEST_F(AutoJit, AForkedChildReadsWhatWaits) {
  const Tensor x = Tensor::of<float>({1, 2, 3});
  settings.auto_jit = 3;
  const Tensor y = x + x;
  const pid_t child = fork();
  if (child == 0) _exit(y.data<float>()[2] == 6 ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(y.data<float>()[2], 6);
}

}  // namespace
}  // namespace hone
