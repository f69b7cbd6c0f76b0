#include "hone/backend/cpu/gemm_plan.h"

#include "hone/ops/box.h"
#include "hone/ops/dot_axes.h"
#include "hone/ops/table.h"
#include "hone/ops/views.h"

namespace hone {
namespace {

/// One axis of a loop nest: strides in a and b (0 where the operand lacks it).
struct Axis {
  int64_t extent, a, b;
};
using AxisList = FixedVector<Axis, kMaxRank>;

// Appends an axis; extents of 1 vanish, neighbours that one stride walks become one.
void append(AxisList& list, Axis axis) {
  if (axis.extent == 1) return;
  if (!list.empty()) {
    Axis& last = list.back();
    if (last.a == axis.extent * axis.a && last.b == axis.extent * axis.b) {
      last = {last.extent * axis.extent, axis.a, axis.b};
      return;
    }
  }
  list.push_back(axis);
}

struct Nest {
  AxisList batch, rows, columns, terms;
};

/// Shape and strides of an operand.
struct View {
  Shape shape;
  Ints strides;
  int rank() const { return shape.rank(); }
};

Nest nest_of(const View& a, const View& b, const DotAttrs& attrs) {
  const Ints &sa = a.strides, &sb = b.strides;
  const auto at = [](int64_t axis) { return static_cast<size_t>(axis); };
  Nest nest;
  for (size_t i = 0; i < attrs.lhs_batch.size(); ++i) {
    const size_t x = at(attrs.lhs_batch[i]), y = at(attrs.rhs_batch[i]);
    append(nest.batch, {a.shape[x].number(), sa[x], sb[y]});
  }
  for (int64_t axis : free_axes(a.rank(), attrs.lhs_batch, attrs.lhs_contract))
    append(nest.rows, {a.shape[at(axis)].number(), sa[at(axis)], 0});
  for (int64_t axis : free_axes(b.rank(), attrs.rhs_batch, attrs.rhs_contract))
    append(nest.columns, {b.shape[at(axis)].number(), 0, sb[at(axis)]});
  // The order of terms is free to choose: that of a's axes.
  for (int64_t axis = 0; axis < a.rank(); ++axis) {
    for (size_t i = 0; i < attrs.lhs_contract.size(); ++i) {
      if (attrs.lhs_contract[i] == axis)
        append(nest.terms, {a.shape[at(axis)].number(), sa[at(axis)], sb[at(attrs.rhs_contract[i])]});
    }
  }
  return nest;
}

int64_t product(const AxisList& list) {
  int64_t n = 1;
  for (const Axis& axis : list) n *= axis.extent;
  return n;
}

GemmPlan plan_of(const Nest& nest) {
  GemmPlan plan;
  const int64_t columns = product(nest.columns), rows = product(nest.rows);
  int64_t c_stride = rows * columns;
  for (size_t i = nest.batch.size(); i-- > 0;) {  // innermost first to find the strides of c
    plan.loops.push_back({nest.batch[i].extent, nest.batch[i].a, nest.batch[i].b, c_stride});
    c_stride *= nest.batch[i].extent;
  }
  c_stride = columns;
  for (size_t i = nest.rows.size(); i-- > 0; c_stride *= nest.rows[i].extent) {
    if (i + 1 == nest.rows.size())
      plan.m = nest.rows[i].extent, plan.a_row = nest.rows[i].a, plan.c_row = c_stride;
    else
      plan.loops.push_back({nest.rows[i].extent, nest.rows[i].a, 0, c_stride});
  }
  c_stride = 1;
  for (size_t i = nest.columns.size(); i-- > 0; c_stride *= nest.columns[i].extent) {
    if (i + 1 == nest.columns.size())
      plan.n = nest.columns[i].extent, plan.b_column = nest.columns[i].b;
    else
      plan.loops.push_back({nest.columns[i].extent, 0, nest.columns[i].b, c_stride});
  }
  if (nest.rows.empty()) plan.c_row = columns;
  if (!nest.terms.empty())
    plan.k = nest.terms.back().extent, plan.a_k = nest.terms.back().a, plan.b_k = nest.terms.back().b;
  for (const GemmPlan::Loop& loop : plan.loops) plan.count *= loop.extent;
  return plan;
}

/// A matrix that BLAS reads: a unit stride along one axis, and the other at least as long.
bool readable(int64_t rows, int64_t columns, int64_t row, int64_t column) {
  return ((columns == 1 || column == 1) && (rows == 1 || row >= columns)) ||
         ((rows == 1 || row == 1) && (columns == 1 || column >= rows));
}

// Packs `x`, which becomes what it is packed to.
GemmPacking pack(View& x, DType dtype, const Ints& batch, const Ints& first, const Ints& second) {
  GemmPacking packing{{dtype, {}}, {}};
  for (const Ints* axes : {&batch, &first, &second}) {
    for (int64_t axis : *axes) {
      packing.type.shape.push_back(x.shape[static_cast<size_t>(axis)]);
      packing.strides.push_back(x.strides[static_cast<size_t>(axis)]);
    }
  }
  x.shape = packing.type.shape;
  x.strides = Ints(packing.strides.size(), 1);
  for (size_t i = x.strides.size(); i-- > 1;) x.strides[i - 1] = x.strides[i] * x.shape[i].number();
  return packing;
}

Ints range(size_t from, size_t count) {
  Ints axes;
  for (size_t i = from; i < from + count; ++i) axes.push_back(static_cast<int64_t>(i));
  return axes;
}

}  // namespace

GemmLayout layout_gemm(const Op& op, AttrRef attributes, std::span<const Tensor> inputs, bool unit_strides) {
  const DType dtype = inputs[0].dtype();
  View a{inputs[0].shape(), strides_of(inputs[0])}, b{inputs[1].shape(), strides_of(inputs[1])};
  DotAttrs attrs = &op == &ops::dense ? dense_as_dot(a.rank()) : attributes.as<DotAttrs>();
  Nest nest = nest_of(a, b, attrs);
  GemmLayout layout{plan_of(nest), {}, {}};
  const GemmPlan& p = layout.plan;
  bool a_fits = false, b_fits = false;
  const auto look = [&] {
    const bool one_k = nest.terms.size() <= 1;
    a_fits = one_k && (!unit_strides || readable(p.m, p.k, p.a_row, p.a_k));
    b_fits = one_k && (!unit_strides || readable(p.k, p.n, p.b_k, p.b_column));
    return a_fits && b_fits;
  };
  if (look()) return layout;
  if (unit_strides) {  // a dense copy, if that fits: the library's bits depend on which way it reads an operand
    const View strided_a = a, strided_b = b;
    if (!a_fits) a.strides = dense_strides(a.shape);
    if (!b_fits) b.strides = dense_strides(b.shape);
    const bool copies_a = a.strides != strided_a.strides, copies_b = b.strides != strided_b.strides;
    nest = nest_of(a, b, attrs);
    layout.plan = plan_of(nest);
    look();
    if (copies_a && a_fits) layout.a = GemmPacking{{dtype, a.shape}, strided_a.strides};
    if (copies_b && b_fits) layout.b = GemmPacking{{dtype, b.shape}, strided_b.strides};
    if (a_fits && b_fits) return layout;
    if (!a_fits) a = strided_a;
    if (!b_fits) b = strided_b;
  }
  const size_t batches = attrs.lhs_batch.size(), terms = attrs.lhs_contract.size();
  if (!a_fits) {
    const Ints rows = free_axes(a.rank(), attrs.lhs_batch, attrs.lhs_contract);
    layout.a = pack(a, dtype, attrs.lhs_batch, rows, attrs.lhs_contract);
    attrs.lhs_batch = range(0, batches);
    attrs.lhs_contract = range(batches + rows.size(), terms);
  }
  if (!b_fits) {
    const Ints columns = free_axes(b.rank(), attrs.rhs_batch, attrs.rhs_contract);
    layout.b = pack(b, dtype, attrs.rhs_batch, attrs.rhs_contract, columns);
    attrs.rhs_batch = range(0, batches);
    attrs.rhs_contract = range(batches, terms);
  }
  layout.plan = plan_of(nest_of(a, b, attrs));
  return layout;
}

Gemm plan_gemm(const KernelCall& call, bool unit_strides) {
  const GemmLayout layout = layout_gemm(call.op, call.attrs, call.inputs, unit_strides);
  const auto operand = [&](const std::optional<GemmPacking>& packing, size_t i) {
    const Tensor& x = call.inputs[i];
    return packing ? x.alias(packing->type, packing->strides).dense() : x;
  };
  return {layout.plan, operand(layout.a, 0), operand(layout.b, 1)};
}

math::ProductParams product_params(const GemmPlan& plan, bool bias) {
  using math::ProductParams;
  ProductParams p{.loop_count = static_cast<int32_t>(plan.loops.size()),
                  .bias = bias,
                  .m = plan.m,
                  .n = plan.n,
                  .k = plan.k,
                  .a_row = plan.a_row,
                  .a_k = plan.a_k,
                  .b_k = plan.b_k,
                  .b_column = plan.b_column,
                  .c_row = plan.c_row};
  static_assert(ProductParams::kMaxLoops >= 2 * kMaxRank);
  for (size_t i = 0; i < plan.loops.size(); ++i)
    p.loops[i] = {plan.loops[i].extent, plan.loops[i].a, plan.loops[i].b, plan.loops[i].c};
  return p;
}

namespace {

// Copies an operand into a temporary, in the order that its matrices need.
WorkMemory pack(Works& works, const GemmPacking& packing, int32_t operand) {
  Box box{{}, {}, packing.strides};
  for (int i = 0; i < packing.type.shape.rank(); ++i) box.size.push_back(packing.type.shape[i].number());
  box.to = Ints(box.size.size(), 1);
  for (size_t i = box.to.size(); i-- > 1;) box.to[i - 1] = box.to[i] * box.size[i];
  const size_t item = size_of(packing.type.dtype);
  const WorkMemory packed{WorkMemory::Temporary, static_cast<int32_t>(works.temporaries.size()), 0};
  works.temporaries.push_back(packing.type.shape.count() * static_cast<int64_t>(item));
  works.works.push_back(box_work(box, item, {WorkMemory::Input, operand}, packed));
  return packed;
}

}  // namespace

SmallVector<WorkMemory, 4> product_operands(Works& works, const KernelQuery& query, const GemmLayout& layout) {
  const auto operand = [&](int32_t i, const std::optional<GemmPacking>& packing) {
    return packing ? pack(works, *packing, i) : WorkMemory{WorkMemory::Input, i};
  };
  SmallVector<WorkMemory, 4> memory;
  memory.push_back(operand(0, layout.a));
  memory.push_back(operand(1, layout.b));
  memory.push_back({WorkMemory::Output, 0});
  if (query.inputs.size() < 3) return memory;
  const Tensor& bias = query.inputs[2];
  memory.push_back(bias.layout().dense ? WorkMemory{WorkMemory::Input, 2}
                                       : pack(works, {bias.type(), bias.layout().strides}, 2));
  return memory;
}

}  // namespace hone
