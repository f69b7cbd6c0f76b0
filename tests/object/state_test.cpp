// Recurrent models in objects: state lies in the caller's memory, from block to block, until it is reset.
#include "hone/function/control.h"
#include "hone/function/variable.h"
#include "hone/nn/core.h"
#include "hone/nn/recurrent.h"
#include "hone/ops/contraction.h"
#include "hone/ops/convolution.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/nn.h"
#include "hone/train/model.h"
#include "tests/object/expect.h"

namespace hone {
namespace {

using object_test::Machine;
using object_test::numbers;
using StatefulObject = object_test::Object;

constexpr int64_t kBlock = 64;
constexpr int kBlocks = 3, kBlocksAgain = 1;

// Some blocks, and some after a reset. `reset` puts the function's variables back to what they were.
template <class F, class Reset>
void expect_object_keeps_state(Machine machine, const F& f, const Tensor& block, Reset reset) {
  Tensor expected = f(block), again;
  reset();
  const Lowered lowered = f.lower(Spec{block.dtype(), block.shape()});
  const Tensor made = object_test::run_object(lowered, machine, {block}, {expected.type()}, {.calls = kBlocks})[0];
  const Tensor made_again = object_test::run_object(lowered, machine, {block}, {expected.type()},
                                                    {.calls = kBlocks, .after_reset = kBlocksAgain})[0];
  for (int i = 0; i < kBlocks; ++i) expected = f(block);
  reset();
  for (int i = 0; i < kBlocksAgain; ++i) again = f(block);
  object_test::expect_same_bits(made, expected);
  object_test::expect_same_bits(made_again, again);
  EXPECT_NE(std::memcmp(made.mutable_bytes(), made_again.mutable_bytes(), made.bytes()), 0);
}

TEST_P(StatefulObject, OfAnLstmLayerKeepsItsStateFromBlockToBlock) {
  const nn::Sequential model{nn::LSTM(12, {.return_sequences = true, .stateful = true}), nn::Dense(1)};
  model(zeros({1, kBlock, 2}));
  model.reset_states();
  const auto f = function([=](Tensor x) { return model(x); });
  expect_object_keeps_state(GetParam(), f, numbers({1, kBlock, 2}), [&] { model.reset_states(); });
}

TEST_P(StatefulObject, OfAGruByScanKeepsItsStateFromBlockToBlock) {
  const Tensor w = numbers({2, 27}, 0.5F), u = numbers({9, 27}, 0.4F), b = numbers({27}, 0.1F);
  const Variable h(zeros({1, 9}));
  const auto f = function([=](Tensor x) {  // [t, 1, 2] -> [t, 1, 9]
    const auto [last, ys] = scan(
        [&](Tensor state, Tensor gates) {
          const Tensor next = gru_cell(gates, dense(state, u), state);
          return std::pair{next, next};
        },
        h.value(), dense(x, w, b));
    h.assign(last);
    return ys;
  });
  expect_object_keeps_state(GetParam(), f, numbers({kBlock, 1, 2}), [&] { h.assign(zeros({1, 9})); });
}

TEST_P(StatefulObject, OfACausalConvolutionKeepsItsHistoryFromBlockToBlock) {
  constexpr int64_t kTaps = 5;
  const Tensor kernel = numbers({kTaps, 1, 3, 4}, 0.4F), bias = numbers({4}, 0.1F);
  const Variable history(zeros({1, kTaps - 1, 1, 3}));
  const auto f = function([=](Tensor x) {  // [1, t, 1, 3] -> [1, t, 1, 4]
    const Tensor all = concatenate({history.value(), x}, 1);
    history.assign(all[{slice(), slice(kBlock, kBlock + kTaps - 1)}]);
    return relu(conv2d(all, kernel, {.bias = bias}));
  });
  expect_object_keeps_state(GetParam(), f, numbers({1, kBlock, 1, 3}),
                            [&] { history.assign(zeros({1, kTaps - 1, 1, 3})); });
}

INSTANTIATE_TEST_SUITE_P(Machines, StatefulObject, ::testing::Values(Machine::Host, Machine::Arm64),
                         object_test::machine_name);

}  // namespace
}  // namespace hone
