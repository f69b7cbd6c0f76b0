#include "hone/compiler/row_space.h"

#include <algorithm>

#include "hone/compiler/codegen.h"
#include "hone/compiler/passes.h"
#include "hone/ops/attrs.h"
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

// The one pass of a reduction; extent 0: another call, or several passes.
ReduceStep reduced(const ir::Graph& graph, const ir::Node& node) {
  if (reduce_kind(*node.op) < 0) return {1, 0, 1};
  const Shape& shape = graph.type(graph.operands(node)[0]).shape;
  if (!shape.is_static() || shape.count() == 0) return {1, 0, 1};
  const ReduceSteps steps = reduce_steps(shape, node.attrs.as<AxesAttrs>().axes);
  return steps.size() == 1 ? steps[0] : ReduceStep{1, 0, 1};
}

}  // namespace

int64_t reduced_row(const ir::Graph& graph, const ir::Node& node) {
  const ReduceStep step = reduced(graph, node);
  return step.inner == 1 ? step.extent : 0;
}

int64_t reduced_columns(const ir::Graph& graph, const ir::Node& node) {
  const ReduceStep step = reduced(graph, node);
  return step.extent > 1 && step.inner > 1 ? step.inner : 0;
}

ReduceStep folded(const ir::Graph& graph, const ir::Node& node) {
  const ReduceStep step = reduced(graph, node);
  const bool all = step.inner == 1 && step.outer == 1 && step.extent > codegen::kMaxRow,
             columns = step.extent > 1 && step.inner >= kMinColumns && step.inner <= codegen::kMaxRow;
  return all || columns ? step : ReduceStep{1, 0, 1};
}

int64_t repeats(const ir::Graph& graph, const ir::Node& node) {
  if (node.op != &ops::reshape && node.op != &ops::broadcast_in_dim) return 0;
  const Shape &from = graph.type(graph.operands(node)[0]).shape, &to = graph.type(node.first_result).shape;
  if (!from.is_static() || !to.is_static() || from.count() == 0 || to.count() == 0) return 0;
  if (node.op == &ops::reshape) return 1;
  const int64_t times = to.count() / from.count();
  return repeats_rows(from, node.attrs.as<BroadcastAttrs>(), times) ? times : 0;
}

RowSpace::RowSpace(const ir::Graph& body) : per_row(body.values()), is_fold(body.values()), wrong(read(body)) {}

const char* RowSpace::find_rows(const ir::Graph& body) {
  fold = {1, 0, 1};
  count = body.values() > 0 ? body.type(0).shape.count() : 0;
  for (const ir::Node& node : body.nodes()) {
    const ReduceStep step = folded(body, node);
    if (step.extent > 0) {
      if (fold.extent > 0 && !(fold == step)) return "reductions of other shapes";
      fold = step;
      is_fold[node.first_result] = 1;
    } else if (const int64_t row = reduced_row(body, node); row > 1 && length == 1) {
      length = row;
    } else {
      continue;
    }
    count = body.type(body.operands(node)[0]).shape.count();
  }
  if (fold.extent > 0) {
    if (length > 1 && length != fold.inner) return "rows and columns of other lengths";
    length = of_columns(fold) ? fold.inner : math::kReduceBlock;
  }
  rows = (count + length - 1) / length;
  return nullptr;
}

const char* RowSpace::read(const ir::Graph& body) {
  if (const char* why = find_rows(body)) return why;
  for (ir::ValueId v = 0; v < body.values(); ++v) {
    if (is_fold[v] != 0) continue;
    const int64_t own = body.type(v).shape.count();
    per_row[v] = length > 1 && own == rows && rows * length == count ? 1 : 0;
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
  if (std::ranges::any_of(operands, [&](ir::ValueId v) { return is_fold[v] != 0; }))
    return "a call reads what is folded after the loop";
  if (is_fold[node.first_result] != 0) return per_row[operands[0]] == 0 ? nullptr : "a reduction is over other rows";
  if (clusters(*node.op)) return std::ranges::all_of(operands, like_result) ? nullptr : "operands differ in rows";
  if (reduce_kind(*node.op) >= 0)
    return length > 1 && reduced_row(body, node) == length ? nullptr : "a reduction is over other rows";
  const int64_t times = repeats(body, node);
  if (times == (like_result(operands.empty() ? node.first_result : operands[0]) ? 1 : length)) return nullptr;
  return "a call of the body neither computes by element nor over rows";
}

}  // namespace hone::compiler
