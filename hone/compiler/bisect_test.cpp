// Wrong passes, kernels and plans that bisect is given.
#include "hone/compiler/bisect.h"

#include <gtest/gtest.h>

#include <array>

#include "hone/compiler/rule_domain.h"
#include "hone/compiler/stablehlo.h"
#include "hone/ir/region.h"
#include "hone/ops/attrs.h"
#include "hone/ops/kernel.h"
#include "hone/ops/table.h"
#include "hone/tensor/check_test.h"

namespace hone::compiler {
namespace {

const TensorType kMatrix{f32, {8, 16}};

// exp(tanh(x . w) + 2) . w + x: two products, between them what clusters.
ir::Graph program() {
  return domain::graph({kMatrix, {f32, {16, 16}}}, [](ir::Builder& b, auto in) {
    const auto product = [&](ir::ValueId x) {
      return domain::call(b, ops::dot_general, DotAttrs{{}, {}, {1}, {0}}, {x, in[1]});
    };
    const ir::ValueId curve = domain::call(b, ops::tanh, {}, {product(in[0])});
    const ir::ValueId sum = domain::call(b, ops::add, {}, {curve, domain::constant(b, kMatrix, 2)});
    const ir::ValueId last = product(domain::call(b, ops::exponential, {}, {sum}));
    return domain::call(b, ops::subtract, {}, {last, in[0]});
  });
}

Tensor ramp(const TensorType& type) {
  std::vector<float> values(static_cast<size_t>(type.shape.count()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.01F * static_cast<float>(i) - 0.6F;
  return Tensor::from(values, type.shape);
}

std::vector<Tensor> inputs_of(const ir::Graph& graph) {
  std::vector<Tensor> inputs;
  for (const ir::Input& input : graph.inputs())
    inputs.push_back(input.tensor.defined() ? input.tensor : ramp(graph.type(input.value)));
  return inputs;
}

using Pass = std::function<ir::Graph(const ir::Graph&)>;

// The pipeline with a pass of this name between its halves.
BisectOptions with_pass(Pass pass) {
  return {.compile = [pass](const ir::Graph& graph, std::vector<Stage>& stages) {
    const ir::Graph changed = pass(optimize(graph, &stages));
    stages.push_back({"test_pass", changed});
    return compile(changed, {.stages = &stages});
  }};
}

// The pipeline, and then a change to its plan.
BisectOptions with_plan(std::function<void(Plan&)> change) {
  return {.compile = [change](const ir::Graph& graph, std::vector<Stage>& stages) {
    Compiled compiled = compile(optimize(graph, &stages), {.stages = &stages});
    Plan plan = compiled.executable->plan();
    change(plan);
    compiled.executable = std::make_shared<Executable>(std::move(plan));
    return compiled;
  }};
}

// Puts one op in the place of another.
Pass exchanges(const Op& from, const Op& to) {
  return [&from, &to](const ir::Graph& graph) {
    ir::Rewriter out(graph);
    for (const ir::Node& node : graph.nodes()) {
      if (node.op != &from) {
        out.copy(node);
        continue;
      }
      const SmallVector<ir::ValueId, 8> operands = out.operands(node);
      out.set(node.first_result, out.to().add_one(to, {}, {operands.data(), operands.size()}, node.origin));
    }
    return out.finish();
  };
}

// exp(x + y) becomes exp(x - y): wrong only for the two together.
ir::Graph breaks_a_pair(const ir::Graph& graph) {
  ir::Rewriter out(graph);
  for (const ir::Node& node : graph.nodes()) {
    const uint32_t before = node.operands == 1 ? graph.producer(graph.operands(node)[0]) : ir::kNone;
    if (node.op != &ops::exponential || before == ir::kNone || graph.nodes()[before].op != &ops::add) {
      out.copy(node);
      continue;
    }
    const SmallVector<ir::ValueId, 8> operands = out.operands(graph.nodes()[before]);
    const ir::ValueId difference = out.to().add_one(ops::subtract, {}, {operands.data(), operands.size()}, node.origin);
    out.set(node.first_result, out.to().add_one(ops::exponential, {}, {&difference, 1}, node.origin));
  }
  return out.finish();
}

// Does what cpu.fusion does, and then one element wrongly.
void run_wrongly(const KernelCall& call) {
  for (const Kernel& kernel : kernels(call.op)) {
    if (std::string_view(kernel.name) == "cpu.fusion") kernel.run(call);
  }
  call.out<float>()[3] += 0.5F;
}
constexpr Kernel kWrong{.name = "test.fusion", .run = run_wrongly, .in_place = true};

void break_fusion(Plan& plan) {
  for (Step& step : plan.steps) {
    if (step.kernel && plan.graph.nodes()[step.node].op == &ops::fusion) step.kernel = &kWrong;
  }
}

std::optional<Culprit> search(const BisectOptions& options, const ir::Graph& graph = program()) {
  ensure_defaults();
  return bisect(graph, inputs_of(graph), options);
}

std::vector<std::string> ops_of(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::Node& node : graph.nodes()) names.emplace_back(node.op->name);
  return names;
}

// The program that was found still shows it, from its text and its inputs too.
void expect_shows(const Culprit& culprit, const BisectOptions& options) {
  const ir::Graph read = parse_text(to_text(culprit.program.graph), "program.mlir");
  const std::optional<Culprit> again = bisect(read, culprit.program.inputs, options);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->name, culprit.name);
  EXPECT_EQ(again->program.graph.nodes().size(), culprit.program.graph.nodes().size());
}

TEST(Bisect, FindsNothingWhereResultsAreTheSame) {
  EXPECT_FALSE(search({}));
  EXPECT_FALSE(search(with_pass([](const ir::Graph& graph) { return graph; })));
  EXPECT_FALSE(search(with_plan([](Plan&) {})));
}

TEST(Bisect, NamesAWrongPassAndTheCallThatItChanges) {
  const BisectOptions wrong = with_pass(exchanges(ops::add, ops::subtract));
  const std::optional<Culprit> culprit = search(wrong);
  ASSERT_TRUE(culprit);
  EXPECT_EQ(culprit->kind, Culprit::Pass);
  EXPECT_EQ(culprit->name, "test_pass");
  EXPECT_EQ(culprit->step, 4U);  // behind the three of optimize
  EXPECT_EQ(culprit->op, "add");
  EXPECT_EQ(ops_of(culprit->program.graph), std::vector<std::string>{"add"});
  EXPECT_GT(culprit->difference.largest, 1);
  EXPECT_TRUE(contains(to_string(*culprit), "pass: test_pass, step 4 of 1"));
  EXPECT_TRUE(contains(to_string(*culprit), "\nop: add\n"));
  expect_shows(*culprit, wrong);
}

TEST(Bisect, KeepsTheCallsThatShowItTogether) {
  const BisectOptions wrong = with_pass(breaks_a_pair);
  const std::optional<Culprit> culprit = search(wrong);
  ASSERT_TRUE(culprit);
  EXPECT_EQ(culprit->name, "test_pass");
  EXPECT_EQ(culprit->op, "exponential");
  EXPECT_EQ(ops_of(culprit->program.graph), (std::vector<std::string>{"add", "exponential"}));
  expect_shows(*culprit, wrong);
}

TEST(Bisect, NamesAWrongKernelAndTheCallsOfItsCluster) {
  const BisectOptions wrong = with_plan(break_fusion);
  const std::optional<Culprit> culprit = search(wrong);
  ASSERT_TRUE(culprit);
  EXPECT_EQ(culprit->kind, Culprit::Kernel);
  EXPECT_EQ(culprit->name, "test.fusion");
  EXPECT_TRUE(contains(culprit->op, "fusion {tanh, add")) << culprit->op;
  EXPECT_FLOAT_EQ(static_cast<float>(culprit->difference.largest), 0.5F);
  EXPECT_LT(culprit->program.graph.nodes().size(), program().nodes().size() - 1);
  EXPECT_TRUE(contains(to_string(*culprit), "kernel: test.fusion, step "));
  expect_shows(*culprit, wrong);
}

TEST(Bisect, TellsPlacesThatOverlapFromWrongKernels) {
  // Three products alive at once, which a wrong plan writes to one place.
  const ir::Graph graph = domain::graph({{f32, {16, 16}}}, [](ir::Builder& b, auto in) {
    const auto product = [&](ir::ValueId x, ir::ValueId y) {
      return domain::call(b, ops::dot_general, DotAttrs{{}, {}, {1}, {0}}, {x, y});
    };
    const ir::ValueId square = product(in[0], in[0]), cube = product(square, in[0]);
    return product(product(cube, square), cube);
  });
  const std::optional<Culprit> culprit = search(with_plan([](Plan& plan) {
                                                  for (Storage& storage : plan.storages) storage.offset = 0;
                                                }),
                                                graph);
  ASSERT_TRUE(culprit);
  EXPECT_EQ(culprit->kind, Culprit::Memory);
  EXPECT_EQ(culprit->op, "dot_general");
}

TEST(Bisect, ToleranceIsRelativeToTheLargestElement) {
  const Tensor expected = vec({-200, 1, 0}), near = vec({-200, 2, 0});
  EXPECT_TRUE(difference({&expected, 1}, {&near, 1}).found);
  EXPECT_TRUE(difference({&expected, 1}, {&near, 1}, 0.004).found);
  EXPECT_FALSE(difference({&expected, 1}, {&near, 1}, 0.006).found);
  EXPECT_EQ(difference({&expected, 1}, {&near, 1}).largest, 1);
  EXPECT_EQ(difference({&expected, 1}, {&near, 1}).magnitude, 200);
  BisectOptions wrong = with_plan(break_fusion);
  wrong.tolerance = 100;
  EXPECT_FALSE(search(wrong));
}

TEST(Bisect, DifferencesAreThoseOfBits) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto differ = [](const Tensor& a, const Tensor& b) { return difference({&a, 1}, {&b, 1}).found; };
  EXPECT_FALSE(differ(vec({nan, 1}), vec({-nan, 1})));
  EXPECT_TRUE(differ(vec({0}), vec({-0.0F})));
  EXPECT_TRUE(differ(vec({nan}), vec({1})));
  EXPECT_FALSE(difference(std::array{vec({1})}, std::array{vec({nan})}, 1e30).largest < 1e300);
  EXPECT_TRUE(differ(vec({1}), vec({1, 1})));
  EXPECT_TRUE(differ(Tensor::of<int64_t>({int64_t{1} << 60}), Tensor::of<int64_t>({(int64_t{1} << 60) + 1})));
}

// A loop is one call of the plan; here it is evaluated by its definition.
TEST(Bisect, LooksAtLoopsAsOneCall) {
  const std::string text = R"(func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %x = %arg0) : tensor<i32>, tensor<4xf32>
  cond {
    %three = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.tanh %x : tensor<4xf32>
    %3 = stablehlo.multiply %2, %x : tensor<4xf32>
    stablehlo.return %1, %3 : tensor<i32>, tensor<4xf32>
  }
  %4 = stablehlo.negate %0#1 : tensor<4xf32>
  %5 = stablehlo.add %4, %arg0 : tensor<4xf32>
  return %5 : tensor<4xf32>
})";
  const ir::Graph graph = parse_text(text, "loop.mlir");
  EXPECT_FALSE(search({}, graph));
  const std::optional<Culprit> culprit = search(with_pass(exchanges(ops::negate, ops::abs)), graph);
  ASSERT_TRUE(culprit);
  EXPECT_EQ(culprit->op, "negate");
  EXPECT_EQ(culprit->location.line, 15U);
  EXPECT_TRUE(contains(to_string(*culprit), "line: loop.mlir:15"));
  const std::optional<Culprit> kernel = search(with_plan(break_fusion), graph);  // behind the loop, which is right
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->op, "fusion {negate, add}");
}

}  // namespace
}  // namespace hone::compiler
