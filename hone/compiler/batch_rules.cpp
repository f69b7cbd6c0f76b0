#include "hone/compiler/batch_rules.h"

#include <algorithm>

#include "hone/ops/dot_axes.h"
#include "hone/ops/table.h"

namespace hone::compiler {

BatchRule::BatchRule(const ir::Graph& graph, const ir::Node& node, std::span<const BatchPlace> operands, Dim batch)
    : graph_(graph), node_(node), operands_(operands), batch_(batch) {}

bool BatchRule::only_first() const {
  return operands_[0].mapped() && std::ranges::none_of(operands_.subspan(1), &BatchPlace::mapped);
}

int BatchRule::symbolic_axis(const Shape& shape) {
  int found = -1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!shape[axis].is_number()) found = found == -1 ? axis : -2;
  }
  return found;
}

const char* BatchRule::at(BatchPlace place) {
  results_.assign(node_.results, place);
  return nullptr;
}

namespace {

bool whole(Dim low, Dim high, Dim extent) { return low == Dim(0) && high == extent; }

}  // namespace

// Rules by op. Each has at least one operand with examples, and results that depend on the batch size.
struct BatchRules {
  using Rule = const char* (*)(BatchRule&);

  // Operands broadcast like NumPy's: axes count from the last.
  static const char* elementwise(BatchRule& r) {
    const int rank = r.out().rank(), axis = BatchRule::symbolic_axis(r.out());
    BatchPlace place{axis, 0};
    for (size_t i = 0; i < r.operands_.size(); ++i) {
      const BatchPlace& operand = r.operands_[i];
      if (!operand.mapped()) continue;
      if (operand.axis + rank - r.in(i).rank() != axis || (place.outer != 0 && place.outer != operand.outer))
        return "its operands have the examples along different axes";
      place.outer = operand.outer;
    }
    return r.at(place);
  }

  static const char* barrier(BatchRule& r) {
    r.results_.assign(r.operands_.begin(), r.operands_.end());
    return nullptr;
  }

  static const char* reshape(BatchRule& r) {
    int64_t before = r.operands_[0].outer, behind = 1;
    for (int i = 0; i < r.operands_[0].axis; ++i) before *= r.in(0)[i].number();
    const int axis = BatchRule::symbolic_axis(r.out());
    for (int i = 0; i < axis; ++i) behind *= r.out()[i].number();
    const int64_t outer = behind == 0 ? 0 : before / behind;
    const int64_t extent = r.out()[axis].evaluate([](std::string_view) { return int64_t{1}; });
    if (outer == 0 || behind * outer != before || extent % outer != 0) return "it cuts rows across the examples";
    return r.at({axis, outer});
  }

  static const char* transpose(BatchRule& r) {
    const Ints& permutation = r.attrs<TransposeAttrs>().permutation;
    const auto at = std::ranges::find(permutation, r.operands_[0].axis);
    return r.at({static_cast<int>(at - permutation.begin()), r.operands_[0].outer});
  }

  static const char* broadcast(BatchRule& r) {
    const int64_t axis = r.attrs<BroadcastAttrs>().dimensions[static_cast<size_t>(r.operands_[0].axis)];
    if (axis != BatchRule::symbolic_axis(r.out())) return "it repeats examples";
    return r.at({static_cast<int>(axis), r.operands_[0].outer});
  }

  static const char* concatenate(BatchRule& r) {
    if (r.attrs<AxisAttrs>().axis == r.operands_[0].axis) return "it puts examples behind each other";
    for (const BatchPlace& each : r.operands_) {
      if (!(each == r.operands_[0])) return "its operands have the examples along different axes";
    }
    return r.at(r.operands_[0]);
  }

  static const char* slice(BatchRule& r) {
    const auto& attrs = r.attrs<SliceAttrs>();
    const auto axis = static_cast<size_t>(r.operands_[0].axis);
    if (!whole(attrs.start[axis], attrs.limit[axis], r.in(0)[axis]) || attrs.strides[axis] != 1)
      return "it takes some of the examples";
    return r.at(r.operands_[0]);
  }

  static const char* pad(BatchRule& r) {
    const auto& attrs = r.attrs<PadAttrs>();
    const auto axis = static_cast<size_t>(r.operands_[0].axis);
    if (!r.only_first()) return "what it pads with depends on an example";
    if (attrs.low[axis] != 0 || attrs.high[axis] != 0 || attrs.interior[axis] != 0) return "it adds examples";
    return r.at(r.operands_[0]);
  }

  static const char* reverse(BatchRule& r) {
    if (r.attrs<AxesAttrs>().axes.contains(r.operands_[0].axis)) return "it turns their order";
    return r.at(r.operands_[0]);
  }

  static const char* dynamic_slice(BatchRule& r) {
    const auto axis = static_cast<size_t>(r.operands_[0].axis);
    if (!r.only_first()) return "where it cuts depends on an example";
    return r.out()[axis] == r.in(0)[axis] ? r.at(r.operands_[0]) : "it takes some of the examples";
  }

  static const char* dynamic_update_slice(BatchRule& r) {
    const auto axis = static_cast<size_t>(r.operands_[0].axis);
    for (size_t i = 2; i < r.operands_.size(); ++i) {
      if (r.operands_[i].mapped()) return "where it writes depends on an example";
    }
    if (!(r.operands_[0] == r.operands_[1]) || !(r.in(0)[axis] == r.in(1)[axis])) return "it writes to some examples";
    return r.at(r.operands_[0]);
  }

  static const char* gather(BatchRule& r) {
    const auto& attrs = r.attrs<GatherAttrs>();
    const bool of_operand = r.operands_[0].mapped();
    if (of_operand && r.operands_[1].mapped()) return "each example gathers from itself";
    const BatchPlace& place = r.operands_[of_operand ? 0 : 1];
    int64_t ordinal = 0;  // of the axis among those that survive in its part of the result
    for (int i = 0; i < place.axis; ++i)
      ordinal += of_operand ? !attrs.collapsed_slice_dims.contains(i) : i != attrs.index_vector_dim;
    if (of_operand) {
      const auto axis = static_cast<size_t>(place.axis);
      if (!(attrs.slice_sizes[axis] == r.in(0)[axis]) || attrs.collapsed_slice_dims.contains(place.axis))
        return "it takes some of the examples";
      return r.at({static_cast<int>(attrs.offset_dims[static_cast<size_t>(ordinal)]), place.outer});
    }
    if (place.axis == attrs.index_vector_dim) return "the examples are parts of one index";
    for (int axis = 0; axis < r.out().rank(); ++axis) {
      if (!attrs.offset_dims.contains(axis) && ordinal-- == 0) return r.at({axis, place.outer});
    }
    return "its result has no axis for them";
  }

  static const char* reduce(BatchRule& r) {
    const Ints& axes = r.attrs<AxesAttrs>().axes;
    const BatchPlace& place = r.operands_[0];
    if (axes.contains(place.axis)) return "it reduces over the examples";
    const auto gone = std::ranges::count_if(axes, [&](int64_t axis) { return axis < place.axis; });
    return r.at({place.axis - static_cast<int>(gone), place.outer});
  }

  static const char* arg(BatchRule& r) {
    const auto axis = static_cast<int>(r.attrs<AxisAttrs>().axis);
    const BatchPlace& place = r.operands_[0];
    if (axis == place.axis) return "it compares the examples";
    return r.at({place.axis - (axis < place.axis ? 1 : 0), place.outer});
  }

  // Along one axis, for each place of the others.
  static const char* along(BatchRule& r, int64_t axis) {
    for (const BatchPlace& each : r.operands_) {
      if (each.mapped() && !(each == r.operands_[0])) return "its operands have the examples along different axes";
    }
    if (axis == r.operands_[0].axis) return "it goes along the examples";
    return r.at(r.operands_[0]);
  }
  static const char* cumulative(BatchRule& r) { return along(r, r.attrs<CumulativeAttrs>().axis); }
  static const char* sort(BatchRule& r) { return along(r, r.attrs<SortAttrs>().axis); }
  static const char* top_k(BatchRule& r) { return along(r, r.in(0).rank() - 1); }

  static const char* reduce_window(BatchRule& r) {
    const auto& attrs = r.attrs<WindowAttrs>();
    const auto axis = static_cast<size_t>(r.operands_[0].axis);
    if (!r.only_first()) return "what it begins with depends on an example";
    if (attrs.window[axis] != 1 || attrs.strides[axis] != 1 || attrs.low[axis] != 0 || attrs.high[axis] != 0 ||
        attrs.base_dilation[axis] != 1)
      return "its window reaches over examples";
    return r.at(r.operands_[0]);
  }

  static const char* product(BatchRule& r, const DotAttrs& attrs) {
    const BatchPlace &a = r.operands_[0], &b = r.operands_[1];
    if (r.operands_.size() > 2 && r.operands_[2].mapped()) return "its bias depends on an example";
    const auto place_in = [](const Ints& axes, int axis) { return std::ranges::find(axes, axis) - axes.begin(); };
    const auto batching = static_cast<int64_t>(attrs.lhs_batch.size());
    const Ints free_a = free_axes(r.in(0).rank(), attrs.lhs_batch, attrs.lhs_contract);
    const Ints free_b = free_axes(r.in(1).rank(), attrs.rhs_batch, attrs.rhs_contract);
    if (a.mapped() && b.mapped()) {
      const auto at = place_in(attrs.lhs_batch, a.axis);
      if (at == batching || at != place_in(attrs.rhs_batch, b.axis) || a.outer != b.outer)
        return "it multiplies examples with each other";
      return r.at({static_cast<int>(at), a.outer});
    }
    const auto at = a.mapped() ? batching + place_in(free_a, a.axis)
                               : batching + static_cast<int64_t>(free_a.size()) + place_in(free_b, b.axis);
    if (a.mapped() ? !free_a.contains(a.axis) : !free_b.contains(b.axis)) return "it sums over the examples";
    return r.at({static_cast<int>(at), a.mapped() ? a.outer : b.outer});
  }
  static const char* dot(BatchRule& r) { return product(r, r.attrs<DotAttrs>()); }
  static const char* dense(BatchRule& r) { return product(r, dense_as_dot(r.in(0).rank())); }

  static const char* convolution(BatchRule& r) {
    if (!r.only_first()) return "its weights depend on an example";
    return r.operands_[0].axis == 0 ? r.at(r.operands_[0]) : "the examples are no axis of their own";
  }

  static Rule of(const Op& op) {
    if (op.op_class == OpClass::Elementwise) return elementwise;
    struct Row {
      const Op* op;
      Rule rule;
    };
    static const Row rows[] = {
        {&ops::identity, elementwise},
        {&ops::stop_gradient, elementwise},
        {&ops::optimization_barrier, barrier},
        {&ops::reshape, reshape},
        {&ops::transpose, transpose},
        {&ops::broadcast_in_dim, broadcast},
        {&ops::concatenate, concatenate},
        {&ops::slice, slice},
        {&ops::pad, pad},
        {&ops::reverse, reverse},
        {&ops::dynamic_slice, dynamic_slice},
        {&ops::dynamic_update_slice, dynamic_update_slice},
        {&ops::gather, gather},
        {&ops::reduce_sum, reduce},
        {&ops::reduce_prod, reduce},
        {&ops::reduce_max, reduce},
        {&ops::reduce_min, reduce},
        {&ops::reduce_and, reduce},
        {&ops::reduce_or, reduce},
        {&ops::argmax, arg},
        {&ops::argmin, arg},
        {&ops::cumulative, cumulative},
        {&ops::sort, sort},
        {&ops::top_k, top_k},
        {&ops::reduce_window, reduce_window},
        {&ops::dot_general, dot},
        {&ops::dense, dense},
        {&ops::convolution, convolution},
    };
    const auto* const row = std::ranges::find(rows, &op, &Row::op);
    return row == std::end(rows) ? nullptr : row->rule;
  }

  // Results of calls without examples that have the batch size: the same for all where they repeat an element.
  static const char* creation(BatchRule& r) {
    const int axis = BatchRule::symbolic_axis(r.out());
    const Op& op = *r.node_.op;
    const bool repeats = &op == &ops::constant || (&op == &ops::iota && r.attrs<IotaAttrs>().axis != axis) ||
                         (&op == &ops::broadcast_in_dim && !r.attrs<BroadcastAttrs>().dimensions.contains(axis));
    return repeats ? r.at({axis, 1}) : "it tells the examples apart by their numbers";
  }
};

bool has_batch_rule(const Op& op) { return BatchRules::of(op) != nullptr; }

const char* BatchRule::run() {
  const bool examples = std::ranges::any_of(operands_, &BatchPlace::mapped);
  int with_batch = 0;
  for (uint32_t i = 0; i < node_.results; ++i) {
    const int axis = symbolic_axis(out(i));
    if (axis == -2) return "a result has two extents that depend on the batch size";
    if (axis >= 0 &&
        !(out(i)[axis] == batch_ * Dim(out(i)[axis].evaluate([](std::string_view) { return int64_t{1}; }))))
      return "an extent is no multiple of the batch size";
    with_batch += axis >= 0 ? 1 : 0;
  }
  if (!examples) return with_batch > 0 ? BatchRules::creation(*this) : at({});
  if (with_batch != static_cast<int>(node_.results) && node_.op != &ops::optimization_barrier)
    return "a result is one for all examples";
  const BatchRules::Rule rule = BatchRules::of(*node_.op);
  if (!rule) return "nothing is known of it";
  const bool first = operands_[0].mapped() || rule == BatchRules::elementwise || rule == BatchRules::gather ||
                     rule == BatchRules::dot || rule == BatchRules::dense || rule == BatchRules::barrier;
  return first ? rule(*this) : "only what it is done with depends on the examples";
}

}  // namespace hone::compiler
