// What may go wrong while a function is recorded, and how large it may be.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <thread>

#include "hone/base/error.h"
#include "hone/base/log.h"
#include "hone/base/settings.h"
#include "hone/function/control.h"
#include "hone/function/function.h"
#include "hone/function/tape.h"
#include "hone/nn/core.h"
#include "hone/nn/loss.h"
#include "hone/ops/contraction.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/misc.h"
#include "hone/ops/movement.h"
#include "hone/ops/reduction.h"
#include "hone/optim/optimizer.h"

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

const Tensor& x3() {
  static const Tensor x = Tensor::of<float>({1, 2, 3});
  return x;
}

TEST(Trace, HostSideEffectsAreFoundWithTheirLine) {
  int calls = 0;
  const auto f = function([&](Tensor x) { return x + static_cast<float>(++calls); });
  settings.trace_twice = true;
  const std::string message = message_of([&] { f(x3()); });
  EXPECT_TRUE(has(message, "trace_test.cpp") && has(message, "the host changes something")) << message;
  settings.trace_twice = false;
  EXPECT_EQ(f(x3()).to_vector<float>()[0], 4);
  EXPECT_EQ(f(x3()).to_vector<float>()[0], 4) << "host code runs when the function is recorded";
  settings.trace_twice = true;
}

TEST(Trace, CapturedTensorsAreInputsNotConstants) {
  const Tensor big = ones({64, 64});
  const auto f = function([&](Tensor x) { return sum(big * x); });
  EXPECT_EQ(f(ones({64, 64})).item<float>(), 4096);
  const Lowered lowered = f.lower(Spec{f32, {64, 64}});
  EXPECT_TRUE(has(lowered.memory(), "captures       16.0 KiB")) << lowered.memory();
}

TEST(Trace, LeakedValuesAreCaughtWithTheirLine) {
  Tensor leaked;
  const auto f = function([&](Tensor x) {
    leaked = x * 2;
    return leaked;
  });
  f(x3());
  const std::string read = message_of([&] { (void)leaked.to_vector<float>(); });
  EXPECT_TRUE(has(read, "outside its trace") && has(read, "trace_test.cpp")) << read;
  EXPECT_TRUE(has(message_of([&] { (void)(leaked + 1); }), "outside its trace"));
  const auto g = function([&](Tensor x) { return x + leaked; });
  EXPECT_TRUE(has(message_of([&] { g(x3()); }), "outside its trace"));
  const auto h = function([](Tensor x) { return x + 1; });
  EXPECT_TRUE(has(message_of([&] { h(leaked); }), "outside its trace"));
  const Variable v(x3());
  EXPECT_TRUE(has(message_of([&] { v.assign(leaked); }), "outside its trace"));
  EXPECT_EQ(v.value().to_vector<float>(), x3().to_vector<float>());
}

TEST(Trace, ErrorsWhileRecordingLeaveNothingBehind) {
  const Variable v(x3());
  bool fails = true;
  const auto f = function([&](Tensor x) {
    v.assign(x);
    if (fails) throw std::runtime_error("by the program");
    return x + 1;
  });
  EXPECT_THROW(f(zeros({3})), std::runtime_error);
  EXPECT_FALSE(has_interpreters());
  EXPECT_EQ(v.value().to_vector<float>(), x3().to_vector<float>()) << "the variable is as it was";
  EXPECT_EQ(f.trace_count(), 0);
  fails = false;
  EXPECT_EQ(f(zeros({3})).to_vector<float>(), (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(v.value().to_vector<float>(), (std::vector<float>{0, 0, 0}));
}

TEST(Trace, ShapeErrorsNameTheLineInsideNestedFunctions) {
  const auto inner = function([](Tensor a, Tensor b) { return a + b; }, {.name = "inner"});
  const auto outer = function([&](Tensor a) { return inner(a, zeros({4})); }, {.name = "outer"});
  const uint32_t line = Location::current().line;
  const std::string message = message_of([&] { outer(x3()); });
  const auto at = [&](uint32_t above) { return "trace_test.cpp:" + std::to_string(line - above); };
  EXPECT_TRUE(has(message, "shape mismatch in add")) << message;
  const size_t add = message.find(at(2)), inner_call = message.find(at(1), add),
               outer_call = message.find("called at", message.find("'outer'"));
  EXPECT_NE(add, std::string::npos) << message;
  EXPECT_NE(inner_call, std::string::npos) << message;
  EXPECT_NE(outer_call, std::string::npos) << message;
}

TEST(Trace, NestedFunctionsArePartOfTheOuterOne) {
  const auto inner = function([](Tensor a) { return tanh(a) * 2; });
  const auto outer = function([&](Tensor a) { return inner(inner(a)) + 1; });
  EXPECT_EQ(outer(x3()).to_vector<float>(), (tanh(tanh(x3()) * 2) * 2 + 1).to_vector<float>());
  EXPECT_EQ(inner.trace_count(), 0);
  EXPECT_EQ(outer.trace_count(), 1);
}

TEST(Trace, EndlessRecursionIsAnError) {
  std::function<Tensor(Tensor)> self;
  const auto f = function([&](Tensor x) { return self(x) + 1; });
  self = [&](Tensor x) { return f(x); };
  const std::string message = message_of([&] { f(x3()); });
  EXPECT_TRUE(has(message, "calls itself without end") && has(message, "trace_test.cpp")) << message;
  EXPECT_LT(std::ranges::count(message, '\n'), 20) << "not a line for each call";
  EXPECT_FALSE(has_interpreters());
}

TEST(Trace, VariablesAreMadeInTheFirstRecordingOnly) {
  std::vector<Variable> made;
  const auto once = function([&](Tensor x) {
    if (made.empty()) made.emplace_back(zeros({3}) + 5);
    made[0].assign_add(x);
    return made[0].value();
  });
  EXPECT_EQ(once(x3()).to_vector<float>(), (std::vector<float>{6, 7, 8}));
  EXPECT_EQ(once(x3()).to_vector<float>(), (std::vector<float>{7, 9, 11}));
  settings.trace_twice = false;
  const auto always = function([](Tensor x) { return Variable(x * 0).value() + x; });
  EXPECT_TRUE(has(message_of([&] { always(x3()); }), "depends on an argument"));
  const auto fresh = function([](Tensor x) { return Variable(zeros({3})).value() + x; });
  fresh(x3());
  EXPECT_TRUE(has(message_of([&] { fresh(cast(x3(), f64)); }), "in a later recording"));
  settings.trace_twice = true;
}

TEST(Trace, LayersAndOptimizersAreMadeInTheFirstRecording) {
  const nn::Layer dense = nn::Dense(2);
  const optim::Adam adam;
  const nn::MeanSquaredError loss_fn;
  const auto step = function([&](Tensor x, Tensor y) {
    GradientTape tape;
    const Tensor loss = loss_fn(y, dense(x));
    const std::vector<Variable> variables = dense.trainable_variables();
    adam.apply_gradients(tape.gradient(loss, variables), variables);
    return loss;
  });
  float before = 1e9F;
  for (int i = 0; i < 5; ++i) {
    const float loss = step(ones({4, 3}), zeros({4, 2})).item<float>();
    EXPECT_LT(loss, before);
    before = loss;
  }
  EXPECT_EQ(step.trace_count(), 1);
  EXPECT_EQ(adam.iterations().value().item<int64_t>(), 5);
}

TEST(Trace, FullBatchAndLastBatchAreTwoTraces) {
  const auto step = function([](Tensor x, Tensor y) { return mean(x * x) + sum(cast(y, f32)); });
  for (const int64_t n : {128, 128, 96, 128, 32, 31}) {
    const Tensor x = ones({n, 4}) * 0.3F, y = ones({n}, i64);
    EXPECT_EQ(step(x, y).item<float>(), (mean(x * x) + sum(cast(y, f32))).item<float>());
  }
  EXPECT_EQ(step.trace_count(), 2) << step.explain_retraces();
  EXPECT_TRUE(has(step.explain_retraces(), "axis 0 is 96, before 128")) << step.explain_retraces();
  step.expect_no_retrace();
  step(ones({7, 4}), ones({7}, i64));
  const std::string message = message_of([&] { step(ones({7, 4}, f64), ones({7}, i64)); });
  EXPECT_TRUE(has(message, "expect_no_retrace") && has(message, "argument 0 is f64[7,4]")) << message;
}

TEST(Trace, InputSignatureBoundsTheKinds) {
  const auto f = function([](Tensor x) { return sum(x, {0}); },
                          {.input_signature = std::vector<Spec>{{f32, {Dim("trace_test_batch"), 3}}}});
  for (const int64_t n : {1, 2, 5}) EXPECT_EQ(f(ones({n, 3})).to_vector<float>()[0], static_cast<float>(n));
  EXPECT_EQ(f.trace_count(), 1);
  const std::string message = message_of([&] { f(ones({2, 4})); });
  EXPECT_TRUE(has(message, "f32[trace_test_batch,3]") && has(message, "f32[2,4]")) << message;
}

TEST(Trace, WhatNeedsNumbersIsRecordedForEachShape) {
  const auto f = function([](Tensor x) { return x * static_cast<float>(x.dim(0)); });
  for (const int64_t n : {2, 3, 4}) EXPECT_EQ(f(ones({n})).to_vector<float>()[0], static_cast<float>(n));
  EXPECT_EQ(f.trace_count(), 3);
  EXPECT_TRUE(has(f.explain_retraces(), "symbolic extents do not serve")) << f.explain_retraces();
}

TEST(Trace, ReasonsNameTheArgumentAndTheCall) {
  const auto f = function([](std::vector<Tensor> xs, float rate, std::string mode, Tensor y) {
    return xs[1] * rate + (mode == "sum" ? sum(y) : mean(y));
  });
  const std::vector<Tensor> xs{x3(), x3()};
  f(xs, 0.1F, std::string("sum"), x3());
  f(xs, 0.2F, std::string("sum"), x3());
  const std::string line = "trace_test.cpp:" + std::to_string(Location::current().line - 1);
  f(xs, 0.2F, std::string("mean"), x3());
  f(std::vector{x3(), cast(x3(), f64)}, 0.2F, std::string("mean"), x3());
  f(xs, 0.2F, std::string("mean"), ones({3, 3}));
  f(std::vector{x3(), x3(), x3()}, 0.2F, std::string("mean"), x3());
  const std::string text = f.explain_retraces();
  for (const std::string& part :
       {std::string("trace 2: argument 1 is 0.2, before 0.1 (called at "), line,
        std::string("trace 3: argument 2 is \"mean\", before \"sum\""),
        std::string("trace 4: argument 0, tensor 1 is f64[3], before f32[3]"),
        std::string("trace 5: argument 3 is f32[3,3], before f32[3]"),
        std::string("trace 6: argument 0 is [f32[3], f32[3], f32[3]], before [f32[3], f32[3]]")})
    EXPECT_TRUE(has(text, part)) << part << "\n" << text;
}

TEST(Trace, AStormIsWarnedOfOnce) {
  std::vector<std::string> warnings;
  logging::set_sink([](logging::Level, std::string_view message,
                       void* context) { static_cast<std::vector<std::string>*>(context)->emplace_back(message); },
                    &warnings);
  const auto f = function([](Tensor x, float rate) { return x * rate; }, {.name = "stormy", .max_traces = 16});
  for (int i = 0; i < 200; ++i) f(x3(), static_cast<float>(i));
  logging::set_sink(nullptr);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(has(warnings[0], "'stormy' has been recorded 8 times") && has(warnings[0], "argument 1 is 7, before 6") &&
              has(warnings[0], "as tensors"))
      << warnings[0];
  EXPECT_EQ(f.trace_count(), 200);
  EXPECT_TRUE(has(f.explain_retraces(), "trace 200: argument 1 is 199"));
  EXPECT_FALSE(has(f.explain_retraces(), "trace 100:")) << "only the latest are kept";
}

TEST(Trace, KeepsAtMostItsBound) {
  const auto f = function([](Tensor x) { return x + 1; }, {.reduce_retracing = false, .max_traces = 4});
  for (int64_t n = 1; n <= 20; ++n) f(ones({n}));
  EXPECT_EQ(f.trace_count(), 20);
  f(ones({20}));
  EXPECT_EQ(f.trace_count(), 20) << "the latest is kept";
  f(ones({1}));
  EXPECT_EQ(f.trace_count(), 21) << "the oldest is not";
  f.clear();
  f(ones({1}));
  EXPECT_EQ(f.trace_count(), 22);
}

TEST(Trace, ChecksAndPrintsRunInOrderEachTime) {
  std::vector<float> seen;
  const int64_t note = register_host_function(
      [&](std::span<const Tensor> in) {
        seen.push_back(in[0].item<float>());
        return in[0];
      },
      {f32, {}});
  const auto f = function([&](Tensor x) {
    const Tensor total = sum(x);
    host_callback(note, std::array{total});
    check(total > 0, "the total is positive");
    host_callback(note, std::array{total * 2});
    return x;
  });
  f(x3());
  f(x3());
  EXPECT_EQ(seen, (std::vector<float>{6, 12, 6, 12}));
  const std::string message = message_of([&] { f(-x3()); });
  EXPECT_TRUE(has(message, "the total is positive") && has(message, "trace_test.cpp")) << message;
  EXPECT_EQ(seen.size(), 5U) << "what stands after a failed check does not run";
}

TEST(Trace, AFailedCheckLeavesVariablesThatAreAssignedAfterIt) {
  const Variable v(ones({3}));
  const auto f = function([&](Tensor x) {
    check(sum(x) > 0, "positive");
    v.assign_add(x);
    return v.value();
  });
  f(x3());
  EXPECT_NE(message_of([&] { f(-x3()); }), "no error");
  EXPECT_EQ(v.value().to_vector<float>(), (std::vector<float>{2, 3, 4}));
}

TEST(Trace, AHandleToAVariablesValueKeepsTheOldElements) {
  const Variable v(zeros({1000}));
  const auto f = function([&](Tensor x) { v.assign_add(x); });
  f(ones({1000}));
  const Tensor held = v.value();
  f(ones({1000}));
  EXPECT_EQ(held.to_vector<float>()[999], 1);
  EXPECT_EQ(v.value().to_vector<float>()[999], 2);
}

TEST(Trace, TwoHundredResultsAndTwelveAxes) {
  const auto f = function([](Tensor x) {
    std::vector<Tensor> results;
    for (int i = 0; i < 200; ++i) results.push_back(x * static_cast<float>(i));
    return results;
  });
  const std::vector<Tensor> results = f(x3());
  ASSERT_EQ(results.size(), 200U);
  EXPECT_EQ(results[199].to_vector<float>()[2], 597);
  const Shape high{1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 3};
  const auto g = function([](Tensor x) { return sum(tanh(x) + x, {1, 3, 11}); });
  const Tensor x = random::normal(random::state(1), high).second;
  EXPECT_EQ(g(x).to_vector<float>(), sum(tanh(x) + x, {1, 3, 11}).to_vector<float>());
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kManyPairs = 2500;  // unoptimised sanitized code takes minutes for more
#else
constexpr int kManyPairs = 50000;
#endif

TEST(Trace, AHundredThousandCalls) {
  const auto f = function([](Tensor x) {
    Tensor y = x;
    for (int i = 0; i < kManyPairs; ++i) y = (y + x) * 0.5F;
    return y;
  });
  EXPECT_EQ(f(x3()).to_vector<float>(), x3().to_vector<float>());
}

TEST(Trace, ServesManyThreads) {
  const auto f = function([](Tensor x) { return tanh(x) * x + 1; });
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const Tensor x = ones({static_cast<int64_t>(1 + (t + i) % 5)}) * static_cast<float>(t);
        if (f(x).to_vector<float>() != (tanh(x) * x + 1).to_vector<float>()) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(f.trace_count(), 3);
}

TEST(Trace, CallsThatAssignRunOneAfterTheOther) {
  const Variable count(Tensor(0.0F));
  const auto f = function([&](Tensor x) {
    count.assign_add(x);
    return count.value();
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) f(Tensor(1.0F));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count.value().item<float>(), 400);
}

TEST(Trace, RunsEagerlyOnRequest) {
  int calls = 0;
  const auto f = function([&](Tensor x) {
    ++calls;
    return x + x.item<float>();
  });
  run_functions_eagerly(true);
  EXPECT_EQ(f(Tensor(2.0F)).item<float>(), 4);
  EXPECT_EQ(f(Tensor(3.0F)).item<float>(), 6);
  run_functions_eagerly(false);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(f.trace_count(), 0);
}

TEST(Trace, GradientsOfAFunctionFromOutside) {
  const auto f = function([](Tensor x) { return sum(tanh(x) * x); });
  f(x3());
  GradientTape tape;
  tape.watch(x3());
  const Tensor gradient = tape.gradient(f(x3()), x3());
  ASSERT_TRUE(gradient.defined());
  GradientTape other;
  other.watch(x3());
  EXPECT_EQ(gradient.to_vector<float>(), other.gradient(sum(tanh(x3()) * x3()), x3()).to_vector<float>());
}

TEST(Trace, CheapBodiesAreNamed) {
  const auto f = function([](Tensor x) { return x + 1; });
  f(x3());
  EXPECT_TRUE(has(f.explain(), "cheaper than its call")) << f.explain();
}

TEST(Trace, MemoryStaysFlatOverAMillionCalls) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  constexpr int kCalls = 2000;
#else
  constexpr int kCalls = 1000000;
#endif
  const auto f = function([](Tensor x) { return x + 1; });
  const auto resident = [] {
    size_t total = 0, pages = 0;
    std::ifstream("/proc/self/statm") >> total >> pages;
    return pages * 4096;
  };
  for (int i = 0; i < 1000; ++i) f(x3());
  const size_t before = memory_stats().in_use, pages = resident();
  for (int i = 0; i < kCalls; ++i) f(x3());
  EXPECT_EQ(memory_stats().in_use, before);
  EXPECT_LT(resident(), pages + (size_t{4} << 20));
  EXPECT_EQ(f.trace_count(), 1);
}

TEST(Trace, SizesThatDependOnDataNameTheWayOut) {
  const auto f = function([](Tensor x) { return sum(x[x > 1]); });
  const std::string message = message_of([&] { f(x3()); });
  EXPECT_TRUE(has(message, "the number of elements is not known") && has(message, "trace_test.cpp") &&
              has(message, "use where(mask, x, 0)"))
      << message;
  const auto g = function([](Tensor x) { return sum(where(x > 1, x, 0)); });
  EXPECT_EQ(g(x3()).item<float>(), 5) << "the way out";
}

TEST(Trace, ARecurrentLayerOfItsOwnTakesEachLength) {
  const Variable w(random::normal(random::state(3), {4, 4}, 0, 0.5).second);
  const auto loss_of = [&](const Tensor& steps) {
    GradientTape tape;
    const auto cell = [&](const Tensor& state, const Tensor& x) {
      const Tensor next = tanh(matmul(state, w) + x);
      return std::pair{next, next};
    };
    const auto [last, all] = scan(cell, zeros({2, 4}), steps);
    const Tensor loss = mean(last * last) + mean(all);
    return std::pair{loss, tape.gradient(loss, std::vector{w})[0]};
  };
  const auto step = function(loss_of, {.input_signature = std::vector<Spec>{{f32, {Dim("length"), 2, 4}}}});
  for (const int64_t length : {1, 3, 7, 20}) {
    const Tensor steps = random::normal(random::state(4), {length, 2, 4}).second;
    const auto [loss, gradient] = step(steps);
    const auto [wanted, wanted_gradient] = loss_of(steps);
    EXPECT_EQ(loss.item<float>(), wanted.item<float>()) << length;
    EXPECT_EQ(gradient.to_vector<float>(), wanted_gradient.to_vector<float>()) << length;
  }
  EXPECT_EQ(step.trace_count(), 1);
}

TEST(Trace, ACallOfASmallGraphMakesItsResultsOnly) {
  const Variable bias(zeros({3}));
  const auto f = function([&](Tensor a, Tensor b) { return std::pair{a * b + bias, a - b}; });
  f(x3(), x3());
  const size_t before = memory_stats().allocations;
  for (int i = 0; i < 100; ++i) f(x3(), x3());
  EXPECT_EQ(memory_stats().allocations, before + 200) << "no memory but that of the two results";
}

TEST(Trace, MemoryStaysFlatOverShapesAndCalls) {
  const auto f = function([](Tensor x) { return sum(tanh(x) + x * 2); });
  const auto run = [&](int64_t n) { (void)f(ones({n})).item<float>(); };
  for (int64_t n = 1; n <= 100; ++n) run(n);
  const size_t before = memory_stats().in_use;
  for (int64_t n = 101; n <= 500; ++n) run(n);
  EXPECT_LT(memory_stats().in_use, before + (size_t{1} << 20));
  EXPECT_LE(f.trace_count(), 4) << f.explain_retraces();
}

TEST(Trace, TheFirstNanIsFoundWithItsLineAndRanges) {
  const auto f = function([](Tensor x) {
    const Tensor y = x - 2;
    const Tensor z = log(y);
    return sum(z * 0 + 1);
  });
  EXPECT_TRUE(std::isnan(f(x3()).item<float>()));
  settings.check_numerics = true;
  const std::string message = message_of([&] { f(x3()); });
  settings.check_numerics = false;
  EXPECT_TRUE(has(message, "NaN in the result of log") && has(message, "trace_test.cpp") && has(message, "[-1, 1]"))
      << message;
  settings.check_numerics = true;
  EXPECT_EQ(message_of([&] { f(x3() + 10); }), "no error");
  settings.check_numerics = false;
}

TEST(Trace, AMemoryLimitMakesActivationsComputedAgain) {
  const Variable w(random::normal(random::state(1), {64, 64}, 0, 0.1).second);
  const auto step = function([&](Tensor x) {
    GradientTape tape;
    Tensor y = x;
    for (int i = 0; i < 12; ++i) y = tanh(matmul(y, w)) * 1.5F;
    const Tensor loss = mean(y * y);
    w.assign_sub(tape.gradient(loss, std::vector{w})[0] * 0.1F);
    return loss;
  });
  const Tensor x = random::normal(random::state(2), {4096, 64}).second;
  const Variable start(w.value());
  const float free = step(x).item<float>();
  const std::vector<float> free_w = w.value().to_vector<float>();
  const std::string memory = step.lower(Spec{f32, {4096, 64}}).memory();
  step.clear();
  w.assign(start.value());
  settings.memory_limit = memory_stats().in_use + (size_t{12} << 20);
  const float bounded = step(x).item<float>();
  const std::vector<float> bounded_w = w.value().to_vector<float>();
  step.clear();
  settings.memory_limit = memory_stats().in_use + (size_t{2} << 20);
  const std::string message = message_of([&] { step(x); });
  settings.memory_limit = 0;
  EXPECT_EQ(free, bounded);
  EXPECT_EQ(free_w, bounded_w) << "the same bits";
  EXPECT_TRUE(has(message, "settings.memory_limit leaves")) << message << memory;
}

}  // namespace
}  // namespace hone
