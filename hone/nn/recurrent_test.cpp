// The LSTM over a sequence: the op beside its cells step by step, the layer's sequences.
#include "hone/nn/recurrent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "hone/base/error.h"
#include "hone/function/function.h"
#include "hone/function/grad.h"
#include "hone/ops/contraction.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/nn.h"
#include "hone/ops/reduction.h"

namespace hone::nn {
namespace {

constexpr int64_t kTime = 5, kBatch = 3, kUnits = 4;

Tensor wave(const Shape& shape, double frequency) {
  return sin(reshape(cast(iota({shape.elements()}, 0), f32), shape) * frequency);
}
double distance(const Tensor& a, const Tensor& b) { return max(abs(a - b)).item<float>(); }

// Step 1 of example 0 and the last of example 2 do not count.
Tensor mask() {
  const Tensor at = reshape(iota({kTime * kBatch}, 0), {kTime, kBatch});
  return logical_and(at != 3, at != 14);
}

struct Parameters {
  Tensor gates = wave({kTime, kBatch, 4 * kUnits}, 0.7), recurrent = wave({kUnits, 4 * kUnits}, 1.3),
         h = wave({kBatch, kUnits}, 0.4), c = wave({kBatch, kUnits}, 2.1);
};

LstmResult by_cells(const Tensor& gates, const Tensor& recurrent, Tensor h, Tensor c, const Tensor& mask) {
  std::vector<Tensor> all;
  for (int64_t t = 0; t < gates.dim(0); ++t) {
    auto [next_h, next_c] = lstm_cell(gates[t] + matmul(h, recurrent), c);
    const Tensor counts = mask.defined() ? expand_dims(mask[t], -1) : Tensor(true);
    h = where(counts, next_h, h), c = where(counts, next_c, c);
    all.push_back(h);
  }
  return {stack(all, 0), h, c};
}

// Every result matters.
Tensor loss_of(const LstmResult& r) {
  return sum(r.hidden * r.hidden) + sum(r.last_c * wave(r.last_c.shape(), 0.3)) + 0.5 * sum(r.last_h);
}

TEST(Lstm, IsItsCellsStepByStepAndSoAreItsGradients) {
  const Parameters p;
  for (const Tensor& counts : {Tensor(), mask()}) {
    const LstmResult expected = by_cells(p.gates, p.recurrent, p.h, p.c, counts),
                     got = lstm(p.gates, p.recurrent, p.h, p.c, counts);
    EXPECT_EQ(distance(got.hidden, expected.hidden), 0);
    EXPECT_EQ(distance(got.last_h, expected.last_h), 0);
    EXPECT_EQ(distance(got.last_c, expected.last_c), 0);
    const auto slopes = [&](auto sequence) {
      return grad(
          [&, sequence](Tensor g, Tensor r, Tensor h, Tensor c) { return loss_of(sequence(g, r, h, c, counts)); },
          argnums<0, 1, 2, 3>)(p.gates, p.recurrent, p.h, p.c);
    };
    const auto e = slopes(by_cells);
    const auto g = slopes([](auto&&... args) { return lstm(args...); });
    EXPECT_LE(distance(std::get<0>(g), std::get<0>(e)), 1e-6);
    EXPECT_LE(distance(std::get<1>(g), std::get<1>(e)), 5e-6);
    EXPECT_LE(distance(std::get<2>(g), std::get<2>(e)), 1e-6);
    EXPECT_LE(distance(std::get<3>(g), std::get<3>(e)), 1e-6);
  }
}

TEST(Lstm, SecondDerivativesGoThroughWhatTheGradientKeeps) {
  const Parameters p;
  for (const Tensor& counts : {Tensor(), mask()}) {
    const auto bend = [&](auto sequence) {
      return grad([&, sequence](Tensor r) {
        const Tensor slope =
            grad([&, sequence](Tensor q) { return loss_of(sequence(p.gates, q, p.h, p.c, counts)); })(r);
        return sum(slope * slope);
      })(p.recurrent);
    };
    const Tensor expected = bend(by_cells), got = bend([](auto&&... args) { return lstm(args...); });
    EXPECT_GT(max(abs(expected)).item<float>(), 0.1);
    EXPECT_LE(distance(got, expected), 1e-5 * max(abs(expected)).item<float>());
  }
}

TEST(Lstm, WithNoStepsKeepsTheState) {
  const Parameters p;
  const LstmResult result = lstm(zeros({0, kBatch, 4 * kUnits}), p.recurrent, p.h, p.c);
  EXPECT_EQ(result.hidden.shape(), (Shape{0, kBatch, kUnits}));
  EXPECT_EQ(distance(result.last_h, p.h), 0);
  EXPECT_EQ(distance(result.last_c, p.c), 0);
}

TEST(Lstm, WhatIsMaskedOutMayBeAnything) {
  const Parameters p;
  const Tensor counts = mask(),
               poisoned = where(expand_dims(counts, -1), p.gates, std::numeric_limits<float>::quiet_NaN());
  const auto slope = [&](const Tensor& gates) {
    return grad([&](Tensor g, Tensor r) { return loss_of(lstm(g, r, p.h, p.c, counts)); }, argnums<0, 1>)(gates,
                                                                                                          p.recurrent);
  };
  const auto [gates, recurrent] = slope(p.gates);
  const auto [of_poisoned, recurrent_of_poisoned] = slope(poisoned);
  EXPECT_EQ(distance(of_poisoned, gates), 0);
  EXPECT_EQ(distance(recurrent_of_poisoned, recurrent), 0);
}

TEST(Lstm, ItsMessagesNameTheOperand) {
  const Parameters p;
  const auto message_of = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const auto says = [&](const std::string& message, const char* part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  says(message_of([&] { lstm(p.gates, zeros({kUnits, 3}), p.h, p.c); }), "recurrent must be [4,16]");
  says(message_of([&] { lstm(p.gates, p.recurrent, p.h, zeros({kBatch, 2})); }), "\n  c must be [3,4]");
  says(message_of([&] { lstm(p.h, p.recurrent, p.h, p.c); }), "gates are [time, batch, 4 units]");
  says(message_of([&] { lstm(p.gates, p.recurrent, p.h, p.c, zeros({kTime, kBatch})); }), "the mask is of bool");
  says(message_of([&] { lstm(p.gates, cast(p.recurrent, f64), p.h, p.c); }), "one dtype");
}

TEST(Lstm, TheLayerTakesSequencesOfAnyLength) {
  const LSTM layer(kUnits, {.return_sequences = true});
  layer.build({TensorType{f32, {kBatch, 1, 2}}});
  const auto f = function([&](Tensor x) { return layer(x); },
                          {.input_signature = std::vector<Spec>{{f32, {Dim("rt_batch"), Dim("rt_time"), 2}}}});
  for (const int64_t time : {1, 2, 9}) {
    const Tensor x = wave({kBatch, time, 2}, 0.9);
    EXPECT_LE(distance(f(x), layer(x)), 1e-6);
  }
}

TEST(Lstm, ItsProgramDoesNotGrowWithTheSequence) {
  const LSTM layer(kUnits);
  layer.build({TensorType{f32, {kBatch, 1, 2}}});
  const auto lines = [&](int64_t time) {
    const auto step = function([&](Tensor x) { return grad([&](Tensor each) { return sum(layer(each)); })(x); });
    const std::string kernels = step.lower(Spec{f32, {kBatch, time, 2}}).kernels();
    return std::ranges::count(kernels, '\n');
  };
  EXPECT_EQ(lines(400), lines(100));
}

}  // namespace
}  // namespace hone::nn
