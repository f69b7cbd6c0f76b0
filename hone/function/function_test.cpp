#include "hone/function/function.h"

#include <gtest/gtest.h>

#include "hone/base/error.h"
#include "hone/base/settings.h"
#include "hone/function/tape.h"
#include "hone/ops/contraction.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/reduction.h"
#include "hone/tensor/check_test.h"

namespace hone {
namespace {

TEST(Function, RunsAsTheFunctionItself) {
  const auto f = function([](Tensor a, Tensor b) { return tanh(a * b + 1) - a; });
  const Tensor a = Tensor::of<float>({1, 2, 3}), b = Tensor::of<float>({-1, 0.5, 4});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(f(a, b).to_vector<float>(), (tanh(a * b + 1) - a).to_vector<float>());
  EXPECT_EQ(f.trace_count(), 1);
}

TEST(Function, RecordsOnceForEachKindOfArguments) {
  const auto f = function([](Tensor a, float scale) { return a * scale; });
  f(Tensor::of<float>({1, 2}), 2.0F);
  f(Tensor::of<float>({3, 4}), 2.0F);
  EXPECT_EQ(f.trace_count(), 1);
  EXPECT_EQ(f(Tensor::of<float>({3, 4}), 3.0F).to_vector<float>(), (std::vector<float>{9, 12}));
  EXPECT_EQ(f.trace_count(), 2);
  f(Tensor::of<double>({3, 4}), 3.0F);
  EXPECT_EQ(f.trace_count(), 3);
}

TEST(Function, SecondExtentOfAnAxisBecomesSymbolic) {
  const auto f = function([](Tensor a) { return sum(a * a) + mean(a); });
  for (int64_t n : {3, 5, 7, 9, 40}) {
    const Tensor a = iota({n}, 0, f32);
    EXPECT_EQ(f(a).item<float>(), (sum(a * a) + mean(a)).item<float>()) << n;
  }
  EXPECT_EQ(f.trace_count(), 2);
  EXPECT_NE(f.explain_retraces().find("axis 0 is 5, before 3"), std::string::npos) << f.explain_retraces();
}

TEST(Function, VariablesAreState) {
  const Variable count(Tensor(0.0F)), total(zeros({3}));
  const auto step = function([&](Tensor x) {
    count.assign(count + 1);
    total.assign_add(x);
    return total.value() / count;
  });
  const Tensor x = Tensor::of<float>({1, 2, 3});
  for (int i = 1; i <= 5; ++i) {
    EXPECT_EQ(step(x).to_vector<float>(), (std::vector<float>{1, 2, 3}));
    EXPECT_EQ(count.value().item<float>(), static_cast<float>(i));
  }
  EXPECT_EQ(total.value().to_vector<float>(), (std::vector<float>{5, 10, 15}));
  count.assign(Tensor(9.0F));
  EXPECT_EQ(step(x).to_vector<float>(), (std::vector<float>{0.6F, 1.2F, 1.8F}));
  EXPECT_EQ(step.trace_count(), 1);
}

TEST(Function, ReturnsContainers) {
  const auto f = function([](std::vector<Tensor> xs, std::pair<Tensor, int> p) {
    std::vector<Tensor> doubled;
    for (const Tensor& x : xs) doubled.push_back(x * 2);
    return std::tuple{doubled, p.first + p.second, std::array{xs[0], xs[1]}};
  });
  const Tensor a = Tensor::of<float>({1}), b = Tensor::of<float>({2});
  for (int i = 0; i < 2; ++i) {
    const auto [doubled, sum, both] = f(std::vector{a, b}, std::pair{a, 5});
    ASSERT_EQ(doubled.size(), 2U);
    EXPECT_EQ(doubled[1].item<float>(), 4);
    EXPECT_EQ(sum.item<float>(), 6);
    EXPECT_EQ(both[1].item<float>(), 2);
  }
  EXPECT_EQ(f.trace_count(), 1);
}

TEST(Function, GradientsInside) {
  const Variable w(Tensor::of<float>({1, -2, 3}));
  const auto step = function([&](Tensor x) {
    GradientTape tape;
    const Tensor loss = sum(tanh(w * x));
    const auto g = tape.gradient(loss, std::vector{w});
    w.assign_sub(g[0] * 0.1F);
    return loss;
  });
  const Variable v(w.value());
  for (int i = 0; i < 4; ++i) {
    const Tensor x = Tensor::of<float>({0.5F, 0.25F, static_cast<float>(i)});
    GradientTape tape;
    const Tensor loss = sum(tanh(v * x));
    v.assign_sub(tape.gradient(loss, std::vector{v})[0] * 0.1F);
    EXPECT_EQ(step(x).item<float>(), loss.item<float>());
    EXPECT_EQ(w.value().to_vector<float>(), v.value().to_vector<float>());
  }
}

TEST(Function, HostReadsNameBothLines) {
  const auto f = function([](Tensor x) {
    const Tensor total = sum(x);
    if (total.item<float>() > 0) return x;
    return -x;
  });
  try {
    f(Tensor::of<float>({1}));
    ADD_FAILURE();
  } catch (const Error& error) {
    const std::string what = error.what();
    const size_t read = what.find("function_test.cpp:"), made = what.find("made at");
    EXPECT_NE(read, std::string::npos) << what;
    EXPECT_NE(what.find("function_test.cpp:", made), std::string::npos) << what;
    EXPECT_NE(what.find("cond"), std::string::npos) << what;
  }
}

TEST(Function, LowerShowsThePlanBeforeTheRun) {
  const Variable w(zeros({64, 64}));
  const auto f = function([&](Tensor x) { return sum(tanh(matmul(x, w) + 1)); });
  const Lowered lowered = f.lower(Spec{f32, {32, 64}});
  EXPECT_NE(lowered.memory().find("weights"), std::string::npos);
  EXPECT_NE(lowered.memory().find("16.0 KiB"), std::string::npos) << lowered.memory();
  EXPECT_NE(lowered.memory().find("function_test.cpp"), std::string::npos) << lowered.memory();
  EXPECT_NE(lowered.cost().find("dot_general"), std::string::npos) << lowered.cost();
  EXPECT_NE(lowered.fusion().find("add + tanh + reduce_sum -> 1 kernel"), std::string::npos) << lowered.fusion();
  EXPECT_NE(lowered.json().find("\"lower_bound\""), std::string::npos) << lowered.json();
  EXPECT_EQ(f.trace_count(), 1);
  f(zeros({32, 64}));
  EXPECT_EQ(f.trace_count(), 1);
  EXPECT_THROW((void)f.lower(Spec{f32, {Dim("rows"), 64}}).memory(), Error);
}

}  // namespace
}  // namespace hone
