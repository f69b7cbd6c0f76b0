#include "hone/function/variable.h"

#include <gtest/gtest.h>

#include <thread>

#include "hone/base/error.h"
#include "hone/base/settings.h"
#include "hone/device/device.h"
#include "hone/function/tape.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/tensor/check_test.h"

namespace hone {
namespace {

TEST(Variable, HoldsAValueAndItsProperties) {
  Variable v(vec({1, 2}), {.name = "w", .trainable = false});
  EXPECT_EQ(floats(v), (Floats{1, 2}));
  EXPECT_EQ(v.name(), "w");
  EXPECT_FALSE(v.trainable());
  EXPECT_EQ(v.shape(), (Shape{2}));
  EXPECT_EQ(v.size(), 2);
  v.rename("kernel");
  v.set_trainable(true);
  const Variable copy = v;  // a handle
  EXPECT_EQ(copy.name(), "kernel");
  EXPECT_TRUE(copy.trainable());
  EXPECT_TRUE(copy == v);
  EXPECT_FALSE(copy == Variable(vec({1, 2})));
  copy.assign(vec({3, 4}));
  EXPECT_EQ(floats(v), (Floats{3, 4}));
}

TEST(Variable, AssignTakesTheSameTypeOnly) {
  const Variable v(vec({1, 2}), {.name = "w"});
  for (const Tensor& wrong : {vec({1}), Tensor::of<double>({1, 2}), reshape(vec({1, 2}), {1, 2})}) {
    const std::string text = message(Code::kInvalidArgument, [&] { v.assign(wrong); });
    EXPECT_TRUE(contains(text, "to variable 'w'") && contains(text, "expected: f32[2]")) << text;
    EXPECT_TRUE(contains(text, "variable_test.cpp")) << text;
  }
  EXPECT_TRUE(contains(message(Code::kInvalidArgument, [&] { v.assign(Tensor()); }), "cannot assign nothing"));
  EXPECT_EQ(floats(v), (Floats{1, 2}));
}

TEST(Variable, AddsAndSubtractsWhatBroadcasts) {
  const Variable v(vec({1, 2}));
  v.assign_add(vec({10, 20}));
  EXPECT_EQ(floats(v), (Floats{11, 22}));
  v.assign_sub(Tensor(1.0F));
  EXPECT_EQ(floats(v), (Floats{10, 21}));
  v.assign_add(Tensor(2));  // an integer becomes the variable's dtype
  EXPECT_EQ(floats(v), (Floats{12, 23}));
}

TEST(Variable, AChangeThatDoesNotFitLeavesTheValue) {
  const Variable v(vec({1, 2}), {.name = "w"});
  const Variable count(Tensor(3), {.name = "count"});
  for (const Tensor& wrong : {vec({1, 2, 3}), reshape(vec({1, 2}), {2, 1}), Tensor(), Tensor::of<double>({1, 2})}) {
    message(Code::kInvalidArgument, [&] { v.assign_add(wrong); });
    EXPECT_TRUE(contains(message(Code::kInvalidArgument, [&] { v.assign_sub(wrong); }), "variable 'w'"));
  }
  message(Code::kInvalidArgument, [&] { count.assign_add(Tensor(0.5F)); });
  EXPECT_EQ(floats(v), (Floats{1, 2}));
  EXPECT_EQ(count.value().item<int>(), 3);
}

TEST(Variable, WhatWasNeverMadeIsAnError) {
  const Variable none;
  EXPECT_FALSE(none.defined());
  EXPECT_EQ(none.key(), nullptr);
  message(Code::kFailedPrecondition, [&] { (void)none.value(); });
  message(Code::kFailedPrecondition, [&] { none.assign(vec({1})); });
  message(Code::kFailedPrecondition, [&] { none.assign_add(vec({1})); });
  message(Code::kInvalidArgument, [] { Variable{Tensor()}; });
}

TEST(Variable, IsNotChangedThroughTheTensorItWasMadeOf) {
  Tensor x = vec({1, 2});
  const Variable a(x), b(x);
  x = x * 10;
  a.assign_add(vec({1, 1}));
  EXPECT_EQ(floats(a), (Floats{2, 3}));
  EXPECT_EQ(floats(b), (Floats{1, 2}));
  const Tensor seen = b;
  b.assign_add(vec({5, 5}));
  EXPECT_EQ(floats(seen), (Floats{1, 2}));  // what was read stays
}

TEST(Variable, VariablesOfOneTensorHaveTheirOwnGradients) {
  const Tensor x = vec({2});
  const Variable a(x), b(x);
  GradientTape tape;
  const Tensor y = a * a.value() + b * 10;
  const std::vector<Tensor> found = tape.gradient(y, std::vector{a, b});
  EXPECT_EQ(floats(found[0]), (Floats{4}));
  EXPECT_EQ(floats(found[1]), (Floats{10}));
}

TEST(Variable, TakeGivesTheMemoryToTheUpdate) {
  const Variable v(Tensor::from(std::vector<float>(1 << 18), {1 << 18}));
  const Tensor one(1.0F);
  v.assign_add(one);
  cpu().reset_peak();
  const MemoryStats before = memory_stats();
  v.assign_add(one);
  EXPECT_EQ(memory_stats().peak, before.in_use);
  const Tensor held = v.take();
  message(Code::kFailedPrecondition, [&] { (void)v.value(); });
  v.assign(held);
  EXPECT_EQ(floats(v)[0], 2);
}

TEST(Variable, TakeLeavesTheValueWhereATapeIsActive) {
  const Variable v(vec({1}));
  GradientTape tape;
  (void)v.take();
  EXPECT_EQ(floats(v), (Floats{1}));
}

TEST(Variable, KeysAreNotReused) {
  const void* first = nullptr;
  {
    const Variable gone(vec({1}));
    first = gone.key();
  }
  for (int i = 0; i < 10; ++i) EXPECT_NE(Variable(vec({1})).key(), first);
}

TEST(Variable, IsReadFromSeveralThreadsWhileOthersAssignTheirs) {
  const Variable shared(vec({1, 2, 3}));
  std::vector<std::thread> workers;
  std::vector<float> totals(4);
  for (size_t t = 0; t < totals.size(); ++t) {
    workers.emplace_back([&, t] {
      const Variable mine(vec({0, 0, 0}));
      for (int i = 0; i < 100; ++i) mine.assign_add(shared);
      totals[t] = floats(mine)[2];
    });
  }
  for (std::thread& worker : workers) worker.join();
  for (float total : totals) EXPECT_EQ(total, 300);
}

}  // namespace
}  // namespace hone
