// Frozen models: how far they are from the model, and that they are the same each time and for everybody.
#include "hone/train/freeze.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <thread>

#include "hone/base/error.h"
#include "hone/base/parallel.h"
#include "hone/base/settings.h"
#include "hone/function/function.h"
#include "hone/nn/convolution.h"
#include "hone/nn/core.h"
#include "hone/nn/normalization.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/train/applications/applications.h"
#include "hone/train/sequential.h"

namespace hone::nn {
namespace {

namespace apps = applications;

Tensor noise(const Shape& shape, uint64_t seed = 3) { return random::normal(random::state(seed), shape).second; }
bool same_bits(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

// Moving statistics as training leaves them: not 0 and 1.
void shake(const Layer& model) {
  uint64_t seed = 100;
  for (const auto& [name, variable] : model.named_variables()) {
    const double low = name.ends_with("moving_mean") ? -0.2 : 0.5;
    if (name.ends_with("moving_mean") || name.ends_with("moving_variance"))
      variable.assign(random::uniform(random::state(++seed), variable.shape(), low, low + 0.5).second);
  }
}

struct Network {
  const char* name;
  std::function<Layer()> make;
  Tensor x;
  int64_t convolutions, dense, scales, activations, residuals;
};

std::vector<Network> networks() {
  return {
      {"resnet20", [] { return apps::resnet20(); }, noise({3, 32, 32, 3}), 21, 1, 21, 19, 9},
      {"mobilenet", [] { return apps::mobilenet_v1({.alpha = 0.25}); }, noise({2, 64, 64, 3}), 27, 1, 27, 27, 0},
      {"lenet", [] { return apps::lenet(); }, noise({2, 28, 28, 1}), 2, 3, 0, 4, 0},
      {"gpt", [] { return apps::gpt({.layers = 2}); }, cast(floor(noise({2, 16}) * noise({2, 16})), i64) * 0 + 7, 0, 9,
       0, 2, 4},
      {"lstm", [] { return apps::lstm_classifier(); }, noise({4, 9, 16}), 0, 2, 0, 0, 0},
  };
}

Layer built(const Network& network) {
  set_random_seed(11);
  Layer model = network.make();
  model(network.x);
  shake(model);
  return model;
}

TEST(Freeze, NetworksStayWithinTheBound) {
  for (const Network& network : networks()) {
    const Layer model = built(network);
    const FrozenModel frozen = freeze(model, {.sample = network.x, .tolerance = 2e-5});
    const FreezeSummary& s = frozen.summary();
    EXPECT_LE(s.relative_difference, 2e-5) << network.name;
    EXPECT_EQ(s.largest_difference > 0, network.activations > 0) << network.name;
    EXPECT_EQ(s.argmax_agreement, 1) << network.name;
    EXPECT_EQ(s.convolutions, network.convolutions) << network.name;
    EXPECT_EQ(s.dense, network.dense) << network.name;
    EXPECT_EQ(s.scales, network.scales) << network.name;
    EXPECT_EQ(s.activations, network.activations) << network.name;
    EXPECT_EQ(s.residuals, network.residuals) << network.name;
    EXPECT_LE(s.calls_after, s.calls_before) << network.name;
  }
}

TEST(Freeze, ResultsAreTheSameEachTimeEagerAndAsAGraph) {
  for (const Network& network : networks()) {
    const FrozenModel frozen = freeze(built(network), {.sample = network.x});
    const Tensor first = frozen(network.x);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(frozen(network.x), first)) << network.name;
    run_functions_eagerly(true);
    const Tensor eager = frozen(network.x);
    run_functions_eagerly(false);
    EXPECT_TRUE(same_bits(eager, first)) << network.name;
    const auto inside = function([&](const Tensor& x) { return frozen(x); });
    EXPECT_TRUE(same_bits(inside(network.x), first)) << network.name;
    EXPECT_TRUE(same_bits(freeze(built(network), {.sample = network.x, .jit_compile = true})(network.x), first))
        << network.name << " with machine code";
  }
}

TEST(Freeze, FixedPartitionsGiveTheSameBitsForAnyNumberOfThreads) {
  const Network network = networks()[0];
  const FrozenModel frozen = freeze(built(network), {.sample = network.x});
  const int before = threads();
  settings.reproducible = Reproducible::Threads;
  Tensor first;
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    const Tensor now = frozen(network.x);
    EXPECT_TRUE(!first.defined() || same_bits(now, first)) << count;
    first = now;
  }
  settings.reproducible = Reproducible::Off;
  set_threads(before);
}

TEST(Freeze, ServesEachBatchSizeAndSeveralThreads) {
  const Network network = networks()[1];
  const FrozenModel frozen = freeze(built(network), {.sample = network.x});
  std::vector<Tensor> inputs, expected;
  for (const int64_t n : {1, 2, 5}) {
    inputs.push_back(noise({n, 64, 64, 3}, static_cast<uint64_t>(n)));
    expected.push_back(frozen(inputs.back()));
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 6; ++i) {
        const size_t at = (t + i) % inputs.size();
        wrong += !same_bits(frozen(inputs[at]), expected[at]);
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(frozen.predict(noise({7, 64, 64, 3}), 3).dim(0), 7);
}

TEST(Freeze, LaterChangesOfVariablesAreNotSeen) {
  const Network network = networks()[2];
  const Layer model = built(network);
  const FrozenModel frozen = freeze(model, {.sample = network.x});
  const Tensor before = frozen(network.x);
  for (const Variable& variable : model.trainable_variables()) variable.assign(variable.value() * 2.0);
  EXPECT_TRUE(same_bits(frozen(network.x), before));
}

TEST(Freeze, EvaluatesAsTheModelDoes) {
  Sequential model{Conv2D(8, 3, {.use_bias = false}), BatchNormalization(), ReLU(), GlobalAveragePooling2D(), Dense(3)};
  model.compile({.loss = SparseCategoricalCrossentropy({.from_logits = true}), .metrics = {"accuracy"}});
  const Tensor x = noise({50, 8, 8, 1}), y = cast(floor(random::uniform(random::state(5), {50}, 0, 3).second), i64);
  model.fit(x, y, {.verbose = 0});
  const FrozenModel frozen = freeze(model);
  const Logs expected = model.evaluate(x, y), got = model.evaluate(x, y, {.inference = frozen});
  EXPECT_NEAR(*got.find("loss"), *expected.find("loss"), 1e-5);
  EXPECT_EQ(*got.find("accuracy"), *expected.find("accuracy"));
}

template <class F>
std::string message(Code code, F&& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(Freeze, SaysWhatIsWrong) {
  const Network network = networks()[0];
  const Layer model = built(network);
  const std::string far = message(Code::kNumerical, [&] { freeze(model, {.sample = network.x, .tolerance = 1e-12}); });
  EXPECT_NE(far.find("tolerance"), std::string::npos) << far;
  EXPECT_NE(message(Code::kFailedPrecondition, [&] { freeze(model); }).find(".sample"), std::string::npos);
  const FrozenModel frozen = freeze(model, {.sample = network.x});
  EXPECT_NE(message(Code::kInvalidArgument, [&] { frozen(noise({1, 16, 16, 3})); }).find("32"), std::string::npos);
  model.trainable_variables()[0].assign(model.trainable_variables()[0].value() *
                                        std::numeric_limits<float>::quiet_NaN());
  EXPECT_NE(message(Code::kNumerical, [&] { freeze(model, {.sample = network.x}); }).find("finite"), std::string::npos);
}

TEST(Freeze, ReportsAndLowers) {
  const Network network = networks()[0];
  const FrozenModel frozen = freeze(built(network), {.sample = network.x});
  EXPECT_NE(frozen.report().find("21 convolutions, 1 dense"), std::string::npos) << frozen.report();
  const Lowered lowered = frozen.lower({f32, {1, 32, 32, 3}});
  EXPECT_NE(lowered.kernels().find("onednn.frozen_convolution"), std::string::npos);
  EXPECT_NE(lowered.json().find("\"kernels\""), std::string::npos);
}

}  // namespace
}  // namespace hone::nn
