// What freezing puts into library calls, what it leaves, and how far the results may move.
#include "hone/compiler/freeze.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "hone/base/error.h"
#include "hone/compiler/pipeline.h"
#include "hone/ir/recorder.h"
#include "hone/ops/contraction.h"
#include "hone/ops/convolution.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/frozen.h"
#include "hone/ops/movement.h"
#include "hone/ops/nn.h"
#include "hone/tensor/interpreter.h"

namespace hone::compiler {
namespace {

using Body = std::function<Tensor(const Tensor& x, std::span<const Tensor> v)>;

Tensor noise(const TensorType& type, uint64_t seed, double low = -1, double high = 1) {
  return cast(random::uniform(random::state(seed), type.shape, low, high).second, type.dtype);
}

struct Program {
  ir::Graph graph;
  Tensor x;
  std::vector<Tensor> variables;
};

// x, and variables of these shapes with positive values (they may be variances).
Program record(const TensorType& x, const std::vector<Shape>& shapes, const Body& body, bool symbolic = false) {
  ir::Recorder recorder(std::make_shared<ir::Context>());
  Program program{ir::Graph(recorder.builder().graph().shared_context()), noise(x, 1), {}};
  TensorType type = x;
  if (symbolic) type.shape[0] = Dim("batch");
  const Tensor input = recorder.add_input(type, {.kind = ir::InputKind::Argument}, {});
  std::vector<Tensor> variables;
  for (size_t i = 0; i < shapes.size(); ++i) {
    program.variables.push_back(shapes[i].rank() > 1 ? noise({x.dtype, shapes[i]}, i + 2)
                                                     : noise({x.dtype, shapes[i]}, i + 2, 0.5, 1.5));
    variables.push_back(recorder.add_input(program.variables.back().type(), {.kind = ir::InputKind::Variable}, {}));
  }
  const InterpreterScope alone(nullptr);
  recorder.push();
  const Tensor result = body(input, variables);
  recorder.remove();
  program.graph = recorder.builder().finish({recorder.value_of(result, {})});
  return program;
}

std::vector<Tensor> inputs_of(const ir::Graph& graph, const Program& program) {
  std::vector<Tensor> inputs;
  size_t variable = 0;
  for (const ir::Input& input : graph.inputs())
    inputs.push_back(input.tensor.defined()                  ? input.tensor
                     : input.kind == ir::InputKind::Variable ? program.variables[variable++]
                                                             : program.x);
  return inputs;
}

Tensor compiled(const ir::Graph& graph, const Program& program) {
  const Compiled ready = compile(graph);
  const Tensor result = Tensor::empty(graph.type(graph.outputs()[0]));
  ready.executable->run(inputs_of(ready.executable->graph(), program), {&result, 1});
  return result;
}

// The largest difference as part of the largest element.
double apart(const Tensor& a, const Tensor& b) {
  const Tensor x = cast(a, f64).dense(), y = cast(b, f64).dense();
  double largest = 0, difference = 0;
  for (size_t i = 0; i < static_cast<size_t>(x.size()); ++i) {
    largest = std::max(largest, std::abs(x.data<double>()[i]));
    difference = std::max(difference, std::abs(x.data<double>()[i] - y.data<double>()[i]));
  }
  return difference / largest;
}

bool same_bits(const Tensor& a, const Tensor& b) { return std::memcmp(a.raw(), b.raw(), a.bytes()) == 0; }

struct Case {
  const char* name;
  TensorType x;
  std::vector<Shape> variables;
  Body body;
  int64_t calls;  // afterwards
};

Tensor norm(const Tensor& y, std::span<const Tensor> v) {
  Tensor operands[] = {y, v[0], v[1], v[2], v[3]};
  return dispatch(ops::batch_norm_inference, NormAttrs{y.rank() - 1, 1e-3}, operands, {});
}
const ConvOptions kSame{.padding = "same"};
const std::vector<Shape> kNorm{{8}, {8}, {8}, {8}};

std::vector<Shape> with_norm(std::vector<Shape> shapes) {
  shapes.insert(shapes.end(), kNorm.begin(), kNorm.end());
  return shapes;
}

std::vector<Case> cases() {
  const TensorType image{f32, {2, 6, 5, 8}};
  const Shape k{3, 3, 8, 8}, point{1, 1, 8, 8};
  const auto rest = [](std::span<const Tensor> v, size_t n) { return v.subspan(n); };
  return {
      {"norm", image, with_norm({k}), [=](auto& x, auto v) { return norm(conv2d(x, v[0], kSame), rest(v, 1)); }, 1},
      {"norm and relu", image, with_norm({k}),
       [=](auto& x, auto v) { return relu(norm(conv2d(x, v[0], kSame), rest(v, 1))); }, 1},
      {"1x1, bias and relu6",
       image,
       {point, {8}},
       [](auto& x, auto v) { return relu6(conv2d(x, v[0], {.bias = v[1]})); },
       1},
      {"bias, norm and silu", image, with_norm({k, {8}}),
       [=](auto& x, auto v) {
         return silu(norm(conv2d(x, v[0], {.strides = 2, .padding = "same", .bias = v[1]}), rest(v, 2)));
       },
       1},
      {"depthwise, its kernel reshaped", image, with_norm({{3, 3, 8, 1}}),
       [=](auto& x, auto v) { return relu6(norm(depthwise_conv2d(x, v[0], kSame), rest(v, 1))); }, 1},
      {"residual and relu", image, with_norm({k}),
       [=](auto& x, auto v) { return relu(norm(conv2d(x, v[0], kSame), rest(v, 1)) + x); }, 1},
      {"residual of another call", image, with_norm({k, point}),
       [=](auto& x, auto v) { return relu(norm(conv2d(x, v[0], kSame), rest(v, 2)) + conv2d(x, v[1])); }, 2},
      {"the residual's memory is read by others",
       image,
       {k, k},
       [](auto& x, auto v) {
         const Tensor y = relu(conv2d(x, v[0], kSame));
         return (conv2d(y, v[1], kSame) + y) * y;
       },
       3},
      {"arithmetic by channel",
       image,
       {k, {8}, {8}},
       [](auto& x, auto v) { return (conv2d(x, v[0], kSame) * v[1] - v[2]) / 2.0 + 1.0; },
       1},
      {"number minus call", image, {k}, [](auto& x, auto v) { return 1.0 - conv2d(x, v[0], kSame); }, 1},
      {"weights made by arithmetic",
       image,
       {k, {8}},
       [](auto& x, auto v) { return conv2d(x, tanh(v[0]) * 0.5, {.padding = "same", .bias = v[1] * v[1]}); },
       1},
      {"dense and gelu",
       {f32, {5, 16}},
       {{16, 12}, {12}},
       [](auto& x, auto v) { return gelu(call_op(ops::dense, {}, {}, x, v[0], v[1])); },
       1},
      {"dense of three axes and residual",
       {f32, {2, 3, 16}},
       {{16, 16}, {16}},
       [](auto& x, auto v) { return x + call_op(ops::dense, {}, {}, x, v[0], v[1]); },
       1},
      {"dense, norm and tanh",
       {f32, {7, 8}},
       with_norm({{8, 8}}),
       [=](auto& x, auto v) { return tanh(norm(call_op(ops::dense, {}, {}, x, v[0]), rest(v, 1))); },
       1},
      {"f64",
       {f64, {2, 6, 5, 8}},
       with_norm({k}),
       [=](auto& x, auto v) { return relu(norm(conv2d(x, v[0], kSame), rest(v, 1)) + x); },
       1},
      // What stays.
      {"two readers",
       image,
       {k},
       [](auto& x, auto v) {
         const Tensor y = conv2d(x, v[0], kSame);
         return relu(y) + y;
       },
       3},
      {"residual after the activation",
       image,
       {k},
       [](auto& x, auto v) { return relu(conv2d(x, v[0], kSame)) + x; },
       2},
      {"norm after the residual", image, with_norm({k}),
       [=](auto& x, auto v) { return norm(conv2d(x, v[0], kSame) + x, rest(v, 1)); }, 2},
      {"the same call twice",
       image,
       {k},
       [](auto& x, auto v) {
         const Tensor y = conv2d(x, v[0], kSame);
         return y + y;
       },
       2},
      {"a factor for each place",
       image,
       {k, {5, 8}},
       [](auto& x, auto v) { return conv2d(x, v[0], kSame) * v[1]; },
       3},  // with the broadcast
  };
}

TEST(Freeze, FoldsWhatBelongsToACall) {
  for (const Case& c : cases()) {
    const Program program = record(c.x, c.variables, c.body);
    FreezeReport report;
    const ir::Graph frozen = freeze(program.graph, program.variables, &report);
    ir::verify(frozen, "freeze");
    EXPECT_EQ(static_cast<int64_t>(frozen.nodes().size()), c.calls) << c.name;
    EXPECT_EQ(report.calls_after, c.calls) << c.name;
    EXPECT_GE(report.calls_before, c.calls) << c.name;
    const Tensor expected = ir::interpret(program.graph, inputs_of(program.graph, program))[0];
    const Tensor got = ir::interpret(frozen, inputs_of(frozen, program))[0];
    EXPECT_LE(apart(expected, got), c.x.dtype == f64 ? 1e-14 : 2e-6) << c.name;
    // Eager and compiled are the same bits, and a second run is the first.
    const Tensor graph = compiled(frozen, program);
    EXPECT_TRUE(same_bits(got, graph)) << c.name;
    EXPECT_TRUE(same_bits(compiled(frozen, program), graph)) << c.name;
  }
}

TEST(Freeze, KnowsEachActivation) {
  for (const ActivationRow& row : activations()) {
    const Program program = record({f32, {2, 4, 4, 3}}, {{3, 3, 3, 5}, {5}}, [&](const Tensor& x, auto v) {
      const Tensor y = conv2d(x, v[0], {.padding = "same", .bias = v[1]}) * 4.0;
      return row.activation == Activation::LeakyRelu ? leaky_relu(y, 0.3) : call_op(*row.op, {}, {}, y);
    });
    FreezeReport report;
    const ir::Graph frozen = freeze(program.graph, program.variables, &report);
    EXPECT_EQ(report.fused_activations, 1) << row.op->name;
    EXPECT_EQ(frozen.nodes().size(), 1U) << row.op->name;
    EXPECT_LE(apart(ir::interpret(program.graph, inputs_of(program.graph, program))[0], compiled(frozen, program)),
              5e-6)
        << row.op->name;
  }
}

TEST(Freeze, ASeparableConvolutionIsTwoCallsWithItsNormInside) {
  for (const bool symbolic : {false, true}) {
    const Program program = record(
        {f32, {2, 6, 6, 8}}, {{3, 3, 8, 1}, {1, 1, 8, 5}, {5}, {5}, {5}, {5}},
        [](const Tensor& x, auto v) { return relu(norm(separable_conv2d(x, v[0], v[1], kSame), v.subspan(2))); },
        symbolic);
    FreezeReport report;
    const ir::Graph frozen = freeze(program.graph, program.variables, &report);
    EXPECT_EQ(frozen.nodes().size(), 2U);
    EXPECT_EQ(report.frozen_convolutions, 2);
    EXPECT_EQ(report.folded_scales, 1);
    EXPECT_EQ(report.fused_activations, 1);
  }
}

TEST(Freeze, ServesAnyBatch) {
  const Program program = record(
      {f32, {3, 6, 6, 8}}, with_norm({{3, 3, 8, 8}}),
      [](const Tensor& x, auto v) { return relu(norm(conv2d(x, v[0], kSame), v.subspan(1)) * 2.0 + x); }, true);
  const ir::Graph frozen = freeze(program.graph, program.variables);
  EXPECT_EQ(frozen.nodes().size(), 1U);
  const auto batch = [](std::string_view) { return int64_t{3}; };
  const ir::Graph before = ir::bind(program.graph, batch), after = ir::bind(frozen, batch);
  EXPECT_LE(apart(ir::interpret(before, inputs_of(before, program))[0], compiled(after, program)), 2e-6);
}

TEST(Freeze, LargePlanesOfManyChannelsStayNearTheProgram) {  // by Winograd's transform, where the CPU has it
  for (const int64_t side : {14, 17, 28}) {
    const Program program = record({f32, {2, side, side, 64}}, {{3, 3, 64, 80}, {80}}, [](const Tensor& x, auto v) {
      return relu(conv2d(x, v[0], {.padding = "same", .bias = v[1]}));
    });
    const ir::Graph frozen = freeze(program.graph, program.variables);
    ASSERT_EQ(frozen.nodes().size(), 1U);
    const Tensor got = ir::interpret(frozen, inputs_of(frozen, program))[0];
    EXPECT_LE(apart(ir::interpret(program.graph, inputs_of(program.graph, program))[0], got), 1e-5) << side;
    EXPECT_TRUE(same_bits(got, compiled(frozen, program))) << side;
    EXPECT_TRUE(same_bits(got, ir::interpret(frozen, inputs_of(frozen, program))[0])) << side;
  }
}

TEST(Freeze, WeightsThatAreNoConstantsStay) {
  ir::Recorder recorder(std::make_shared<ir::Context>());
  const Tensor x = recorder.add_input({f32, {1, 4, 4, 2}}, {}, {}), k = recorder.add_input({f32, {3, 3, 2, 2}}, {}, {});
  const InterpreterScope alone(nullptr);
  recorder.push();
  const Tensor y = relu(conv2d(x, k));
  recorder.remove();
  FreezeReport report;
  const ir::Graph frozen = freeze(recorder.builder().finish({recorder.value_of(y, {})}), {}, &report);
  EXPECT_EQ(frozen.nodes().size(), 2U);
  EXPECT_EQ(report.frozen_convolutions, 0);
}

TEST(Freeze, RefusesProgramsThatAssignVariables) {
  ir::Builder builder(std::make_shared<ir::Context>());
  const ir::ValueId cell = builder.add_input(
      {f32, {2}}, {.kind = ir::InputKind::Variable, .name = "moving_mean", .tensor = {}, .new_value = 0});
  const ir::ValueId now = builder.add_one(ops::tanh, {}, {&cell, 1}, 0);
  const Tensor value = Tensor::of<float>({1, 2});
  try {
    freeze(builder.finish({now}), {&value, 1});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition);
    EXPECT_NE(std::string(error.what()).find("moving_mean"), std::string::npos);
  }
}

}  // namespace
}  // namespace hone::compiler
