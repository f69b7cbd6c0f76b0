// A bound call on one thread: nothing from the heap, no lock, no system call, no first use, no exception.
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "hone/base/parallel.h"
#include "hone/function/control.h"
#include "hone/function/function.h"
#include "hone/function/lowered.h"
#include "hone/function/variable.h"
#include "hone/ops/contraction.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/misc.h"
#include "hone/ops/movement.h"
#include "hone/ops/nn.h"
#include "hone/ops/reduction.h"
#include "tests/realtime/watch.h"

namespace hone {
namespace {

using compiler::BoundCall;

constexpr int kCalls = 5000;

Tensor drawn(uint64_t key, const Shape& shape) { return random::normal(random::state(key), shape).second * 0.2F; }

// A step of one tensor that may keep state.
struct Case {
  const char* name;
  Shape shape;
  std::function<std::function<Tensor(Tensor)>()> make;
};

std::vector<Case> cases() {
  return {{"elementwise cluster", {64}, [] { return [](Tensor x) { return tanh(x * 2 + 1) * x; }; }},
          {"softmax", {4, 33}, [] { return [](Tensor x) { return softmax(x); }; }},
          {"layer norm",
           {4, 33},
           [] { return [g = drawn(1, {33}), b = drawn(2, {33})](Tensor x) { return layer_norm(x, g, b); }; }},
          {"small dense",
           {1, 40},
           [] { return [w = drawn(3, {40, 10}), b = drawn(4, {10})](Tensor x) { return dense(x, w, b); }; }},
          {"dense with 8192 products",
           {2, 64},
           [] { return [w = drawn(3, {64, 64}), b = drawn(4, {64})](Tensor x) { return dense(x, w, b); }; }},
          {"stateful LSTM of 64 samples",
           {64, 1},
           [] {
             const Variable h(zeros({1, 40})), c(zeros({1, 40}));
             return [h, c, w = drawn(5, {1, 160}), r = drawn(6, {40, 160}), d = drawn(7, {40, 1})](Tensor x) {
               auto [last, ys] = scan(
                   [&](std::pair<Tensor, Tensor> s, Tensor row) {
                     auto next = lstm_cell(row + matmul(s.first, r), s.second);
                     return std::pair(next, next.first);
                   },
                   std::pair(h.value(), c.value()), reshape(matmul(x, w), {64, 1, 160}));
               h.assign(last.first), c.assign(last.second);
               return matmul(reshape(ys, {64, 40}), d);
             };
           }},
          {"stateful GRU of 16 samples",
           {16, 1},
           [] {
             const Variable h(zeros({1, 32}));
             return [h, w = drawn(5, {1, 96}), r = drawn(6, {32, 96}), d = drawn(7, {32, 1})](Tensor x) {
               auto [last, ys] = scan(
                   [&](Tensor s, Tensor row) {
                     const Tensor next = gru_cell(row, matmul(s, r), s);
                     return std::pair(next, next);
                   },
                   h.value(), reshape(matmul(x, w), {16, 1, 96}));
               h.assign(last);
               return matmul(reshape(ys, {16, 32}), d);
             };
           }},
          {"causal convolution of 64 samples as a product",
           {64, 2},
           [] {
             const Variable past(zeros({6, 2}));
             return [past, k = drawn(5, {6, 8}), b = drawn(6, {8})](Tensor x) {
               const Tensor all = concatenate({past.value(), x}, 0);
               std::vector<Tensor> taps;  // dilation 3
               for (const int64_t at : {0, 3, 6}) taps.push_back(slice_by(all, {at, 0}, {at + 64, 2}));
               past.assign(slice_by(all, {64, 0}, {70, 2}));
               return relu(dense(concatenate(taps, 1), k, b));
             };
           }},
          {"while and cond", {16}, [] {
             return [](Tensor x) {
               return while_loop([](std::pair<Tensor, Tensor> s) { return s.second < 5; },
                                 [](std::pair<Tensor, Tensor> s) {
                                   return std::pair(cond(
                                                        sum(s.first) > 0, [](Tensor v) { return v - 0.25F; },
                                                        [](Tensor v) { return tanh(v) + 0.5F; }, s.first),
                                                    s.second + 1);
                                 },
                                 std::pair(x, full({}, 0, i32)))
                   .first;
             };
           }}};
}

class Realtime : public ::testing::Test {
 protected:
  void SetUp() override { set_threads(1); }
  void TearDown() override { set_threads(threads_); }
  int threads_ = threads();
};

// In a child that may make no system call but read, write and exit.
void expect_no_system_call(BoundCall& call) {
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 3; ++i) call.run();  // pages that the fork shares
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) _exit(77);
    for (int i = 0; i < kCalls; ++i) call.run();
    syscall(SYS_exit, 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) return;  // no seccomp here
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "a system call was made: status " << status;
}

TEST_F(Realtime, ABoundCallHasTheBitsOfEagerAndDisturbsNothing) {
  for (const bool jit : {false, true}) {
    for (const Case& each : cases()) {
      SCOPED_TRACE(each.name + std::string(jit ? " with jit_compile" : ""));
      const Tensor in = drawn(9, each.shape).dense(), expected = each.make()(in), out = Tensor::empty(expected.type());
      BoundCall call = function(each.make(), {.jit_compile = jit}).lower(Spec{f32, each.shape}).bind({in}, {out});
      for (int i = 0; i < (jit ? 1 : 2); ++i) call.run();  // the second makes machine code
      realtime::watch();
      call.reset();
      for (int i = 0; i < kCalls; ++i) call.run();
      const realtime::Watched seen = realtime::watched();
      EXPECT_EQ(seen.heap, 0);
      EXPECT_EQ(seen.locks, 0);
      EXPECT_EQ(seen.first_uses, 0);
      EXPECT_EQ(seen.exceptions, 0);
      call.reset();
      call.run();
      EXPECT_EQ(std::memcmp(out.raw(), expected.dense().raw(), out.bytes()), 0);
      expect_no_system_call(call);
    }
  }
}

}  // namespace
}  // namespace hone
