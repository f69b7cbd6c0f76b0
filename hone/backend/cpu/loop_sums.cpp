// Small products and reductions as steps of a loop, in the order of docs/numerics.md.
#include <array>

#include "hone/backend/cpu/in_f32.h"
#include "hone/backend/cpu/loop_steps.h"
#include "hone/ops/attrs.h"
#include "hone/ops/dot_axes.h"
#include "hone/ops/table.h"

namespace hone {
namespace {

using codegen::LoopStep;

// Where an operand's axes lie among those of the result, or which is the sum's.
struct Walk {
  Ints extents, strides;  // of the batch and the free axes, outer first
  Ints sum_extents, sum_strides;
};

Walk walk(const Shape& shape, const Ints& batch, const Ints& contract) {
  Ints strides;
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides.insert(0, stride);
    stride *= shape[axis].number();
  }
  Walk w;
  const auto add = [&](const Ints& axes, Ints& extents, Ints& to) {
    for (const int64_t axis : axes) {
      extents.push_back(shape[static_cast<size_t>(axis)].number());
      to.push_back(strides[static_cast<size_t>(axis)]);
    }
  };
  add(batch, w.extents, w.strides);
  add(free_axes(static_cast<int>(shape.size()), batch, contract), w.extents, w.strides);
  add(contract, w.sum_extents, w.sum_strides);
  return w;
}

int64_t product_of(std::span<const int64_t> extents) {
  int64_t n = 1;
  for (const int64_t extent : extents) n *= extent;
  return n;
}

// Offset of element i of these extents.
int64_t offset(int64_t i, std::span<const int64_t> extents, std::span<const int64_t> strides) {
  int64_t at = 0;
  for (size_t axis = extents.size(); axis-- > 0;) {
    at += i % extents[axis] * strides[axis];
    i /= extents[axis];
  }
  return at;
}
std::span<const int64_t> all(const Ints& list) { return {list.data(), list.size()}; }

}  // namespace

// Terms in ascending order into one accumulator an element, from +0. The shapes are the node's: a value that went
// through `reshape` is the same value here.
int LoopSteps::product(const Factor& lhs, const Factor& rhs, const DotAttrs& attrs, const TensorType& type) {
  const Walk a = walk(*lhs.shape, attrs.lhs_batch, attrs.lhs_contract),
             b = walk(*rhs.shape, attrs.rhs_batch, attrs.rhs_contract);
  const size_t batches = attrs.lhs_batch.size();
  const int64_t batch = product_of(all(a.extents).first(batches)), m = product_of(all(a.extents).subspan(batches)),
                n = product_of(all(b.extents).subspan(batches)), terms = product_of(all(a.sum_extents));
  int sum = filled(type, 0);
  for (int64_t k = 0; k < terms; ++k) {
    const int64_t a_k = offset(k, all(a.sum_extents), all(a.sum_strides)),
                  b_k = offset(k, all(b.sum_extents), all(b.sum_strides));
    std::vector<int64_t> of_a, of_b;
    for (int64_t i = 0; i < batch * m * n; ++i) {
      const int64_t at_batch = i / (m * n);
      of_a.push_back(offset(at_batch * m + i / n % m, all(a.extents), all(a.strides)) + a_k);
      of_b.push_back(offset(at_batch * n + i % n, all(b.extents), all(b.strides)) + b_k);
    }
    const int left[] = {lhs.value}, right[] = {rhs.value};
    const int three[] = {pick(left, of_a, type), pick(right, of_b, type), sum};
    sum = call(LoopStep::kFma, three, type.dtype, type);
  }
  return sum;
}

const char* LoopSteps::contract(const ir::Graph& graph, const ir::Node& node, std::span<int> places) {
  const std::span<const ir::ValueId> operands = graph.operands(node);
  const TensorType& type = graph.type(node.first_result);
  for (const ir::ValueId operand : operands) {
    if (graph.type(operand).dtype != type.dtype || type.dtype == bool_)
      return "the body has a product of mixed types or of bool";
  }
  const bool dense = node.op == &ops::dense;
  const DotAttrs attrs = dense ? dense_as_dot(graph.type(operands[0]).shape.rank()) : node.attrs.as<DotAttrs>();
  const DType in = is_half(type.dtype) ? f32 : type.dtype;
  const auto factor = [&](size_t i) {
    return Factor{convert(places[operands[i]], in), &graph.type(operands[i]).shape};
  };
  int result = product(factor(0), factor(1), attrs, {in, type.shape});
  if (operands.size() == 3) {  // the bias, last
    const int bias[] = {convert(places[operands[2]], in)};
    std::vector<int64_t> columns;
    for (int64_t i = 0; i < type.shape.count(); ++i) columns.push_back(i % count(bias[0]));
    const int both[] = {result, pick(bias, columns, {in, type.shape})};
    result = row(ops::add, both, {in, type.shape});
  }
  places[node.first_result] = convert(result, type.dtype);
  return nullptr;
}

// [outer, extent, inner] without its middle. Of contiguous elements, accumulators (64; here one each) fold in halves;
// rows are combined one after the other.
int LoopSteps::fold(const Op& combine, int v, int64_t outer, int64_t extent, int64_t inner) {
  const DType dtype = this->dtype(v);
  const auto part = [&](int of, int64_t stride, int64_t begin, int64_t n) {
    std::vector<int64_t> places;
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < n; ++i) places.push_back(o * stride + begin + i);
    }
    const int operand[] = {of};
    return pick(operand, places, {dtype, {outer * n}});
  };
  const auto combined = [&](int a, int b) {
    const int both[] = {a, b};
    return row(combine, both, values_[at(a)].type);
  };
  if (inner > 1) {
    int sum = part(v, extent * inner, 0, inner);
    for (int64_t r = 1; r < extent; ++r) sum = combined(sum, part(v, extent * inner, r * inner, inner));
    return sum;
  }
  for (int64_t half = codegen::kLoopElements / 2; half > 0; half /= 2) {
    if (extent <= half) continue;
    const int64_t pairs = extent - half;
    int folded = combined(part(v, extent, 0, pairs), part(v, extent, half, pairs));
    if (pairs < half) {  // the others have no partner
      std::vector<int64_t> places;
      for (int64_t o = 0; o < outer; ++o) {
        for (int64_t i = 0; i < half; ++i) places.push_back(i < pairs ? o * pairs + i : outer * pairs + o * extent + i);
      }
      const int both[] = {folded, v};
      folded = pick(both, places, {dtype, {outer * half}});
    }
    v = folded, extent = half;
  }
  return v;
}

const char* LoopSteps::reduce(const ir::Graph& graph, const ir::Node& node, std::span<int> places) {
  constexpr std::array<std::pair<const Op*, const Op*>, 6> kCombine = {{{&ops::reduce_sum, &ops::add},
                                                                        {&ops::reduce_prod, &ops::multiply},
                                                                        {&ops::reduce_max, &ops::maximum},
                                                                        {&ops::reduce_min, &ops::minimum},
                                                                        {&ops::reduce_and, &ops::and_},
                                                                        {&ops::reduce_or, &ops::or_}}};
  const Op* combine = nullptr;
  for (const auto& [op, with] : kCombine) combine = node.op == op ? with : combine;
  const ir::ValueId operand = graph.operands(node)[0];
  const TensorType &from = graph.type(operand), &to = graph.type(node.first_result);
  if (!combine || from.dtype != to.dtype || (to.dtype == bool_ && combine != &ops::and_ && combine != &ops::or_))
    return "not a reduction by pairs";
  struct Group {
    int64_t extent;
    bool reduced;
  };
  std::vector<Group> groups;  // outer first; neighbours of a kind joined
  for (size_t axis = 0; axis < from.shape.size(); ++axis) {
    const int64_t extent = from.shape[axis].number();
    const bool reduced = node.attrs.as<AxesAttrs>().axes.contains(static_cast<int64_t>(axis));
    if (extent == 1) continue;
    if (!groups.empty() && groups.back().reduced == reduced)
      groups.back().extent *= extent;
    else
      groups.push_back({extent, reduced});
  }
  int v = convert(places[operand], is_half(from.dtype) ? f32 : from.dtype);
  int64_t inner = 1;
  for (size_t g = groups.size(); g-- > 0;) {
    if (!groups[g].reduced) {
      inner *= groups[g].extent;
      continue;
    }
    v = fold(*combine, v, count(v) / (groups[g].extent * inner), groups[g].extent, inner);
  }
  places[node.first_result] = convert(v, to.dtype);
  return nullptr;
}

}  // namespace hone
