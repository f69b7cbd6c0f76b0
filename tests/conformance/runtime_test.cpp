// What a call costs and what it must not depend on: heap, leaks, thread count.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "hone/base/parallel.h"
#include "hone/base/settings.h"
#include "hone/device/device.h"
#include "hone/function/tape.h"
#include "hone/ops/contraction.h"
#include "hone/ops/convolution.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/kernel.h"
#include "hone/ops/movement.h"
#include "hone/ops/nn.h"
#include "hone/ops/reduction.h"
#include "hone/ops/sorting.h"
#include "tests/conformance/cases.h"
#include "tests/conformance/heap.h"

namespace hone::conformance {
namespace {

class Threads {
 public:
  explicit Threads(int count) : before_(threads()) { set_threads(count); }
  ~Threads() { set_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

bool own(const std::string& kernel) { return !kernel.starts_with("onednn"); }

// Results at 1 thread are the results at any number.
void expect_same_at_any_thread_count(const std::string& what, const std::function<std::vector<Tensor>()>& f) {
  std::vector<Tensor> expected;
  {
    const Threads one(1);
    expected = f();
  }
  for (const int count : {2, 3, 7}) {
    const Threads several(count);
    EXPECT_EQ(difference(f(), expected), "") << what << ", " << count << " threads";
  }
}

TEST(Threads, OwnKernelsGiveTheSameBitsOnEverySample) {
  int checked = 0;
  for (const Case& c : cases()) {
    const std::vector<Tensor> inputs = draw(c);
    set_last_kernel("");
    run(c, inputs);
    // What decomposes may call the library on the way.
    if (!own(last_kernel()) || (c.op.op_class == OpClass::Composite && kernels(c.op).size() < 2)) continue;
    expect_same_at_any_thread_count(c.label(), [&] { return run(c, inputs); });
    ++checked;
  }
  EXPECT_GT(checked, 900);
}

Tensor large(const Shape& shape, uint64_t key = 1) { return cast(noise(shape, key), f32); }

// Large enough to be split: 100,003 elements, which no thread count divides.
TEST(Threads, ElementwiseKernelsGiveTheSameBits) {
  for (const Case& c : cases()) {
    if (c.op.op_class != OpClass::Elementwise || c.number > 0) continue;
    std::vector<TensorType> types = c.sample.inputs;
    for (TensorType& type : types) type.shape = {100003};
    const std::vector<Tensor> inputs = draw(c, types);
    expect_same_at_any_thread_count(c.label(), [&] { return run(c, inputs); });
  }
}

TEST(Threads, OwnKernelsGiveTheSameBits) {
  const Tensor rows = large({513, 1031}), image = large({5, 33, 31, 17}), channels = large({17}, 2),
               wide = large({1031}, 3);
  const Tensor labels = cast(abs(large({513}, 4)) * 1030, i32), updates = large({513, 1031}, 5);
  const Tensor state = random::state(7);
  struct Entry {
    const char* name;
    std::function<std::vector<Tensor>()> f;
  };
  const auto pool_gradient = [&] {
    GradientTape tape;
    tape.watch(image);
    const Tensor y = max_pool(image, {3}, {.strides = 2});
    return std::vector{y, tape.gradient(y, image)};
  };
  const Entry entries[] = {
      {"sum of all", [&] { return std::vector{sum(rows)}; }},
      {"sum of rows", [&] { return std::vector{sum(rows, 1)}; }},
      {"sum of columns", [&] { return std::vector{sum(rows, 0)}; }},
      {"sum of outer axes", [&] { return std::vector{sum(image, {0, 1, 2})}; }},
      {"mean and variance", [&] { return std::vector{mean(image, {1, 3}), variance(rows, 0)}; }},
      {"max, min", [&] { return std::vector{max(rows, 0), min(rows, 1), max(rows)}; }},
      {"argmax", [&] { return std::vector{argmax(rows, 1), argmax(rows, 0), argmin(rows)}; }},
      {"softmax", [&] { return std::vector{softmax(rows), softmax(rows, 0), log_softmax(rows)}; }},
      {"layer_norm", [&] { return std::vector{layer_norm(rows, wide, wide), rms_norm(rows, wide)}; }},
      {"batch_norm",
       [&] {
         const BatchNormResult result = batch_norm_training(image, channels, channels);
         return std::vector{result.y, result.mean, result.variance};
       }},
      {"max_pool and its gradient", pool_gradient},
      {"avg_pool", [&] { return std::vector{avg_pool(image, {3}, {.padding = "same"})}; }},
      {"dropout", [&] { return std::vector{dropout(rows, state, 0.3)}; }},
      {"random", [&] { return std::vector{random::normal(state, {100003}).second}; }},
      {"cross_entropy", [&] { return std::vector{sparse_softmax_cross_entropy(rows, labels)}; }},
      {"take", [&] { return std::vector{take(updates, labels % 513, 0)}; }},
      {"scatter_add", [&] { return std::vector{scatter_add(zeros({513, 1031}), labels % 513, updates)}; }},
      {"cumsum", [&] { return std::vector{cumsum(rows, 0), cumsum(rows, 1)}; }},
      {"sort", [&] { return std::vector{sort(rows), argsort(rows, 0)}; }},
      {"transpose, concatenate, pad",
       [&] {
         return std::vector{transpose(image, {0, 3, 1, 2}).dense(), concatenate({rows, updates}, 1),
                            pad(rows, {1, 2}, {3, 4})};
       }},
      {"convert", [&] { return std::vector{cast(rows, bf16), cast(rows * 100, i8), cast(rows, f16)}; }},
  };
  for (const Entry& entry : entries) expect_same_at_any_thread_count(entry.name, entry.f);
}

// A host's pool runs the pieces of a library call, which are those of Reproducible::Threads.
TEST(Executor, RunsLibraryCallsAsFixedPartitions) {
  const Tensor a = large({256, 300}), b = large({300, 200}), image = large({8, 24, 24, 16}),
               kernel = large({3, 3, 16, 24});
  const auto compute = [&] {
    GradientTape tape;
    tape.watch(kernel);
    const Tensor y = conv2d(image, kernel);
    return std::vector{matmul(a, b), y, tape.gradient(y, kernel)};
  };
  settings.reproducible = Reproducible::Threads;
  const std::vector<Tensor> expected = compute();
  settings.reproducible = Reproducible::Off;
  std::atomic<int64_t> most{0};
  set_executor([&](int64_t tasks, const std::function<void(int64_t)>& task) {
    most = std::max<int64_t>(most, tasks);
    std::thread half([&] {
      for (int64_t i = 0; i < tasks; i += 2) task(i);
    });
    for (int64_t i = 1; i < tasks; i += 2) task(i);
    half.join();
  });
  const std::vector<Tensor> found = compute();
  set_executor({});
  EXPECT_EQ(difference(found, expected), "");
  EXPECT_GE(most, 2);
}

// The heap allocations of 1000 calls, after as many to warm up.
template <class F>
int64_t allocations(F f) {
  for (int i = 0; i < 1000; ++i) f();
  const HeapWatch heap;
  for (int i = 0; i < 1000; ++i) f();
  return heap.taken();
}

TEST(Dispatch, SmallOpAllocatesNothingInSteadyState) {
  const Tensor a = large({16}), b = large({16}, 2), m = large({64, 64}), n = large({64, 64}, 2);
  static int* volatile kept = nullptr;
  ASSERT_EQ(allocations([] {
              kept = new int(1);
              delete kept;
            }),
            1000);  // the counter counts
  EXPECT_EQ(allocations([&] { add(a, b); }), 0);
  EXPECT_EQ(allocations([&] { multiply(a, 2.5); }), 0);
  EXPECT_EQ(allocations([&] { matmul(m, n); }), 0);
}

// A tape itself takes a block; what it records takes none.
TEST(Dispatch, RecordedSmallOpAllocatesNothingInSteadyState) {
  const Tensor a = large({16}), b = large({16}, 2);
  const auto recording = [&](int adds) {
    return allocations([&] {
      GradientTape tape;
      tape.watch(a);
      Tensor sum = a;
      for (int i = 0; i < adds; ++i) sum = add(sum, b);
      ASSERT_EQ(tape.recorded(), static_cast<size_t>(adds));
    });
  };
  EXPECT_EQ(recording(20), recording(1));
  GradientTape unused;
  EXPECT_EQ(allocations([&] { add(a, b); }), 0);  // not watched: nothing to record
}

TEST(Dispatch, SmallCallsLeaveNoMemory) {
  const Tensor a = large({16}), b = large({16}, 2);
  const auto step = [&] {
    GradientTape tape;
    tape.watch(a);
    const Tensor y = sum(a * b + 1.5);
    return tape.gradient(y, a);
  };
  step();
  const size_t before = memory_stats().in_use;
  for (int i = 0; i < 20000; ++i) step();  // five ops each, backwards as well
  EXPECT_EQ(memory_stats().in_use, before);
}

}  // namespace
}  // namespace hone::conformance
