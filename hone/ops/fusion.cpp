// A cluster of calls that one kernel runs. Passes make it, after differentiation and batching.
#include "hone/ir/graph.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/family.h"

namespace hone {
namespace {

const ir::Graph& body_of(AttrRef attrs) { return static_cast<const ir::Graph&>(*attrs.as<FusionAttrs>().body[0]); }

void infer_fusion(InferContext& c) {
  if (c.attrs<FusionAttrs>().body.size() != 1) c.fail("number of programs", "a cluster has one body");
  const auto& body = static_cast<const ir::Graph&>(*c.attrs<FusionAttrs>().body[0]);
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

Cost fusion_cost(AttrRef attrs, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  Cost cost = family::movement_cost(attrs, inputs, outputs);
  for (const auto& type : outputs) cost.flops = std::max(cost.flops, static_cast<double>(type.shape.count()));
  cost.flops *= static_cast<double>(body_of(attrs).nodes().size());
  return cost;
}

void decompose_fusion(const Call& call) {
  std::vector<Tensor> results = ir::interpret(body_of(call.attrs), call.inputs);
  std::ranges::move(results, call.outputs.begin());
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
