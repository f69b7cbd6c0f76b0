// A cluster of calls that one kernel runs. Passes make it, after differentiation and batching.
#include "hone/ir/region.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/family.h"
#include "hone/ops/table.h"

namespace hone {
namespace {

const ir::Graph& body_of(AttrRef attrs) { return ir::graph_of(attrs.as<FusionAttrs>().body[0]); }

void infer_fusion(InferContext& c) {
  if (c.attrs<FusionAttrs>().body.size() != 1) c.fail("number of programs", "a cluster has one body");
  const ir::Graph& body = ir::graph_of(c.attrs<FusionAttrs>().body[0]);
  if (static_cast<size_t>(c.outputs()) != body.outputs().size())
    c.fail("number of results", "the body has other outputs");
  const std::span<const ir::Input> inputs = body.inputs();
  if (static_cast<size_t>(c.inputs()) != inputs.size()) c.fail("number of operands", "the body has other inputs");
  for (int i = 0; i < c.inputs(); ++i) {
    if (!(c.in(i) == body.type(inputs[static_cast<size_t>(i)].value)))
      c.fail("type mismatch", "the body's input is " + to_string(body.type(inputs[static_cast<size_t>(i)].value)));
  }
  for (int i = 0; i < c.outputs(); ++i) c.out(i) = body.type(body.outputs()[static_cast<size_t>(i)]);
}

/// Operations of all calls, bytes of the operands and results alone.
Cost fusion_cost(AttrRef attrs, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  Cost cost = family::movement_cost(attrs, inputs, outputs);
  const ir::Graph& body = body_of(attrs);
  for (const ir::Node& node : body.nodes()) cost.flops += ir::cost_of(body, node).flops;
  return cost;
}

void decompose_fusion(const Call& call) {
  std::vector<Tensor> results = ir::interpret(body_of(call.attrs), call.inputs);
  std::ranges::move(results, call.outputs.begin());
}

// A step of SGD over the outer product of x and y: x, y, parameter, velocity, rate.
Sample update_sample(int64_t rows, int64_t columns) {
  ir::Builder builder(std::make_shared<ir::Context>());
  const TensorType parameter{f32, {rows, columns}};
  std::vector<TensorType> types{{f32, {1, rows}}, {f32, {1, columns}}, parameter, parameter, {f32, {}}};
  std::vector<ir::ValueId> in;
  for (const TensorType& type : types) in.push_back(builder.add_input(type, {}));
  const ir::ValueId gradient = builder.add_one(ops::dot_general, DotAttrs{{}, {}, {0}, {0}}, std::span(in).first(2), 0);
  const ir::ValueId operands[] = {in[2], gradient, in[3], in[4]};
  const uint32_t made = builder.add(ops::sgd_update, SgdAttrs{0.9, 0, false}, operands, 2, 0);
  const ir::ValueId first = builder.graph().nodes()[made].first_result;
  const FusionAttrs attrs{{std::make_shared<ir::Graph>(builder.finish({first, first + 1}))}};
  return {.inputs = std::move(types), .attrs = Attrs(attrs), .outputs = 2};
}

// tanh(a + b) and a + b
std::vector<Sample> fusion_samples() {
  std::vector<Sample> samples;
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{7}, Shape{3, 33}}) {
    ir::Builder builder(std::make_shared<ir::Context>());
    const ir::ValueId inputs[] = {builder.add_input({f32, shape}, {}), builder.add_input({f32, shape}, {})};
    const ir::ValueId sum = builder.add_one(ops::add, {}, inputs, 0);
    const ir::ValueId curve = builder.add_one(ops::tanh, {}, {&sum, 1}, 0);
    const FusionAttrs attrs{{std::make_shared<ir::Graph>(builder.finish({curve, sum}))}};
    samples.push_back({.inputs = {{f32, shape}, {f32, shape}}, .attrs = Attrs(attrs), .outputs = 2});
  }
  samples.push_back(update_sample(5, 17));
  return samples;
}

}  // namespace

constinit const Op ops::fusion =
    family::define(OpId::fusion, OpClass::Composite,
                   {
                       .doc = "calls that run as one kernel: what passes make of a program",
                       .operands = "x",
                       .attrs = &attr_type<FusionAttrs>(),
                       .min_inputs = 0,
                       .max_inputs = -1,
                       .outputs = -1,
                       .infer = infer_fusion,
                       .decompose = decompose_fusion,
                       .samples = fusion_samples,
                   },
                   fusion_cost);

}  // namespace hone
