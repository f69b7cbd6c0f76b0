#include "hone/compiler/row_space.h"

#include <algorithm>

#include "hone/compiler/passes.h"
#include "hone/ops/attrs.h"
#include "hone/ops/reduce_steps.h"
#include "hone/ops/table.h"
#include "hone/ops/views.h"

namespace hone::compiler {
namespace {

// Whether the innermost axes, `length` elements, repeat what the others run over in order.
bool repeats_rows(const Shape& from, const BroadcastAttrs& attrs, int64_t length) {
  const Ints dense = dense_strides(from);
  FixedVector<int64_t, kMaxRank> strides;
  for (int i = 0; i < attrs.shape.rank(); ++i) strides.push_back(0);
  for (int i = 0; i < from.rank(); ++i) {
    if (from[i].number() != 1) strides[static_cast<size_t>(attrs.dimensions[static_cast<size_t>(i)])] = dense[i];
  }
  int64_t inner = 1, outer = 1;
  for (size_t i = strides.size(); i-- > 0;) {
    const int64_t extent = attrs.shape[static_cast<int>(i)].number();
    if (extent == 1) continue;
    const bool repeated = inner < length;
    if (strides[i] != (repeated ? 0 : outer)) return false;
    (repeated ? inner : outer) *= extent;
  }
  return inner == length;
}

}  // namespace

int64_t reduced_row(const ir::Graph& graph, const ir::Node& node) {
  if (reduce_kind(*node.op) < 0) return 0;
  const Shape& shape = graph.type(graph.operands(node)[0]).shape;
  if (!shape.is_static() || shape.count() == 0) return 0;
  const ReduceSteps steps = reduce_steps(shape, node.attrs.as<AxesAttrs>().axes);
  return steps.size() == 1 && steps[0].inner == 1 ? steps[0].extent : 0;
}

int64_t repeats(const ir::Graph& graph, const ir::Node& node) {
  if (node.op != &ops::reshape && node.op != &ops::broadcast_in_dim) return 0;
  const Shape &from = graph.type(graph.operands(node)[0]).shape, &to = graph.type(node.first_result).shape;
  if (!from.is_static() || !to.is_static() || from.count() == 0 || to.count() == 0) return 0;
  if (node.op == &ops::reshape) return 1;
  const int64_t times = to.count() / from.count();
  return repeats_rows(from, node.attrs.as<BroadcastAttrs>(), times) ? times : 0;
}

RowSpace::RowSpace(const ir::Graph& body) : per_row(body.values()), wrong(read(body)) {}

const char* RowSpace::read(const ir::Graph& body) {
  int64_t count = body.values() > 0 ? body.type(0).shape.count() : 0;
  for (const ir::Node& node : body.nodes()) {
    if (const int64_t row = reduced_row(body, node); row > 1) {
      length = row, count = body.type(body.operands(node)[0]).shape.count();
      break;
    }
  }
  rows = count / length;
  for (ir::ValueId v = 0; v < body.values(); ++v) {
    const int64_t own = body.type(v).shape.count();
    per_row[v] = length > 1 && own == rows ? 1 : 0;
    if (per_row[v] == 0 && own != count) return "a value has another number of elements";
  }
  for (const ir::Node& node : body.nodes()) {
    if (const char* why = check(body, node)) return why;
  }
  return nullptr;
}

const char* RowSpace::check(const ir::Graph& body, const ir::Node& node) const {
  if (node.results != 1) return "a call of the body has several results";
  const uint8_t own = per_row[node.first_result];
  const auto like_result = [&](ir::ValueId v) { return per_row[v] == own; };
  const std::span<const ir::ValueId> operands = body.operands(node);
  if (clusters(*node.op)) return std::ranges::all_of(operands, like_result) ? nullptr : "operands differ in rows";
  if (reduce_kind(*node.op) >= 0)
    return length > 1 && reduced_row(body, node) == length ? nullptr : "a reduction is over other rows";
  const int64_t times = repeats(body, node);
  if (times == (like_result(operands.empty() ? node.first_result : operands[0]) ? 1 : length)) return nullptr;
  return "a call of the body neither computes by element nor over rows";
}

}  // namespace hone::compiler
