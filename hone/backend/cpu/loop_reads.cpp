// Blocks at run-time indices of tensors that a loop does not change, as steps: read where they lie, whatever their
// size.
#include "hone/backend/cpu/loop_steps.h"
#include "hone/ops/attrs.h"
#include "hone/ops/table.h"

namespace hone {
namespace {

// A block whose elements lie side by side: whole rows behind its first axis of several.
bool runs_on(const Shape& shape, const Shape& sizes) {
  size_t axis = 0;
  while (axis < sizes.size() && sizes[axis] == Dim(1)) ++axis;
  for (++axis; axis < sizes.size(); ++axis) {
    if (!(sizes[axis] == shape[axis])) return false;
  }
  return true;
}

}  // namespace

bool LoopSteps::reads_table(const ir::Node& node, int operand) const {
  return node.op == &ops::dynamic_slice && values_[at(operand)].input && where(operand) == Fixed &&
         values_[at(operand)].type.shape.is_static() && count(operand) > 0;
}

const char* LoopSteps::read(const ir::Graph& graph, const ir::Node& node, std::span<int> places) {
  const std::span<const ir::ValueId> operands = graph.operands(node);
  const int table = places[operands[0]];
  const Shape &shape = graph.type(operands[0]).shape, &sizes = node.attrs.as<ShapeAttrs>().shape;
  if (!reads_table(node, table)) return "the body calls dynamic_slice on what the loop changes";
  if (!runs_on(shape, sizes)) return "the body calls dynamic_slice for elements that do not lie side by side";
  const TensorType index{i64, {}};
  const auto binary = [&](const Op& op, int a, int64_t b) {
    const int both[] = {a, filled(index, static_cast<uint64_t>(b))};
    return row(op, both, index);
  };
  int first = filled(index, 0);
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0; stride *= shape[axis].number()) {
    const int64_t last = shape[axis].number() - sizes[axis].number();
    if (last == 0) continue;
    const int start = places[operands[axis + 1]];
    if (dtype(start) == u64) return "the body calls dynamic_slice with an index of u64";
    const int clamped = binary(ops::minimum, binary(ops::maximum, convert(start, i64), 0), last);
    const int both[] = {first, binary(ops::multiply, clamped, stride)};
    first = row(ops::add, both, index);
  }
  const int both[] = {table, first};
  places[node.first_result] = call(codegen::LoopStep::kRead, both, dtype(table), graph.type(node.first_result));
  return nullptr;
}

}  // namespace hone
