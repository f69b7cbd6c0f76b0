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

MapDescription::MapDescription(const ir::Graph& body) {
  std::vector<int32_t> place(body.values());  // of a value of the body
  const auto add = [&](ir::ValueId v) {
    place[v] = static_cast<int32_t>(types.size());
    types.push_back(static_cast<int32_t>(body.type(v).dtype));
  };
  const auto item = [&](ir::ValueId v) { items.push_back(static_cast<uint8_t>(size_of(body.type(v).dtype))); };
  for (const ir::Input& input : body.inputs()) add(input.value), item(input.value);
  for (const ir::Node& node : body.nodes()) {
    const std::span<const ir::ValueId> operands = body.operands(node);
    codegen::MapStep step = step_of(*node.op, node.attrs, body.type(operands[typed(*node.op)]).dtype, operands.size());
    for (size_t i = 0; i < operands.size(); ++i) step.in[i] = place[operands[i]];
    steps.push_back(step);
    add(node.first_result);
  }
  for (const ir::ValueId output : body.outputs()) results.push_back(place[output]), item(output);
}

MapDescription::MapDescription(const KernelQuery& query) {
  if (&query.op == &ops::fusion) {
    *this = MapDescription(ir::graph_of(query.attrs.as<FusionAttrs>().body[0]));
    return;
  }
  const auto add = [&](DType dtype) {
    types.push_back(static_cast<int32_t>(dtype));
    items.push_back(static_cast<uint8_t>(size_of(dtype)));
  };
  steps.push_back(step_of(query.op, query.attrs, query.inputs[typed(query.op)].dtype(), query.inputs.size()));
  for (size_t i = 0; i < query.inputs.size(); ++i) {
    steps[0].in[i] = static_cast<int32_t>(i);
    add(query.inputs[i].dtype());
  }
  results.push_back(static_cast<int32_t>(types.size()));
  add(query.outputs[0].dtype);
}

codegen::MapProgram MapDescription::program(codegen::Level level) const {
  return {level,        operands(),
          splats,       types.data(),
          steps.data(), static_cast<int32_t>(steps.size()),
          results.data(), static_cast<int32_t>(results.size())};
}

}  // namespace hone::compiler
