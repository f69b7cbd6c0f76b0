// Executables in steady state: a run takes nothing from the heap, and memory stays flat over shapes and calls.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "hone/base/error.h"
#include "hone/base/parallel.h"
#include "hone/compiler/pipeline.h"
#include "hone/device/device.h"
#include "hone/function/control.h"
#include "hone/function/function.h"
#include "hone/function/tape.h"
#include "hone/function/trace.h"
#include "hone/ops/contraction.h"
#include "hone/ops/convolution.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/misc.h"
#include "hone/ops/movement.h"
#include "hone/ops/nn.h"
#include "hone/ops/reduction.h"
#include "hone/ops/sorting.h"
#include "tests/conformance/cases.h"
#include "tests/conformance/heap.h"

namespace hone::conformance {
namespace {

using Tensors = std::vector<Tensor>;

// A compiled program with memory for a call.
struct Ready {
  std::shared_ptr<const compiler::Executable> executable;
  Tensors inputs, outputs;

  Ready(const ir::Graph& graph, std::span<const Tensor> given)
      : executable(compiler::compile(compiler::optimize(graph)).executable) {
    const ir::Graph& program = executable->graph();
    for (size_t i = 0; i < program.inputs().size(); ++i) {
      const Tensor& from = i < given.size() ? given[i] : program.inputs()[i].tensor;
      inputs.push_back(Tensor::empty(from.type()));
      from.copy_to(inputs.back().mutable_bytes());
    }
    renew_outputs();
  }
  void renew_outputs() {
    outputs.clear();
    for (size_t i = 0; i < executable->outputs().size(); ++i) {
      const compiler::OutputPlace& place = executable->outputs()[i];
      outputs.push_back(place.kind == compiler::OutputPlace::Donated
                            ? inputs[place.index]
                            : Tensor::empty(executable->graph().type(executable->graph().outputs()[i])));
    }
  }
  void run() const { executable->run(inputs, outputs); }
};

// Allocations of a few runs after as many.
int64_t allocations(const Ready& ready) {
  constexpr int kRuns = 3;
  for (int i = 0; i < kRuns; ++i) ready.run();
  const HeapWatch heap;
  for (int i = 0; i < kRuns; ++i) ready.run();
  return heap.taken();
}

struct Named {
  const char* name;
  Tensors arguments;
  std::function<Tensors(const Tensors&)> body;
};

Tensor drawn(const Shape& shape, uint64_t key = 1) { return cast(noise(shape, key), f32).dense(); }

Trace recorded(const Named& program) {
  std::vector<TensorType> types = types_of(program.arguments);
  const std::vector<char> defined(types.size(), 1);
  return record({program.name, types, {reinterpret_cast<const bool*>(defined.data()), defined.size()}},
                [&](std::span<const Tensor> leaves, Tensors& results, auto&) {
                  results = program.body({leaves.begin(), leaves.end()});
                });
}
Ready ready(const Named& program) {
  const Trace trace = recorded(program);
  Tensors inputs;
  size_t argument = 0, variable = 0;
  for (const ir::Input& input : trace.graph.inputs()) {
    inputs.push_back(input.tensor.defined()                  ? input.tensor
                     : input.kind == ir::InputKind::Variable ? trace.variables[variable++].value()
                                                             : program.arguments[argument++]);
  }
  return {trace.graph, inputs};
}

Tensors many(int n) {
  Tensors all;
  for (int i = 0; i < n; ++i) all.push_back(drawn(i % 3 == 0 ? Shape{40} : Shape{30, 40}, static_cast<uint64_t>(i)));
  return all;
}

std::vector<Named> programs() {
  const auto halved = [](Tensor v) { return v * 0.5F; };
  const Variable kernel(drawn({3, 3, 3, 8})), weights(drawn({8, 10}, 2)), count(Tensor(0));
  return {
      {"a cluster of many operands", many(30),
       [](const Tensors& x) {
         Tensor y = x[1];
         for (const Tensor& each : x) y = tanh(y) * each + 0.5F;
         return Tensors{y, y * 2};
       }},
      {"reductions",
       {drawn({100, 300})},
       [](const Tensors& x) {
         return Tensors{sum(x[0] * 2, 0), mean(x[0], 1),   variance(x[0], 0), max(x[0]),
                        softmax(x[0]),    argmax(x[0], 1), cumsum(x[0], 0),   log_softmax(x[0], 0)};
       }},
      {"library calls",
       {drawn({64, 128}), drawn({128, 32}), drawn({2, 16, 16, 8}), drawn({3, 3, 8, 16})},
       [](const Tensors& x) { return Tensors{matmul(x[0], x[1]) + 1, relu(conv2d(x[2], x[3], {.padding = "same"}))}; }},
      {"movement",
       {drawn({12, 20})},
       [](const Tensors& x) {
         return Tensors{transpose(x[0], {1, 0}) + 1,
                        concatenate({x[0], tanh(x[0])}, 1),
                        pad(x[0], {1, 2}, {3, 0}),
                        sort(x[0]),
                        reverse(x[0], {0}),
                        x[0][slice(2, 5)],
                        x[0]};
       }},
      {"random numbers",
       {random::state(1)},
       [](const Tensors& x) {
         auto [next, values] = random::uniform(x[0], {1000});
         return Tensors{next, dropout(values, next, 0.5)};
       }},
      {"cond",
       {Tensor(true), drawn({50}), drawn({50}, 2)},
       [](const Tensors& x) {
         return Tensors{cond(
             x[0], [](Tensor a, Tensor b) { return a + tanh(b); }, [](Tensor a, Tensor b) { return a - b; }, x[1],
             x[2])};
       }},
      {"while",
       {drawn({50})},
       [=](const Tensors& x) {
         return Tensors{while_loop([](Tensor v) { return sum(abs(v)) > 0.01F; }, halved, x[0])};
       }},
      {"a loop with what stays",
       {drawn({50}), drawn({50}, 2)},
       [](const Tensors& x) {
         return while_loop([](const Tensors& c) { return c[0] < 20; },
                           [](const Tensors& c) { return Tensors{c[0] + 1, c[1] * 0.5F + c[2], c[2]}; },
                           Tensors{Tensor(0), x[0], x[1]});
       }},
      {"scan",
       {drawn({8}), drawn({20, 8}, 2)},
       [](const Tensors& x) {
         auto [last, all] = scan(
             [](Tensor carry, Tensor row) {
               const Tensor next = tanh(carry + row);
               return std::pair(next, next * 2);
             },
             x[0], x[1]);
         return Tensors{last, all};
       }},
      {"the gradient of a scan",
       {drawn({8}), drawn({20, 8}, 2)},
       [](const Tensors& x) {
         GradientTape tape;
         tape.watch(x[0]), tape.watch(x[1]);
         auto [last, all] = scan(
             [](Tensor carry, Tensor row) {
               const Tensor next = tanh(carry + row);
               return std::pair(next, next * 2);
             },
             x[0], x[1]);
         return tape.gradient(sum(all) + sum(last), x);
       }},
      {"a cond within a while",
       {drawn({50}), Tensor(0)},
       [=](const Tensors& x) {
         return while_loop([](const Tensors& c) { return c[1] < 6; },
                           [=](const Tensors& c) {
                             const auto other = [](Tensor u) { return tanh(u); };
                             return Tensors{cond(equal(c[1] % 2, 0), halved, other, c[0]), c[1] + 1};
                           },
                           x);
       }},
      {"a training step",
       {drawn({4, 12, 12, 3}), cast(abs(drawn({4}, 3)) * 9, i32)},
       [=](const Tensors& x) {
         GradientTape tape;
         const Tensor features = mean(relu(conv2d(x[0], kernel, {.padding = "same"})), {1, 2});
         const Tensor loss = mean(sparse_softmax_cross_entropy(matmul(features, weights), x[1]));
         const Tensors gradients = tape.gradient(loss, std::vector{kernel, weights});
         kernel.assign_sub(gradients[0] * 0.01F);
         weights.assign_sub(gradients[1] * 0.01F);
         count.assign_add(Tensor(1));
         return Tensors{loss};
       }},
  };
}

TEST(Executable, RunAllocatesNothingInSteadyState) {
  const int before = threads();
  for (const int count : {1, 2}) {
    set_threads(count);
    for (const Named& program : programs())
      EXPECT_EQ(allocations(ready(program)), 0) << program.name << ", " << count << " threads";
  }
  set_threads(before);
}

// One op, as a program.
ir::Graph graph_of(const Case& c) {
  ir::Builder builder(std::make_shared<ir::Context>());
  std::vector<ir::ValueId> inputs, outputs;
  for (const TensorType& type : c.sample.inputs) inputs.push_back(builder.add_input(type, {}));
  const auto results = static_cast<uint32_t>(c.outputs());
  const uint32_t node = builder.add(c.op, c.sample.attrs, inputs, results, 0);
  for (uint32_t i = 0; i < results; ++i) outputs.push_back(builder.graph().nodes()[node].first_result + i);
  return builder.finish(std::move(outputs));
}

TEST(Executable, NoOpOfTheTableAllocatesInSteadyState) {
  int checked = 0;
  for (const Case& c : cases()) {
    if (c.op.op_class == OpClass::Effect) continue;  // a host function may
    SCOPED_TRACE(c.label());
    try {
      const Ready ready(graph_of(c), draw(c));
      // The reference back end may: it is there to be read.
      if (std::ranges::any_of(ready.executable->plan().steps, [](const compiler::Step& step) {
            return step.kernel && std::string_view(step.kernel->name).starts_with("reference");
          }))
        continue;
      EXPECT_EQ(allocations(ready), 0);
      ++checked;
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
  EXPECT_GT(checked, 900);
}

// ---- memory over shapes and calls

size_t resident() {
  std::ifstream file("/proc/self/statm");
  size_t all = 0, pages = 0;
  file >> all >> pages;
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}
constexpr size_t kMiB = size_t{1} << 20;

// Own kernels and the library; each shape has a plan, and primitives, of its own.
TEST(Executable, MemoryStaysFlatOverShapes) {
  const Tensor kernel = drawn({3, 3, 3, 8}), weights = drawn({8, 16}, 2);
  const auto f = function([&](Tensor x) {
    const Tensor y = mean(relu(conv2d(x, kernel, {.padding = "same"})), {1, 2});
    return softmax(matmul(y, weights));
  });
  const auto call = [&](int64_t shapes) {
    for (int64_t i = 0; i < shapes; ++i) f(ones({1 + i % 25, 8 + i / 25, 9, 3}));
  };
  call(500);
  const size_t before = resident(), held = memory_stats().in_use;
  call(500);
  call(500);
  EXPECT_LT(resident(), before + 6 * kMiB);
  EXPECT_LT(memory_stats().in_use, held + 2 * kMiB);
  EXPECT_NE(f.explain().find(" 64 plans kept"), std::string::npos) << "the least recently used go: " << f.explain();
}

TEST(Executable, MemoryStaysFlatOverCalls) {
  const Variable count(Tensor(0.0F));
  const auto f = function([&](Tensor x) {
    count.assign_add(x);
    return tanh(x) + 1;
  });
  const Tensor x(1.0F);
  const auto call = [&](int calls) {
    for (int i = 0; i < calls; ++i) f(x);
  };
  call(1000);
  const size_t before = resident(), held = memory_stats().in_use;
  call(1'000'000);
  EXPECT_EQ(memory_stats().in_use, held);
  EXPECT_LT(resident(), before + kMiB);
  EXPECT_EQ(count.value().item<float>(), 1'001'000);
  EXPECT_EQ(f.trace_count(), 1);
}

}  // namespace
}  // namespace hone::conformance
