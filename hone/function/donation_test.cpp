// Arguments that a function may write its results over.
#include <gtest/gtest.h>

#include "hone/base/error.h"
#include "hone/function/control.h"
#include "hone/function/function.h"
#include "hone/function/tape.h"
#include "hone/ops/contraction.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/misc.h"
#include "hone/ops/movement.h"
#include "hone/ops/reduction.h"

namespace hone {
namespace {

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

const auto decayed = [](Tensor state, Tensor x) { return state * 0.5F + x; };

TEST(Donation, TheResultLiesInTheDonatedMemory) {
  const auto step = function(decayed, {.name = "step", .donate_args = {0}});
  const Tensor x = ones({1000});
  Tensor state = zeros({1000});
  const void* const memory = state.raw();
  const Tensor now = step(state, x);
  EXPECT_EQ(now.raw(), memory);
  EXPECT_EQ(now.to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(x.to_vector<float>()[999], 1) << "the other argument stays";
  EXPECT_TRUE(has(step.explain(), "arg0 is donated to result 0 of 1: written over")) << step.explain();
}

TEST(Donation, UsingADonatedTensorNamesTheCall) {
  const auto step = function(decayed, {.name = "step", .donate_args = {0}});
  const Tensor x = ones({3}), state = zeros({3}), same = state;
  step(state, x);
  const uint32_t line = Location::current().line - 1;
  const std::string call = "donation_test.cpp:" + std::to_string(line);
  const std::vector<std::string> uses = {message_of([&] { (void)state.to_vector<float>(); }),
                                         message_of([&] { (void)(same + 1); }),
                                         message_of([&] { step(state, x); }),
                                         message_of([&] { (void)Variable(state); }),
                                         message_of([&] { Variable(x).assign(same); }),
                                         message_of([&] { (void)state[0]; }),
                                         message_of([&] { function([&](Tensor y) { return y + state; })(x); })};
  for (const std::string& use : uses) {
    EXPECT_TRUE(has(use, "a donated tensor is used") && has(use, call) && has(use, "fix: use what that call returned"))
        << use;
  }
  EXPECT_EQ(state.shape(), x.shape()) << "its type is still known";
}

TEST(Donation, AChainKeepsOneBuffer) {
  const auto step = function(decayed, {.donate_args = {0}});
  const Tensor x = ones({1 << 18});
  Tensor state = zeros({1 << 18});
  state = step(state, x);
  const size_t before = memory_stats().in_use;
  const void* const memory = state.raw();
  for (int i = 0; i < 50; ++i) state = step(state, x);
  EXPECT_EQ(state.raw(), memory);
  EXPECT_EQ(memory_stats().in_use, before);
  EXPECT_EQ(state.to_vector<float>()[7], 2);
}

TEST(Donation, MemoryThatOthersSeeIsCopiedFirst) {
  const auto step = function(decayed, {.donate_args = {0}});
  const Tensor whole = ones({4, 3}), x = zeros({2, 3});
  const Tensor half = whole[{slice(2, 4)}], again = identity(half);
  EXPECT_EQ(step(half, x).to_vector<float>()[5], 0.5F);
  EXPECT_EQ(whole.to_vector<float>(), std::vector<float>(12, 1)) << "the tensor that it was a part of";
  EXPECT_EQ(again.to_vector<float>(), std::vector<float>(6, 1)) << "another view";
  std::vector<float> own(6, 4);
  const Tensor borrowed = Tensor::borrow(own.data(), {2, 3}, f32);
  EXPECT_EQ(step(borrowed, x).to_vector<float>()[0], 2);
  EXPECT_EQ(own, std::vector<float>(6, 4));
  EXPECT_EQ(step(broadcast_to(Tensor(3.0F), {2, 3}), x).to_vector<float>()[4], 1.5F) << "strided";
}

TEST(Donation, AFunctionKeepsWhatItCaptured) {
  const Tensor shared = ones({5});
  const auto reader = function([&](Tensor x) { return x + shared; });
  EXPECT_EQ(reader(zeros({5})).to_vector<float>()[0], 1);
  const auto step = function(decayed, {.donate_args = {0}});
  step(shared, zeros({5}));
  EXPECT_EQ(reader(zeros({5})).to_vector<float>()[0], 1) << "recorded before it was donated";
}

TEST(Donation, OneThatNoResultCanUseIsAnError) {
  const auto f = function([](Tensor a, Tensor b) { return sum(a * b); }, {.name = "energy", .donate_args = {1}});
  const Tensor x = ones({3});
  const std::string message = message_of([&] { f(x, x + 1); });
  EXPECT_TRUE(has(message, "'energy' cannot use the memory of tensor 1 among its arguments") &&
              has(message, "f32[3]") && has(message, "results: f32[]") && has(message, "donate_args"))
      << message;
  // Another argument handed through does not count: it has memory of its own.
  const auto g = function([](Tensor a, Tensor) { return a; }, {.donate_args = {1}});
  EXPECT_TRUE(has(message_of([&] { g(x, x + 1); }), "cannot use the memory"));
  EXPECT_EQ(x.to_vector<float>()[0], 1);
}

TEST(Donation, ExplainSaysWhereTheMemoryIsOnlyLetGo) {
  const auto f = function([](Tensor a, Tensor w) { return matmul(a, w); }, {.donate_args = {0}});
  const Tensor a = ones({64, 64});
  EXPECT_EQ(f(a, ones({64, 64})).to_vector<float>()[0], 64);
  EXPECT_TRUE(has(f.explain(), "arg0 is donated to result 0 of 1: let go after the call")) << f.explain();
  EXPECT_TRUE(has(message_of([&] { (void)(a + 1); }), "a donated tensor is used"));
}

TEST(Donation, OneTensorIsNotGivenAndRead) {
  const auto step = function(decayed, {.name = "step", .donate_args = {0}});
  const Tensor x = ones({3});
  const std::string message = message_of([&] { step(x, x); });
  EXPECT_TRUE(has(message, "one tensor as argument 1 and as argument 0, which it donates")) << message;
  EXPECT_EQ(step(identity(x), x).to_vector<float>()[0], 1.5F);
  EXPECT_EQ(x.to_vector<float>()[0], 1);
}

TEST(Donation, PositionsMustHoldTensors) {
  const auto f = function([](Tensor a, float b) { return a * b; }, {.name = "scale", .donate_args = {1}});
  EXPECT_TRUE(has(message_of([&] { f(ones({3}), 2.0F); }), "'scale' cannot donate argument 1"));
  const auto g = function([](Tensor a) { return a * 2; }, {.donate_args = {3}});
  EXPECT_TRUE(has(message_of([&] { g(ones({3})); }), "the call has 1 arguments"));
}

TEST(Donation, ContainersAreDonatedWhole) {
  const auto f = function(
      [](std::vector<Tensor> weights, std::vector<Tensor> changes) {
        for (size_t i = 0; i < weights.size(); ++i) weights[i] = weights[i] - changes[i] * 0.1F;
        return weights;
      },
      {.donate_args = {0}});
  std::vector<Tensor> weights{ones({3}), ones({2, 2})};
  const std::vector<Tensor> changes{ones({3}), ones({2, 2})};
  const void* const memory[] = {weights[0].raw(), weights[1].raw()};
  for (int i = 0; i < 3; ++i) weights = f(weights, changes);
  EXPECT_EQ(weights[0].raw(), memory[0]);
  EXPECT_EQ(weights[1].raw(), memory[1]);
  EXPECT_NEAR(weights[1].to_vector<float>()[3], 0.7F, 1e-6F);
}

TEST(Donation, AnArgumentHandedThroughIsANewTensor) {
  const auto f = function([](Tensor a, Tensor b) { return std::pair{a, a + b}; }, {.donate_args = {0}});
  const Tensor a = ones({3});
  const auto [same, sum] = f(a, ones({3}));
  EXPECT_EQ(same.to_vector<float>(), (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(sum.to_vector<float>(), (std::vector<float>{2, 2, 2}));
  EXPECT_TRUE(has(message_of([&] { (void)(a + 1); }), "a donated tensor is used"));
}

TEST(Donation, EagerCallsUseArgumentsUpAsGraphsDo) {
  const auto step = function([](Tensor state, Tensor x) { return std::pair{state, state + x}; }, {.donate_args = {0}});
  const Tensor state = ones({3});
  run_functions_eagerly(true);
  const auto [same, next] = step(state, ones({3}));
  run_functions_eagerly(false);
  EXPECT_EQ(same.to_vector<float>()[0], 1);
  EXPECT_EQ(next.to_vector<float>()[0], 2);
  EXPECT_TRUE(has(message_of([&] { (void)(state + 1); }), "a donated tensor is used"));
}

TEST(Donation, IsNotHeededUnderATape) {
  const auto square = function([](Tensor x) { return x * x; }, {.donate_args = {0}});
  const Tensor x = Tensor::of<float>({1, 2, 3});
  GradientTape tape;
  tape.watch(x);
  const Tensor gradient = tape.gradient(sum(square(x)), x);
  EXPECT_EQ(gradient.to_vector<float>(), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(x.to_vector<float>()[2], 3);
}

TEST(Donation, OfAVariablesValueIsNamedByTheVariablesNextUse) {
  const Variable v(ones({3}));
  const auto twice = function([](Tensor x) { return x * 2; }, {.donate_args = {0}});
  EXPECT_EQ(twice(v).to_vector<float>()[0], 2);
  EXPECT_TRUE(has(message_of([&] { (void)(v + 1); }), "a donated tensor is used"));
  const auto add = function([&](Tensor x) { v.assign_add(x); });
  EXPECT_TRUE(has(message_of([&] { add(ones({3})); }), "a donated tensor is used"));
  v.assign(zeros({3}));
  add(ones({3}));
  EXPECT_EQ(v.value().to_vector<float>()[0], 1) << "a new value mends it";
}

TEST(Donation, SymbolicShapesDonateToo) {
  const auto step = function(decayed, {.donate_args = {0}});
  for (const int64_t n : {3, 5, 9, 4}) {
    const Tensor state = ones({n}), x = ones({n});
    const void* const memory = state.raw();
    EXPECT_EQ(step(state, x).raw(), memory) << n;
  }
  EXPECT_EQ(step.trace_count(), 2);
}

TEST(Donation, StaysWithTheArgumentWhenRecordingFails) {
  const auto f = function([](Tensor a, Tensor b) { return a + b; }, {.donate_args = {0}});
  const Tensor a = ones({3});
  EXPECT_TRUE(has(message_of([&] { f(a, ones({4})); }), "shape mismatch"));
  EXPECT_EQ(a.to_vector<float>()[0], 1);
}

TEST(Donation, IsPartOfTheText) {
  const auto step = function(decayed, {.donate_args = {0}});
  const std::string text = step.lower(Spec{f32, {3}}, Spec{f32, {3}}).ir();
  EXPECT_TRUE(has(text, "hone.new_value = 0")) << text;
}

}  // namespace
}  // namespace hone
