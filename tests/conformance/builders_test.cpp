// The networks that ship with Hone run on kernels, not on the reference back end's loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "hone/base/parallel.h"
#include "hone/base/probe.h"
#include "hone/function/tape.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/reduction.h"
#include "hone/train/applications/applications.h"
#include "tests/conformance/cases.h"

namespace hone::conformance {
namespace {

// Which ops ran, and who served them.
class Servers final : public ProbeSink {
 public:
  Servers() : previous_(probe::set_sink(this)) {}
  ~Servers() override { probe::set_sink(previous_); }
  void span(const Span& span) override {
    if (span.category != "op") return;
    const std::lock_guard lock(mutex_);
    served[std::string(span.name)].insert(std::string(span.detail));
  }
  void allocation(int64_t, size_t) override {}
  std::map<std::string, std::set<std::string>> served;

 private:
  ProbeSink* previous_;
  std::mutex mutex_;
};

void expect_no_reference(const std::string& what, const nn::Layer& model, const Tensor& x,
                         std::initializer_list<const char*> needs) {
  const nn::CallOptions training{.training = true};
  model(x, training);
  const Servers servers;
  GradientTape tape;
  const Tensor loss = mean(square(model(x, training)));
  const std::vector<Tensor> found = tape.gradient(loss, model.trainable_variables());
  for (const Tensor& gradient : found) EXPECT_TRUE(gradient.defined()) << what;
  for (const auto& [op, who] : servers.served) {
    for (const std::string& kernel : who)
      EXPECT_FALSE(kernel.starts_with("reference.")) << what << ": " << op << " by " << kernel;
  }
  for (const char* op : needs) EXPECT_TRUE(servers.served.contains(op)) << what << " ran no " << op;
}

Tensor image(const Shape& shape) { return cast(noise(shape, 3), f32); }

TEST(Builders, NoOpIsServedByTheReference) {
  namespace app = nn::applications;
  expect_no_reference("w1", app::mlp(), image({4, 784}), {"dense", "relu"});
  expect_no_reference("w2", app::lenet(), image({2, 28, 28, 1}),
                      {"convolution", "convolution_kernel_grad", "max_pool_grad"});
  expect_no_reference("w3", app::resnet20(), image({2, 32, 32, 3}), {"convolution_input_grad", "batch_norm_grad"});
  expect_no_reference("w4", app::mobilenet_v1({.alpha = 0.5, .classes = 10}), image({1, 64, 64, 3}),
                      {"convolution", "relu6_grad"});
  const Tensor ids = cast((noise({2, 16}, 5) + 1) * 30, i32);
  expect_no_reference("w5", app::gpt({.vocabulary = 64, .width = 32, .layers = 2, .heads = 2, .context = 16}), ids,
                      {"sdpa_grad", "layer_norm_grad", "gelu_grad"});
}

int threads_of_process() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

TEST(BuildersDeathTest, AStepOnOneThreadStartsNoOther) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";  // in a fresh process
  const auto step = [] {
    const int before = threads_of_process();
    set_threads(1);
    const nn::Layer model = nn::applications::lenet();
    const nn::CallOptions training{.training = true};
    const Tensor x = image({32, 28, 28, 1});
    model(x, training);
    GradientTape tape;
    const Tensor loss = mean(square(model(x, training)));
    tape.gradient(loss, model.trainable_variables());
    std::_Exit(threads_of_process() == before ? 0 : 1);
  };
  EXPECT_EXIT(step(), testing::ExitedWithCode(0), "");
}

// The team moves between the callers that need it: themselves, its owner, the owner's pool and that of a former owner.
TEST(BuildersDeathTest, EightHostThreadsRunningAModelShareOneTeam) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto serve = [] {
    constexpr int kCallers = 8, kThreads = 3;
    const int limit = threads_of_process() + kCallers + 1 + 2 * (kThreads - 1);
    set_threads(kThreads);
    const nn::Layer model = nn::applications::lenet();
    const Tensor x = image({16, 28, 28, 1}), wanted = model(x);
    std::atomic<int> most{0}, wrong{0};
    std::vector<std::thread> callers;
    for (int caller = 0; caller < kCallers; ++caller) {
      callers.emplace_back([&] {
        for (int i = 0; i < 20; ++i) {
          const NoGradScope inference;
          const Tensor y = model(x);
          wrong += !std::ranges::equal(y.data<float>(), wanted.data<float>());
          for (int now = threads_of_process(), seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
          }
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    std::_Exit(wrong == 0 && most <= limit ? 0 : 1);
  };
  EXPECT_EXIT(serve(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace hone::conformance
