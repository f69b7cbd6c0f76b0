// What a step costs in memory.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "hone/ops/creation.h"
#include "hone/optim/optimizer.h"

namespace {
std::atomic<int64_t> allocations{0};
}

// Counts what this binary takes from the heap. Not inlined: g++ sees a mismatch of new and free otherwise.
[[gnu::noinline]] void* operator new(size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace hone::optim {
namespace {

TEST(Optimizer, UpdatesInTheVariablesOwnMemory) {
  for (const Optimizer& optimizer : {Optimizer(SGD()), Optimizer(SGD({.momentum = 0.9})), Optimizer(Adam())}) {
    const Variable w(Tensor::of<float>({1, 2, 3, 4}));
    optimizer.apply_gradients({Tensor::of<float>({1, 1, 1, 1})}, {w});
    const void* before = w.value().raw();
    optimizer.apply_gradients({Tensor::of<float>({1, 1, 1, 1})}, {w});
    EXPECT_EQ(w.value().raw(), before) << optimizer.type();
  }
}

TEST(Optimizer, AStepTakesNothingFromTheHeap) {
  const LearningRate schedule =
      CosineDecay({.initial_learning_rate = 0.1, .decay_steps = 100, .warmup_target = 0.2, .warmup_steps = 3});
  for (const Optimizer& optimizer : {Optimizer(SGD()), Optimizer(SGD({.momentum = 0.9})), Optimizer(Adam()),
                                     Optimizer(AdamW({.learning_rate = schedule}))}) {
    const std::vector<Variable> variables{Variable(zeros({33})), Variable(zeros({2, 3}))};
    int64_t taken = -1;
    for (int step = 0; step < 5; ++step) {
      std::vector<Tensor> gradients{Tensor::from(std::vector<float>(33, 1), {33}),
                                    Tensor::from(std::vector<float>(6, 1), {2, 3})};
      const int64_t before = allocations.load();
      optimizer.apply_gradients(std::move(gradients), variables);
      taken = allocations.load() - before;
    }
    EXPECT_EQ(taken, 0) << optimizer.type();
  }
}

}  // namespace
}  // namespace hone::optim
