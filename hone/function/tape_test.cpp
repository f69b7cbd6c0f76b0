#include "hone/function/tape.h"

#include <gtest/gtest.h>

#include <thread>

#include "hone/base/error.h"
#include "hone/device/device.h"
#include "hone/ops/contraction.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/reduction.h"
#include "hone/tensor/check_test.h"

namespace hone {
namespace {

TEST(Tape, DifferentiatesASumOfTheTarget) {
  const Tensor x = vec({1, 2, 3});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x + 2 * x;
  EXPECT_EQ(floats(tape.gradient(y, x)), (Floats{4, 6, 8}));
}

TEST(Tape, WeighsWithTheOutputGradient) {
  const Tensor x = vec({1, 2, 3});
  GradientTape tape;
  tape.watch(x);
  EXPECT_EQ(floats(tape.gradient(x * x, x, vec({1, 10, 100}))), (Floats{2, 40, 600}));
}

TEST(Tape, AddsUpOverSeveralTargets) {
  const Tensor x = vec({1, 2}), w = vec({3, 4});
  GradientTape tape;
  tape.watch(x);
  tape.watch(w);
  const Tensor targets[] = {x * w, x * x}, sources[] = {x, w}, weights[] = {Tensor(), vec({10, 10})};
  const std::vector<Tensor> found = tape.gradient(targets, sources, weights);
  EXPECT_EQ(floats(found[0]), (Floats{3 + 20, 4 + 40}));
  EXPECT_EQ(floats(found[1]), (Floats{1, 2}));
}

TEST(Tape, RecordsOnlyWhatDependsOnTheWatched) {
  const Tensor x = vec({1, 2}), other = vec({3, 4});
  GradientTape tape;
  tape.watch(x);
  const Tensor constant = exp(other) * 3;
  EXPECT_EQ(tape.recorded(), 0U);
  const Tensor y = x * constant;
  EXPECT_EQ(tape.recorded(), 1U);
  tape.stop_recording();
  const Tensor later = y * y;
  EXPECT_EQ(tape.recorded(), 1U);
  EXPECT_TRUE(tape.gradient(y, x).defined());
}

TEST(Tape, ASourceWithoutInfluenceHasNoGradient) {
  const Tensor x = vec({1}), unused = vec({2}), unwatched = vec({3});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(unused);
  const Tensor y = x * unwatched;
  EXPECT_FALSE(tape.gradient(y, unused).defined());
  EXPECT_FALSE(tape.gradient(y, unwatched).defined());
  EXPECT_FALSE(tape.gradient(unwatched * 2, x).defined());
  EXPECT_EQ(floats(tape.gradient(x, x)), (Floats{1}));
}

TEST(Tape, ServesOneCallUnlessItIsPersistent) {
  const Tensor x = vec({2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  EXPECT_EQ(floats(tape.gradient(y, x)), (Floats{4}));
  EXPECT_TRUE(contains(message(Code::kFailedPrecondition, [&] { tape.gradient(y, x); }), "{.persistent = true}"));
  EXPECT_EQ((x * x).item<float>(), 4);
  EXPECT_EQ(tape.recorded(), 1U);  // it stopped recording
}

TEST(Tape, APersistentOneServesManyAndRecordsOn) {
  const Tensor x = vec({2});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x;
  EXPECT_EQ(floats(tape.gradient(y, x)), (Floats{4}));
  const Tensor z = y * x;
  EXPECT_EQ(floats(tape.gradient(z, x)), (Floats{12}));
  EXPECT_EQ(floats(tape.gradient(z, y)), (Floats{2}));
  EXPECT_EQ(floats(tape.gradient(y, x)), (Floats{4}));
}

TEST(Tape, NestedTapesGiveHigherDerivatives) {
  const Tensor x = vec({1, 2});
  GradientTape third;
  third.watch(x);
  Tensor second_derivative;
  {
    GradientTape second;
    second.watch(x);
    Tensor first_derivative;
    {
      GradientTape first;
      first.watch(x);
      first_derivative = first.gradient(x * x * x * x, x);
    }
    EXPECT_EQ(floats(first_derivative), (Floats{4, 32}));
    second_derivative = second.gradient(first_derivative, x);
  }
  EXPECT_EQ(floats(second_derivative), (Floats{12, 48}));
  EXPECT_EQ(floats(third.gradient(second_derivative, x)), (Floats{24, 48}));
}

TEST(Tape, IntegersCannotBeWatchedAndCarryNoGradient) {
  const Tensor x = vec({1.5F, 2.5F});
  GradientTape tape({.persistent = true});
  EXPECT_TRUE(contains(message(Code::kInvalidArgument, [&] { tape.watch(iota({2}, 0)); }), "cast(x, f32)"));
  tape.watch(x);
  EXPECT_FALSE(tape.gradient(cast(cast(x, i32), f32), x).defined());
  EXPECT_EQ(floats(tape.gradient(cast(cast(x, f64), f32) * 3, x)), (Floats{3, 3}));
}

TEST(Tape, NothingIsRecordedInANoGradScope) {
  const Tensor x = vec({3});
  const Variable v(vec({2}));
  GradientTape tape;
  tape.watch(x);
  Tensor factor;
  {
    const NoGradScope outer;
    {
      const NoGradScope inner;
      factor = x * v;
    }
    factor = factor * x;
  }
  EXPECT_EQ(tape.recorded(), 0U);
  const Tensor y = factor * x;
  EXPECT_EQ(floats(tape.gradient(y, x)), (Floats{18}));
}

TEST(Tape, StopGradientIsAConstant) {
  const Tensor x = vec({3});
  GradientTape tape;
  tape.watch(x);
  EXPECT_EQ(floats(tape.gradient(x * stop_gradient(x), x)), (Floats{3}));
}

TEST(Tape, UndefinedTensorsAreErrors) {
  const Tensor x = vec({1});
  GradientTape tape({.persistent = true});
  message(Code::kInvalidArgument, [&] { tape.watch(Tensor()); });
  message(Code::kFailedPrecondition, [&] { tape.watch(Variable()); });
  tape.watch(x);
  const Tensor y = x * x;
  message(Code::kInvalidArgument, [&] { tape.gradient(Tensor(), x); });
  message(Code::kInvalidArgument, [&] { tape.gradient(y, Tensor()); });
  message(Code::kInvalidArgument, [&] { tape.gradient(y, Variable()); });
  message(Code::kInvalidArgument, [&] { tape.jacobian(Tensor(), x); });
  message(Code::kInvalidArgument, [&] { tape.jacobian(y, Tensor()); });
  EXPECT_EQ(floats(tape.gradient(y, x)), (Floats{2}));
}

TEST(Tape, AnOutputGradientThatDoesNotFitLeavesTheTapeUsable) {
  const Tensor x = vec({1, 2});
  for (bool persistent : {false, true}) {
    GradientTape tape({.persistent = persistent});
    tape.watch(x);
    const Tensor y = x * x;
    const std::string text = message(Code::kInvalidArgument, [&] { tape.gradient(y, x, vec({1, 2, 3})); });
    EXPECT_TRUE(contains(text, "target: f32[2]   gradient: f32[3]")) << text;
    EXPECT_TRUE(contains(text, "tape_test.cpp")) << text;
    const Tensor z = y * 2;  // still recorded
    EXPECT_EQ(floats(tape.gradient(z, x)), (Floats{4, 8}));
  }
}

TEST(Tape, AnOpThatFailsIsNotRecorded) {
  const Tensor x = vec({1, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  const size_t recorded = tape.recorded();
  message(Code::kInvalidArgument, [&] { x + vec({1, 2, 3}); });
  message(Code::kInvalidArgument, [&] { matmul(x, reshape(x, {1, 2})); });
  message(Code::kInvalidArgument, [&] { concatenate({x, reshape(x, {1, 2})}, 0); });
  EXPECT_LE(tape.recorded(), recorded + 3);  // views made on the way may stay
  EXPECT_EQ(floats(tape.gradient(y * x, x)), (Floats{3, 12}));
}

TEST(Tape, SumsOverAllUsesOfAVariable) {
  const Variable v(vec({3}));
  GradientTape tape;
  const Tensor y = v.value() * v.value() + v;
  EXPECT_EQ(floats(tape.gradient(y, v)), (Floats{7}));
}

TEST(Tape, AVariableAssignedBetweenReadsCountsBothValues) {
  const Variable v(vec({2}));
  GradientTape tape;
  const Tensor first = v.value() * v.value();
  v.assign(vec({5}));
  const Tensor second = v * 10;
  EXPECT_EQ(floats(tape.gradient(first + second, v)), (Floats{4 + 10}));
}

TEST(Tape, AssigningDoesNotLinkTheOldValueToTheNew) {
  const Variable v(vec({2}));
  GradientTape tape;
  const Tensor before = v * 1;
  v.assign_add(vec({1}));
  const Tensor after = v.value() * v.value();
  EXPECT_EQ(floats(tape.gradient(after, v)), (Floats{6}));
  EXPECT_EQ(before.item<float>(), 2);
}

TEST(Tape, VariablesGetTheirGradientsInTheOrderAsked) {
  const Variable a(vec({2})), b(vec({3})), unused(vec({4})), frozen(vec({5}), {.trainable = false});
  GradientTape tape;
  const Tensor y = a * b * b * frozen;
  const std::vector<Tensor> found = tape.gradient(y, std::vector{b, unused, a, frozen});
  EXPECT_EQ(floats(found[0]), (Floats{60}));
  EXPECT_FALSE(found[1].defined());
  EXPECT_EQ(floats(found[2]), (Floats{45}));
  EXPECT_FALSE(found[3].defined());  // not trainable: not watched
}

TEST(Tape, VariablesMayBeWatchedByHand) {
  const Variable a(vec({2})), frozen(vec({5}), {.trainable = false});
  GradientTape tape({.persistent = true, .watch_accessed_variables = false});
  tape.watch(frozen);
  const Tensor y = a * frozen;
  EXPECT_FALSE(tape.gradient(y, a).defined());
  EXPECT_EQ(floats(tape.gradient(y, frozen)), (Floats{2}));
}

TEST(Tape, ANewVariableIsNotAnOldOneOfTheSameAddress) {
  const Tensor x = vec({3});
  GradientTape tape({.persistent = true});
  Tensor y;
  {
    const Variable gone(vec({2}));
    y = gone * x;
  }
  for (int i = 0; i < 20; ++i) {
    const Variable fresh(vec({7}));
    EXPECT_FALSE(tape.gradient(y, fresh).defined());
  }
}

// 1 MiB a tensor: what is kept is the multiple of that which is in use.
class Megabytes {
 public:
  Megabytes() : before_(memory_stats().in_use) {}
  size_t operator()() const { return (memory_stats().in_use - before_ + 1000) >> 20; }

 private:
  size_t before_;
};
Tensor megabyte(float value) { return Tensor::from(std::vector<float>(1 << 18, value), {1 << 18}); }

TEST(Tape, KeepsOnlyWhatAGradientRuleReads) {
  const Tensor x = megabyte(0.5F);
  const Megabytes held;
  GradientTape tape;
  tape.watch(x);
  Tensor y = x + 1;  // rules of add, negate and sum read no values
  y = -y;
  y = y + x;
  EXPECT_EQ(held(), 1U);  // y
  y = exp(y);             // reads its result, which y is
  EXPECT_EQ(held(), 1U);
  y = sum(y);
  EXPECT_EQ(held(), 1U);  // the result of exp
  const Tensor g = tape.gradient(y, x);
  EXPECT_EQ(held(), 1U);  // the gradient; residuals are gone though the tape lives
}

TEST(Tape, FreesResidualsWhenItEnds) {
  const Tensor x = megabyte(0.5F);
  const Megabytes held;
  {
    GradientTape tape;
    tape.watch(x);
    Tensor y = x;
    for (int i = 0; i < 5; ++i) y = exp(y * 0.1F);
    EXPECT_GE(held(), 5U);
  }
  EXPECT_EQ(held(), 0U);
}

TEST(Tape, ResidualsAreFreedWhileWalkingBack) {
  const Tensor x = megabyte(0.5F);
  const Megabytes held;
  GradientTape tape;
  tape.watch(x);
  Tensor y = x;
  for (int i = 0; i < 16; ++i) y = exp(y * 0.1F);
  const size_t forward = held();
  cpu().reset_peak();
  const Tensor g = tape.gradient(y, x);
  const size_t peak = (memory_stats().peak - memory_stats().in_use) >> 20;
  EXPECT_LE(peak, forward + 4);  // not another megabyte for each step
}

TEST(Tape, JacobianOfAVectorFunction) {
  const Tensor x = vec({1, 2, 3});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = concatenate({x * x, reshape(sum(x), {1})}, 0);
  const Tensor j = tape.jacobian(y, x);
  EXPECT_EQ(j.shape(), (Shape{4, 3}));
  EXPECT_EQ(floats(j), (Floats{2, 0, 0, 0, 4, 0, 0, 0, 6, 1, 1, 1}));
  const Tensor other = vec({1, 2});
  EXPECT_EQ(floats(tape.jacobian(y, other)), Floats(8));
}

TEST(Tape, JacobianNeedsAPersistentTape) {
  const Tensor x = vec({1});
  GradientTape tape;
  tape.watch(x);
  message(Code::kFailedPrecondition, [&] { tape.jacobian(x * x, x); });
}

TEST(Tape, TapesOfSeveralThreadsAreIndependent) {
  const Variable v(vec({2, 3}));
  std::vector<std::thread> workers;
  std::vector<Floats> found(4);
  for (size_t t = 0; t < found.size(); ++t) {
    workers.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        GradientTape tape;
        const Tensor y = sum(v.value() * v.value() * static_cast<double>(t));
        found[t] = floats(tape.gradient(y, v));
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  for (size_t t = 0; t < found.size(); ++t) EXPECT_EQ(found[t], (Floats{4.0F * t, 6.0F * t}));
}

TEST(Tape, MayEndInAnyOrder) {
  const Tensor x = vec({2});
  auto a = std::make_unique<GradientTape>();
  auto b = std::make_unique<GradientTape>();
  auto c = std::make_unique<GradientTape>();
  for (auto* tape : {&a, &b, &c}) (*tape)->watch(x);
  b.reset();
  const Tensor y = x * x;
  EXPECT_EQ(floats(a->gradient(y, x)), (Floats{4}));
  a.reset();
  EXPECT_EQ(floats(c->gradient(y, x)), (Floats{4}));
}

}  // namespace
}  // namespace hone
