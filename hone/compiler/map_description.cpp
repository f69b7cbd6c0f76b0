#include "hone/compiler/map_description.h"

#include "hone/ir/region.h"
#include "hone/ops/attrs.h"
#include "hone/ops/table.h"

namespace hone::compiler {
namespace {

codegen::MapStep step_of(const Op& op, AttrRef attrs, DType type, size_t operands) {
  codegen::MapStep step{};
  step.row = &op == &ops::convert ? codegen::MapStep::kConvert : op.elementwise;
  step.type = static_cast<int32_t>(type);
  step.operands = static_cast<int32_t>(operands);
  if (attrs.type() == &attr_type<ParamAttrs>()) {
    step.params[0] = attrs.as<ParamAttrs>().a;
    step.params[1] = attrs.as<ParamAttrs>().b;
  }
  return step;
}

// The operand whose type is the call's.
size_t typed(const Op& op) { return &op == &ops::select ? 1 : 0; }

}  // namespace

MapDescription::MapDescription(const KernelQuery& query) {
  const auto item = [](DType dtype) { return static_cast<uint8_t>(size_of(dtype)); };
  for (const Tensor& input : query.inputs) {
    types.push_back(static_cast<int32_t>(input.dtype()));
    items.push_back(item(input.dtype()));
  }
  for (const TensorType& output : query.outputs) items.push_back(item(output.dtype));
  if (&query.op != &ops::fusion) {
    steps.push_back(step_of(query.op, query.attrs, query.inputs[typed(query.op)].dtype(), query.inputs.size()));
    for (size_t i = 0; i < query.inputs.size(); ++i) steps[0].in[i] = static_cast<int32_t>(i);
    results.push_back(static_cast<int32_t>(types.size()));
    types.push_back(static_cast<int32_t>(query.outputs[0].dtype));
    return;
  }
  const ir::Graph& body = ir::graph_of(query.attrs.as<FusionAttrs>().body[0]);
  std::vector<int32_t> place(body.values());  // of a value of the body
  for (size_t i = 0; i < body.inputs().size(); ++i) place[body.inputs()[i].value] = static_cast<int32_t>(i);
  for (const ir::Node& node : body.nodes()) {
    const std::span<const ir::ValueId> operands = body.operands(node);
    codegen::MapStep step = step_of(*node.op, node.attrs, body.type(operands[typed(*node.op)]).dtype, operands.size());
    for (size_t i = 0; i < operands.size(); ++i) step.in[i] = place[operands[i]];
    steps.push_back(step);
    place[node.first_result] = static_cast<int32_t>(types.size());
    types.push_back(static_cast<int32_t>(body.type(node.first_result).dtype));
  }
  for (const ir::ValueId output : body.outputs()) results.push_back(place[output]);
}

codegen::MapProgram MapDescription::program(codegen::Level level) const {
  return {level,        operands(),
          splats,       types.data(),
          steps.data(), static_cast<int32_t>(steps.size()),
          results.data(), static_cast<int32_t>(results.size())};
}

}  // namespace hone::compiler
