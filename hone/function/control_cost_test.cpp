// What recorded loops cost, counted: kernels run and buffers allocated.
#include <gtest/gtest.h>

#include <atomic>
#include <utility>

#include "hone/base/probe.h"
#include "hone/base/settings.h"
#include "hone/device/device.h"
#include "hone/function/control.h"
#include "hone/function/function.h"
#include "hone/function/grad.h"
#include "hone/ops/contraction.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/reduction.h"

namespace hone {
namespace {

// Counted are the loops' own calls: machine code, which comes from another thread when it is done, makes none.
class ControlCost : public testing::Test {
 protected:
  ~ControlCost() override { settings.jit = before_; }

 private:
  bool before_ = std::exchange(settings.jit, false);
};

class Counter final : public ProbeSink {
 public:
  void span(const Span& span) override { calls += span.category == "op" ? 1 : 0; }
  void allocation(int64_t, size_t) override {}
  std::atomic<int64_t> calls = 0;
};

// Calls that a run makes, those of bodies included.
template <class F>
int64_t calls_of(F&& run) {
  run();  // recorded and compiled
  Counter counter;
  ProbeSink* const before = probe::set_sink(&counter);
  run();
  probe::set_sink(before);
  return counter.calls;
}
template <class F>
size_t allocations_of(F&& run) {
  run();
  const size_t before = memory_stats().allocations;
  run();
  return memory_stats().allocations - before;
}

Tensor wave(const Shape& shape, DType dtype = f32) {
  return cast(sin(cast(reshape(iota({shape.elements()}, 0), shape), f32) * 0.7F), dtype);
}

Tensor cell(const Tensor& h, const Tensor& v, const Tensor& w) { return tanh(matmul(h, w) + v) * 0.5F + v; }

// Kernels of one step: what ten more rows add, a tenth.
template <class F>
int64_t calls_of_ten_steps(const F& f, int64_t rows) {
  const auto of = [&](int64_t n) {
    const Tensor x = wave({n, 2, 8}), w = wave({8, 8});
    const auto traced = function([&](Tensor v, Tensor u) { return f(v, u); });
    return calls_of([&] { traced(x, w); });
  };
  return of(rows + 10) - of(rows);
}

TEST_F(ControlCost, AScanRunsTheKernelsOfTheLoopWrittenOut) {
  const auto scanned = [](const Tensor& x, const Tensor& w) {
    return sum(
        scan([&](Tensor h, Tensor v) { return std::pair{cell(h, v, w), std::tuple<>()}; }, zeros({2, 8}), x).first);
  };
  const auto unrolled = [](const Tensor& x, const Tensor& w) {
    Tensor h = zeros({2, 8});
    for (const Tensor& v : unstack(x)) h = cell(h, v, w);
    return sum(h);
  };
  const auto gradient_of = [](const auto& f) {
    return [&f](const Tensor& x, const Tensor& w) { return grad([&](Tensor u) { return f(x, u); })(w); };
  };
  EXPECT_LE(calls_of_ten_steps(scanned, 5), calls_of_ten_steps(unrolled, 5));
  // Written out, the additions to the gradient of w become one kernel.
  EXPECT_LE(5 * calls_of_ten_steps(gradient_of(scanned), 5), 6 * calls_of_ten_steps(gradient_of(unrolled), 5));
}

TEST_F(ControlCost, AChainOfSmallCallsInABodyIsOneKernel) {
  const auto f = [](const Tensor& x, const Tensor&) {
    return scan(
               [](Tensor c, Tensor v) {
                 Tensor next = c;
                 for (int i = 0; i < 20; ++i) next = tanh(next * 0.5F + v);
                 return std::pair{next, std::tuple<>()};
               },
               zeros({2, 8}), x)
        .first;
  };
  EXPECT_EQ(calls_of_ten_steps(f, 5), 10);
}

TEST_F(ControlCost, StepsOfLoopsAllocateNothing) {
  const auto counted = [](int32_t steps) {
    const auto f = function([](Tensor n) {
      return while_loop([](std::pair<Tensor, Tensor> c) { return c.first > 0; },
                        [](std::pair<Tensor, Tensor> c) { return std::pair{c.first - 1, c.second + 2}; },
                        std::pair{n, n * 0})
          .second;
    });
    const Tensor n(steps);
    EXPECT_EQ(f(n).item<int32_t>(), 2 * steps);
    return allocations_of([&] { f(n); });
  };
  EXPECT_EQ(counted(10), counted(10000));
  const auto tiny = [](int64_t rows) {  // a carry of 3 x 3
    const auto f = function(
        [&](Tensor m) { return fori_loop(0, rows, [](Tensor, Tensor c) { return matmul(c, c) * 0.5 + 0.1; }, m); });
    const Tensor m = wave({3, 3}, f64);
    return allocations_of([&] { f(m); });
  };
  EXPECT_EQ(tiny(10), tiny(1000));
}

TEST_F(ControlCost, GradientsOfManyScalarsGrowWithTheirNumber) {
  const auto calls = [](size_t leaves) {
    const auto f = function([](std::vector<Tensor> p) {
      GradientTape tape;
      for (const Tensor& each : p) tape.watch(each);
      const std::vector<Tensor> last = fori_loop(
          0, 5,
          [](Tensor, std::vector<Tensor> c) {
            for (size_t i = 0; i < c.size(); ++i) c[i] = sin(c[i]) * c[(i + 1) % c.size()];
            return c;
          },
          p);
      Tensor total = last[0];
      for (size_t i = 1; i < last.size(); ++i) total = total + last[i];
      return tape.gradient(total, p);
    });
    std::vector<Tensor> p;
    for (size_t i = 0; i < leaves; ++i) p.emplace_back(0.1F * static_cast<float>(i + 1));
    return calls_of([&] { f(p); });
  };
  const int64_t some = calls(16), many = calls(64);
  EXPECT_LE(many, 4 * some + 64);
}

}  // namespace
}  // namespace hone
