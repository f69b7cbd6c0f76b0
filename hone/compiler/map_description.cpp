#include "hone/compiler/map_description.h"

#include <algorithm>

#include "hone/compiler/row_space.h"
#include "hone/ir/region.h"
#include "hone/ops/attrs.h"
#include "hone/ops/reduce_steps.h"
#include "hone/ops/table.h"

namespace hone::compiler {
namespace {

codegen::MapStep step_of(const Op& op, AttrRef attrs, DType type, size_t operands, bool columns = false) {
  codegen::MapStep step{};
  const int reduction = reduce_kind(op);
  step.row = reduction >= 0         ? (columns ? codegen::MapStep::kFold : codegen::MapStep::kReduce) - reduction
             : &op == &ops::convert ? codegen::MapStep::kConvert
                                    : op.elementwise;
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
  const RowSpace space(body);
  rows = space.rows, length = space.length;
  std::vector<int32_t> place(body.values());  // of a value of the body: operands first
  std::vector<bool> approximate;              // by step
  const auto stored = [&](ir::ValueId v) {    // partial results are accumulators
    const DType dtype = body.type(v).dtype;
    return space.is_fold[v] != 0 ? compute_type(dtype) : dtype;
  };
  const auto add = [&](ir::ValueId v) {
    place[v] = static_cast<int32_t>(types.size());
    types.push_back(static_cast<int32_t>(stored(v)));
  };
  const bool columns = space.fold.extent > 0 && of_columns(space.fold);
  for (const ir::Input& input : body.inputs()) {
    if (space.per_row[input.value] != 0) splats |= uint64_t{1} << types.size();
    add(input.value);
    items.push_back(static_cast<uint8_t>(size_of(body.type(input.value).dtype)));
  }
  for (const ir::Node& node : body.nodes()) {
    const std::span<const ir::ValueId> operands = body.operands(node);
    if (repeats(body, node) > 0) {
      place[node.first_result] = place[operands[0]];
      continue;
    }
    const bool fold = space.is_fold[node.first_result] != 0;
    codegen::MapStep step =
        step_of(*node.op, node.attrs, body.type(operands[typed(*node.op)]).dtype, operands.size(), fold && columns);
    step.per_row = fold ? !columns : space.per_row[node.first_result];
    for (size_t i = 0; i < operands.size(); ++i) step.in[i] = place[operands[i]];
    steps.push_back(step);
    approximate.push_back(node.op->numerics == NumericsClass::Approximate);
    add(node.first_result);
  }
  for (const ir::ValueId output : body.outputs()) {
    results.push_back(place[output]);
    items.push_back(static_cast<uint8_t>(size_of(stored(output))));
  }
  if (space.length > 1) plan_phases(approximate);
}

// Which loop over a row computes what, and what later ones read again: values that take an approximate function or
// more than a few exact ones to compute.
void MapDescription::plan_phases(const std::vector<bool>& approximate) {
  constexpr int kFew = 4, kMany = 100;
  const size_t operands = types.size() - steps.size();
  std::vector<int32_t> ready(types.size()), last_read(types.size());  // loops
  std::vector<int> price(types.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    codegen::MapStep& step = steps[i];
    const size_t v = operands + i;
    for (int k = 0; k < step.operands; ++k) step.phase = std::max(step.phase, ready[static_cast<size_t>(step.in[k])]);
    ready[v] = step.phase + (codegen::reduces(step) ? 1 : 0);
    if (step.per_row != 0) continue;
    price[v] = approximate[i] ? kMany : 1;
    for (int k = 0; k < step.operands; ++k) {
      const auto in = static_cast<size_t>(step.in[k]);
      price[v] += ready[in] < step.phase && price[in] > kFew ? 1 : price[in];
    }
    price[v] = std::min(price[v], kMany);
  }
  const int32_t last = codegen::phases(steps.data(), static_cast<int32_t>(steps.size())) - 1;
  for (codegen::MapStep& step : steps) step.phase = codegen::folds(step) ? last : step.phase;
  for (const int32_t v : results) last_read[static_cast<size_t>(v)] = last;
  for (size_t i = steps.size(); i-- > 0;) {
    codegen::MapStep& step = steps[i];
    const size_t v = operands + i;
    step.kept = step.per_row == 0 && last_read[v] > step.phase && price[v] > kFew ? 1 : 0;
    const int32_t reads = step.per_row != 0 || step.kept != 0 ? step.phase : std::max(step.phase, last_read[v]);
    for (int k = 0; k < step.operands; ++k) {
      int32_t& read = last_read[static_cast<size_t>(step.in[k])];
      read = std::max(read, reads);
    }
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].kept != 0) kept.push_back(static_cast<uint8_t>(size_of(static_cast<DType>(types[operands + i]))));
  }
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
  return {level,          operands(),
          splats,         types.data(),
          steps.data(),   static_cast<int32_t>(steps.size()),
          results.data(), static_cast<int32_t>(results.size())};
}

}  // namespace hone::compiler
