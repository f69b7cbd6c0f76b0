// One executable, run by many threads at once: each gets the bits of a run alone.
#include "hone/compiler/executable.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "hone/base/error.h"
#include "hone/compiler/pipeline.h"
#include "hone/function/control.h"
#include "hone/function/trace.h"
#include "hone/ops/contraction.h"
#include "hone/ops/convolution.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/misc.h"
#include "hone/ops/movement.h"
#include "hone/ops/nn.h"
#include "hone/ops/reduction.h"

namespace hone {
namespace {

using Tensors = std::vector<Tensor>;

struct Program {
  const char* name;
  std::vector<TensorType> types;
  std::function<Tensors(std::span<const Tensor>)> body;
};

std::shared_ptr<const compiler::Executable> compiled(const Program& program) {
  constexpr bool kDefined[] = {true, true, true};
  const Trace trace =
      record({program.name, program.types, {kDefined, program.types.size()}},
             [&](std::span<const Tensor> leaves, Tensors& results, auto&) { results = program.body(leaves); });
  return compiler::compile(compiler::optimize(trace.graph)).executable;
}

Tensors drawn(const Program& program, uint64_t key) {
  Tensors inputs;
  for (const TensorType& type : program.types)
    inputs.push_back(cast(random::normal(random::state(key * 8 + inputs.size()), type.shape).second, type.dtype));
  return inputs;
}

Tensors run(const compiler::Executable& executable, const Tensors& arguments) {
  Tensors inputs, outputs;
  size_t next = 0;
  for (const ir::Input& input : executable.graph().inputs())
    inputs.push_back(input.tensor.defined() ? input.tensor : arguments[next++]);
  for (const ir::ValueId output : executable.graph().outputs())
    outputs.push_back(Tensor::empty(executable.graph().type(output)));
  executable.run(inputs, outputs);
  return outputs;
}

bool same(const Tensors& a, const Tensors& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(a[i].raw(), b[i].raw(), a[i].bytes()) != 0) return false;
  }
  return a.size() == b.size();
}

std::vector<Program> programs() {
  return {
      {"a cluster, reductions and a product",
       {{f32, {40, 33}}, {f32, {33, 8}}},
       [](std::span<const Tensor> x) {
         const Tensor y = tanh(x[0] * 2 + 1) * x[0];
         return Tensors{softmax(y), sum(y, 0), matmul(y, x[1]) + 1, x[0][slice(3, 7)]};
       }},
      {"a convolution of the library",
       {{f32, {2, 9, 9, 3}}, {f32, {3, 3, 3, 8}}},
       [](std::span<const Tensor> x) { return Tensors{relu(conv2d(x[0], x[1], {.padding = "same"}))}; }},
      {"a cond within a while",
       {{f32, {50}}, {i32, {}}},
       [](std::span<const Tensor> x) {
         return while_loop([](const Tensors& c) { return c[1] < 9; },
                           [](const Tensors& c) {
                             return Tensors{cond(
                                                sum(c[0]) > 0, [](Tensor v) { return v - 0.25F; },
                                                [](Tensor v) { return tanh(v) + 0.5F; }, c[0]),
                                            c[1] + 1};
                           },
                           Tensors{x[0], x[1]});
       }},
      {"a scan",
       {{f32, {8}}, {f32, {12, 8}}},
       [](std::span<const Tensor> x) {
         auto [last, all] = scan(
             [](Tensor carry, Tensor row) {
               const Tensor next = tanh(carry + row);
               return std::pair(next, next * 2);
             },
             x[0], x[1]);
         return Tensors{last, all};
       }},
  };
}

TEST(Executable, ServesManyThreadsAtOnce) {
  constexpr int kThreads = 6, kRuns = 20;
  for (const Program& program : programs()) {
    const auto executable = compiled(program);
    std::vector<Tensors> arguments, expected;
    for (uint64_t i = 0; i < 4; ++i) {
      arguments.push_back(drawn(program, i));
      expected.push_back(run(*executable, arguments.back()));
    }
    ASSERT_FALSE(same(expected[0], expected[1])) << program.name;
    std::atomic<int> wrong{0}, done{0};
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (size_t i = 0; i < kRuns; ++i) {
          if (!same(run(*executable, arguments[(t + i) % 4]), expected[(t + i) % 4])) ++wrong;
          ++done;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0) << program.name;
    EXPECT_EQ(done, kThreads * kRuns);
  }
}

// A run that ends with an error, here within a loop, leaves the executable as it was.
TEST(Executable, RunsAgainAfterAnError) {
  const Program program{"checked", {{f32, {4}}}, [](std::span<const Tensor> x) {
                          return Tensors{while_loop([](Tensor v) { return sum(v) < 10; },
                                                    [](Tensor v) {
                                                      check(all(greater(v, -1)), "v is too small");
                                                      return v * 2 + 1;
                                                    },
                                                    x[0])};
                        }};
  const auto executable = compiled(program);
  const Tensors good{ones({4}).dense()}, bad{(ones({4}) * -3).dense()};
  const Tensors expected = run(*executable, good);
  EXPECT_EQ(expected[0].to_vector<float>(), std::vector<float>(4, 3));
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(run(*executable, bad), Error);
    EXPECT_TRUE(same(run(*executable, good), expected));
  }
}

}  // namespace
}  // namespace hone
