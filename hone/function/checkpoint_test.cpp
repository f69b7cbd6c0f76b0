// custom_gradient and checkpoint.
#include <gtest/gtest.h>

#include "hone/base/error.h"
#include "hone/device/device.h"
#include "hone/function/grad.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/nn.h"
#include "hone/ops/reduction.h"
#include "hone/tensor/check_test.h"

namespace hone {
namespace {

TEST(CustomGradient, IsWhatTheFunctionSays) {
  const auto clipped = custom_gradient([](const std::vector<Tensor>& in) {
    return WithGradient{in[0] * in[1],
                        [in](const Tensor& ct) { return std::vector{clamp(-1, ct * in[1], 1), Tensor()}; }};
  });
  const Tensor a = vec({2, 0.5F}), b = vec({3, 0.5F});
  GradientTape tape({.persistent = true});
  tape.watch(a);
  tape.watch(b);
  const Tensor y = clipped({a, b});
  EXPECT_EQ(floats(y), (Floats{6, 0.25F}));
  EXPECT_EQ(floats(tape.gradient(y * 2, a)), (Floats{1, 1}));
  EXPECT_EQ(floats(tape.gradient(y, a, vec({0.1F, 1}))), (Floats{0.1F * 3, 0.5F}));
  EXPECT_FALSE(tape.gradient(y, b).defined());
}

TEST(CustomGradient, RecordsOneNode) {
  const auto f = custom_gradient([](const std::vector<Tensor>& in) {
    return WithGradient{exp(sin(in[0])), [](const Tensor& ct) { return std::vector{ct}; }};
  });
  const Tensor x = vec({1});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f({x});
  EXPECT_EQ(tape.recorded(), 1U);
  EXPECT_EQ(floats(tape.gradient(y, x)), (Floats{1}));
}

TEST(CustomGradient, IsDifferentiatedAgain) {
  const auto cube = custom_gradient([](const std::vector<Tensor>& in) {
    const Tensor x = in[0];
    return WithGradient{x * x * x, [x](const Tensor& ct) { return std::vector{3 * x * x * ct}; }};
  });
  const auto f = [&](const Tensor& x) { return cube({x}); };
  EXPECT_EQ(grad(f)(Tensor(2.0F)).item<float>(), 12);
  EXPECT_EQ(grad(grad(f))(Tensor(2.0F)).item<float>(), 12);
}

TEST(CustomGradient, GradientsThatDoNotFitAreTheProgramsError) {
  const auto giving = [](std::vector<Tensor> gradients) {
    return custom_gradient([gradients = std::move(gradients)](const std::vector<Tensor>& in) {
      return WithGradient{in[0] * 2, [gradients](const Tensor&) { return gradients; }};
    });
  };
  const Tensor x = vec({1, 2});
  const auto failing = [&](std::vector<Tensor> gradients) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = giving(std::move(gradients))({x});
    return message(Code::kInvalidArgument, [&] { tape.gradient(y, x); });
  };
  EXPECT_TRUE(contains(failing({vec({1})}), "gave f32[1] for input 0, which is f32[2]"));
  EXPECT_TRUE(contains(failing({}), "gave 0 gradients for 1 inputs"));
  EXPECT_TRUE(contains(failing({x, x}), "gave 2 gradients for 1 inputs"));
  const auto nothing = custom_gradient([](const std::vector<Tensor>&) { return WithGradient{}; });
  message(Code::kInvalidArgument, [&] { nothing({x}); });
}

TEST(CustomGradient, ABackwardThatThrowsLeavesTheTapeUsable) {
  const auto throwing = custom_gradient([](const std::vector<Tensor>& in) {
    return WithGradient{in[0] * 2, [](const Tensor&) -> std::vector<Tensor> { throw std::runtime_error("mine"); }};
  });
  const Tensor x = vec({3});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor bad = throwing({x}), good = x * x;
  EXPECT_THROW(tape.gradient(bad, x), std::runtime_error);
  EXPECT_EQ(floats(tape.gradient(good, x)), (Floats{6}));
  EXPECT_EQ(floats(tape.gradient(good * x, x)), (Floats{27}));  // it records on
}

Tensor chain(const Tensor& x) {
  Tensor y = x;
  for (int i = 0; i < 8; ++i) y = tanh(y * 0.9F) + 0.1F;
  return y;
}

TEST(Checkpoint, GivesTheSameGradientBits) {
  const auto f = checkpoint([](const std::vector<Tensor>& in) { return chain(in[0]) * in[1]; });
  const Tensor x = vec({0.1F, 0.5F, -2}), w = vec({1, 2, 3});
  const auto run = [&](bool kept) {
    GradientTape tape;
    tape.watch(x);
    tape.watch(w);
    const Tensor y = sum(kept ? chain(x) * w : f({x, w}));
    std::vector<Tensor> all = tape.gradient(y, std::vector{x, w});
    all.push_back(y);
    return all;
  };
  const std::vector<Tensor> plain = run(true), again = run(false);
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(floats(plain[i]), floats(again[i]));
}

TEST(Checkpoint, KeepsNoIntermediateValues) {
  const Tensor x = Tensor::from(std::vector<float>(1 << 18, 0.5F), {1 << 18});
  const auto f = checkpoint([](const std::vector<Tensor>& in) { return chain(in[0]); });
  const auto held = [&](bool kept) {
    const size_t before = memory_stats().in_use;
    GradientTape tape;
    tape.watch(x);
    const Tensor y = kept ? chain(x) : f({x});
    return (memory_stats().in_use - before) >> 20;
  };
  EXPECT_GE(held(true), 8U);
  EXPECT_LE(held(false), 1U);  // the result
}

TEST(Checkpoint, VariablesGetTheirGradients) {
  const Variable v(vec({2})), frozen(vec({10}), {.trainable = false});
  const auto f = checkpoint([&](const std::vector<Tensor>& in) { return in[0] * v * v * frozen; });
  const Tensor x = vec({3});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = f({x});
  EXPECT_EQ(floats(tape.gradient(y, v)), (Floats{120}));
  EXPECT_EQ(floats(tape.gradient(y, x)), (Floats{40}));
  EXPECT_FALSE(tape.gradient(y, frozen).defined());
}

TEST(Checkpoint, SeesVariablesAsTheyWereAndLeavesThemAlone) {
  const Variable v(vec({2})), count(vec({0}), {.trainable = false});
  const auto f = checkpoint([&](const std::vector<Tensor>& in) {
    count.assign_add(vec({1}));
    return in[0] * v * count;
  });
  const Tensor x = vec({3});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f({x});
  EXPECT_EQ(floats(y), (Floats{6}));
  EXPECT_EQ(floats(count), (Floats{1}));
  v.assign(vec({100}));
  count.assign(vec({50}));
  EXPECT_EQ(floats(tape.gradient(y, x)), (Floats{2}));
  EXPECT_EQ(floats(count), (Floats{50}));  // counted once
  EXPECT_EQ(floats(v), (Floats{100}));
}

TEST(Checkpoint, RepeatsRandomNumbers) {
  const Variable state(random::state(3), {.trainable = false});
  const auto f = checkpoint([&](const std::vector<Tensor>& in) {
    const Tensor now = state;
    state.assign(random::bits(now, {1}).first);
    return dropout(in[0], now, 0.5);
  });
  const Tensor x = ones({64});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f({x});
  const Tensor next = state;
  EXPECT_EQ(floats(tape.gradient(y, x)), floats(y));  // the mask, scaled
  EXPECT_EQ(state.value().to_vector<uint64_t>(), next.to_vector<uint64_t>());
}

TEST(Checkpoint, TakesIntegersToo) {
  const auto f = checkpoint([](const std::vector<Tensor>& in) { return take(in[0], in[1]) * 2; });
  const Tensor x = vec({1, 2, 3}), at = Tensor::of<int>({2, 0});
  GradientTape tape;
  tape.watch(x);
  EXPECT_EQ(floats(tape.gradient(f({x, at}), x)), (Floats{2, 0, 2}));
}

TEST(Checkpoint, NestsAndIsDifferentiatedAgain) {
  const auto inner = checkpoint([](const std::vector<Tensor>& in) { return in[0] * in[0]; });
  const auto outer = checkpoint([&](const std::vector<Tensor>& in) { return inner({in[0]}) * in[0]; });
  const auto f = [&](const Tensor& x) { return outer({x}); };
  EXPECT_EQ(grad(f)(Tensor(2.0F)).item<float>(), 12);
  EXPECT_EQ(grad(grad(f))(Tensor(2.0F)).item<float>(), 12);
}

}  // namespace
}  // namespace hone
