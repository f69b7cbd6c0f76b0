// Gradients of recorded branches and loops: what they keep, what they do not repeat, and that they are the tape's bits.
#include <gtest/gtest.h>

#include <cstring>

#include "hone/base/error.h"
#include "hone/device/device.h"
#include "hone/function/control.h"
#include "hone/function/function.h"
#include "hone/function/grad.h"
#include "hone/function/variable.h"
#include "hone/function/vmap.h"
#include "hone/ops/contraction.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/misc.h"
#include "hone/ops/movement.h"
#include "hone/ops/nn.h"
#include "hone/ops/reduction.h"

namespace hone {
namespace {

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

Tensor wave(const Shape& shape, double frequency = 0.7, DType dtype = f32) {
  return cast(sin(reshape(cast(iota({shape.elements()}, 0), f32), shape) * frequency), dtype);
}

size_t count(const std::string& text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}
// The programs that the scans of a graph run, without the loops written out for other readers.
std::string bodies(const std::string& ir) {
  std::string text;
  for (size_t at = ir.find("func.func private @hone.region"); at != std::string::npos;
       at = ir.find("func.func private @hone.region", at + 1))
    text += ir.substr(at, ir.find("\n  }", at) - at);
  return text;
}

// An LSTM with a bias over rows x, whose states are all used.
Tensor lstm(const std::vector<Tensor>& p, const ScanOptions& options) {
  const Tensor &x = p[0], &wx = p[1], &wh = p[2], &bias = p[3], &start = p[4];
  auto [last, all] = scan(
      [&](std::pair<Tensor, Tensor> s, Tensor v) {
        const std::vector<Tensor> gates = split(matmul(v, wx) + matmul(s.first, wh) + bias, 4, 1);
        const Tensor c = sigmoid(gates[1]) * s.second + sigmoid(gates[0]) * tanh(gates[2]);
        const Tensor h = sigmoid(gates[3]) * tanh(c);
        return std::pair{std::pair{h, c}, h};
      },
      std::pair{start, start * 0.5}, x, options);
  return sum(all * all) + sum(last.second * wave(last.second.shape(), 0.3));
}
std::vector<Tensor> lstm_parameters(int64_t rows) {
  return {wave({rows, 3, 5}), wave({5, 16}, 1.3), wave({4, 16}, 2.1), wave({16}, 0.4), wave({3, 4}, 0.9)};
}

std::vector<Tensor> gradients(const std::vector<Tensor>& p, const ScanOptions& options) {
  GradientTape tape;
  for (const Tensor& each : p) tape.watch(each);
  return tape.gradient(lstm(p, options), p);
}

TEST(ControlGradient, OfALstmIsTheTapesBitForBitHoweverItIsKept) {
  const std::vector<Tensor> p = lstm_parameters(7);
  for (const bool reverse : {false, true}) {
    const std::vector<Tensor> eager = gradients(p, {.reverse = reverse});
    for (const ScanOptions& options :
         {ScanOptions{}, ScanOptions{.checkpoint = 1}, ScanOptions{.checkpoint = 3}, ScanOptions{.checkpoint = 7},
          ScanOptions{.checkpoint = 100}, ScanOptions{.unroll = 2}, ScanOptions{.unroll = 7}}) {
      SCOPED_TRACE(testing::Message() << "checkpoint " << options.checkpoint << ", unroll " << options.unroll);
      ScanOptions own = options;
      own.reverse = reverse;
      const auto traced = function([&](std::vector<Tensor> q) { return gradients(q, own); })(p);
      for (size_t i = 0; i < p.size(); ++i) EXPECT_TRUE(same_bits(traced[i], eager[i])) << "parameter " << i;
    }
  }
}

TEST(ControlGradient, IsOneScanEachWayAndComputesNothingAgain) {
  const auto f = function([](std::vector<Tensor> p) { return gradients(p, {}); });
  std::vector<Spec> specs;
  const std::vector<Tensor> p = lstm_parameters(9);
  const std::string text =
      function([](Tensor x, Tensor wx, Tensor wh, Tensor b, Tensor s) { return gradients({x, wx, wh, b, s}, {}); })
          .lower(Spec{p[0].type()}, Spec{p[1].type()}, Spec{p[2].type()}, Spec{p[3].type()}, Spec{p[4].type()})
          .ir();
  EXPECT_EQ(count(text, "stablehlo.composite \"hone.scan\""), 2U) << text;
  const std::string programs = bodies(text);
  EXPECT_EQ(count(programs, "stablehlo.tanh "), 2U) << programs;
  EXPECT_EQ(count(programs, "stablehlo.logistic "), 3U) << programs;
  EXPECT_EQ(count(programs, "stablehlo.dot_general"), 2U + 4U) << programs;
}

// c tanh(x w) + x: the product w w does not depend on the row, and c + 1 is cheap to compute from c.
TEST(ControlGradient, KeepsWhatIsNeitherAtHandNorCheap) {
  const auto slope = [](Tensor x, Tensor w) {
    return grad([&](Tensor v) {
      return sum(
          scan([&](Tensor c, Tensor row) { return std::pair{tanh(c * v) * exp(row), reshape(c + 1, {1, 3}) * v}; },
               ones({3}), x)
              .second);
    })(w);
  };
  const std::string text = function(slope).lower(Spec{f32, {6, 3}}, Spec{f32, {3}}).ir();
  // Forward: the carry (ys are not read), tanh, exp(row).
  EXPECT_EQ(count(text, "%0:4 = stablehlo.composite \"hone.scan\"") + count(text, ":4 = stablehlo.composite"), 1U)
      << text;
}

TEST(ControlGradient, EffectsRunOnceInOrder) {
  std::vector<float> seen;
  const int64_t host = register_host_function(
      [&](std::span<const Tensor> in) {
        seen.push_back(in[0].item<float>());
        return in[0] * 2;
      },
      {f32, {}});
  for (const int64_t checkpoint : {0, 2}) {
    const auto loss = [&](Tensor x) {
      return sum(scan(
                     [&](Tensor c, Tensor v) {
                       const Tensor twice = host_callback(host, std::vector{stop_gradient(v)});
                       const Tensor chosen = cond(
                           v > 1, [&] { return v * c * host_callback(host, std::vector{stop_gradient(v * 10)}); },
                           [&] { return v; });
                       return std::pair{c * twice + chosen, c * cast(check(v > -1, "rows above -1"), f32)};
                     },
                     x[0], x, {.checkpoint = checkpoint})
                     .second);
    };
    const Tensor x = Tensor::of<float>({0.5F, 1.5F, 2.5F, 0.25F});
    seen.clear();
    const Tensor eager = grad(loss)(x);
    const std::vector<float> expected = std::exchange(seen, {});
    EXPECT_EQ(expected, (std::vector<float>{0.5F, 1.5F, 15, 2.5F, 25, 0.25F}));
    const auto traced = function([&](Tensor v) { return grad(loss)(v); });
    EXPECT_TRUE(same_bits(traced(x), eager));
    EXPECT_EQ(seen, expected);
  }
}

TEST(ControlGradient, EffectsOfDifferentiatedBranchesRunOnce) {
  int calls = 0;
  const int64_t host = register_host_function([&](std::span<const Tensor> in) { return ++calls, in[0]; }, {f32, {}});
  const auto f = [&](Tensor x) {
    return cond(x > 0, [&] { return x * host_callback(host, std::vector{stop_gradient(x)}); }, [&] { return sin(x); });
  };
  const auto traced = function([&](Tensor x) { return grad(f)(x); });
  EXPECT_EQ(traced(Tensor(3.0F)).item<float>(), 3);
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(same_bits(traced(Tensor(-1.0F)), grad(f)(Tensor(-1.0F))));
  EXPECT_EQ(calls, 1);
}

TEST(ControlGradient, CheckpointsBoundWhatIsKept) {
  const auto peak = [](const ScanOptions& options) {
    const auto f = function([&](Tensor x, Tensor w) {
      return grad([&](Tensor v) {
        return sum(scan(
                       [&](Tensor c, Tensor row) {
                         Tensor next = c;
                         for (int i = 0; i < 4; ++i) next = tanh(next * v + row);
                         return std::pair{next, next[0]};
                       },
                       w, x, options)
                       .second);
      })(w);
    });
    const Tensor x = wave({64, 1}), w = wave({4096});
    cpu().reset_peak();
    const size_t before = memory_stats().in_use;
    f(x, w);
    return memory_stats().peak - before;
  };
  const size_t row = 4096 * sizeof(float);
  const size_t all = peak({}), some = peak({.checkpoint = 8});
  EXPECT_GE(all, 4 * 64 * row);             // a carry and three more values a step
  EXPECT_LE(some, (8 + 5 * 8 + 16) * row);  // carries of 8 groups, one group, buffers
}

// A while loop on the way has no gradient, which matters only where one is asked for.
TEST(ControlGradient, LoopsThatAreNotAskedForMayHaveNone) {
  const auto f = [](Tensor x) {
    auto [last, ys] = scan(
        [](Tensor c, Tensor v) {
          const Tensor big = while_loop([](Tensor k) { return k < 10; }, [](Tensor k) { return k * 2; }, v);
          return std::pair{c * v, big};
        },
        Tensor(1.0F), x);
    return std::pair{last, ys};
  };
  const Tensor x = Tensor::of<float>({1, 2, 3});
  const auto slope = function([&](Tensor v) { return grad([&](Tensor u) { return f(u).first; })(v); });
  EXPECT_EQ(slope(x).to_vector<float>(), (std::vector<float>{6, 3, 2}));
  const auto asked = function([&](Tensor v) { return grad([&](Tensor u) { return sum(f(u).second); })(v); });
  EXPECT_THROW(asked(x), Error);
}

TEST(ControlGradient, SumsGoOnFromUsesOutside) {
  const Tensor x = wave({5, 3}), w = wave({3}, 1.1);
  const auto f = [&](Tensor v) {
    const Tensor before = sum(v * v * 0.3F);
    const auto [last, ys] =
        scan([&](Tensor c, Tensor row) { return std::pair{tanh(c * v + row * v), c * v}; }, v * 0.5, x);
    return before + sum(last * v) + sum(ys * v) + sum(v * exp(v));
  };
  EXPECT_TRUE(same_bits(function([&](Tensor v) { return grad(f)(v); })(w), grad(f)(w)));
}

}  // namespace
}  // namespace hone
