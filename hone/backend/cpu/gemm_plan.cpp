#include "hone/backend/cpu/gemm_plan.h"

#include "hone/ops/dot_axes.h"
#include "hone/ops/table.h"

namespace hone {
namespace {

/// One axis of a loop nest: strides in a and b (0 where the operand lacks it).
struct Axis {
  int64_t extent, a, b;
};
using AxisList = FixedVector<Axis, kMaxRank>;

Ints strides_of(const Tensor& x) {
  if (!x.layout().dense) return x.layout().strides;
  Ints strides(static_cast<size_t>(x.rank()), 1);
  for (size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * x.shape()[i].number();
  return strides;
}

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

Nest nest_of(const Tensor& a, const Tensor& b, const DotAttrs& attrs) {
  const Ints sa = strides_of(a), sb = strides_of(b);
  const auto at = [](int64_t axis) { return static_cast<size_t>(axis); };
  Nest nest;
  for (size_t i = 0; i < attrs.lhs_batch.size(); ++i) {
    const size_t x = at(attrs.lhs_batch[i]), y = at(attrs.rhs_batch[i]);
    append(nest.batch, {a.shape()[x].number(), sa[x], sb[y]});
  }
  for (int64_t axis : free_axes(a.rank(), attrs.lhs_batch, attrs.lhs_contract))
    append(nest.rows, {a.shape()[at(axis)].number(), sa[at(axis)], 0});
  for (int64_t axis : free_axes(b.rank(), attrs.rhs_batch, attrs.rhs_contract))
    append(nest.columns, {b.shape()[at(axis)].number(), 0, sb[at(axis)]});
  // The order of terms is free to choose: that of a's axes.
  for (int64_t axis = 0; axis < a.rank(); ++axis) {
    for (size_t i = 0; i < attrs.lhs_contract.size(); ++i) {
      if (attrs.lhs_contract[i] == axis)
        append(nest.terms, {a.shape()[at(axis)].number(), sa[at(axis)], sb[at(attrs.rhs_contract[i])]});
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

Tensor packed(const Tensor& x, const Ints& batch, const Ints& first, const Ints& second) {
  const Ints strides = strides_of(x);
  TensorType type{x.dtype(), {}};
  Ints order;
  for (const Ints* axes : {&batch, &first, &second}) {
    for (int64_t axis : *axes) {
      type.shape.push_back(x.shape()[static_cast<size_t>(axis)]);
      order.push_back(strides[static_cast<size_t>(axis)]);
    }
  }
  return x.alias(type, order).dense();
}

Ints range(size_t from, size_t count) {
  Ints axes;
  for (size_t i = from; i < from + count; ++i) axes.push_back(static_cast<int64_t>(i));
  return axes;
}

}  // namespace

Gemm plan_gemm(const KernelCall& call, bool unit_strides) {
  Gemm gemm{{}, call.inputs[0], call.inputs[1]};
  DotAttrs attrs = &call.op == &ops::dense ? dense_as_dot(gemm.a.rank()) : call.attrs.as<DotAttrs>();
  Nest nest = nest_of(gemm.a, gemm.b, attrs);
  gemm.plan = plan_of(nest);
  const GemmPlan& p = gemm.plan;
  const bool one_k = nest.terms.size() <= 1;
  const bool a_fits = one_k && (!unit_strides || readable(p.m, p.k, p.a_row, p.a_k));
  const bool b_fits = one_k && (!unit_strides || readable(p.k, p.n, p.b_k, p.b_column));
  if (a_fits && b_fits) return gemm;
  const size_t batches = attrs.lhs_batch.size(), terms = attrs.lhs_contract.size();
  if (!a_fits) {
    const Ints rows = free_axes(gemm.a.rank(), attrs.lhs_batch, attrs.lhs_contract);
    gemm.a = packed(gemm.a, attrs.lhs_batch, rows, attrs.lhs_contract);
    attrs.lhs_batch = range(0, batches);
    attrs.lhs_contract = range(batches + rows.size(), terms);
  }
  if (!b_fits) {
    const Ints columns = free_axes(gemm.b.rank(), attrs.rhs_batch, attrs.rhs_contract);
    gemm.b = packed(gemm.b, attrs.rhs_batch, attrs.rhs_contract, columns);
    attrs.rhs_batch = range(0, batches);
    attrs.rhs_contract = range(batches, terms);
  }
  gemm.plan = plan_of(nest_of(gemm.a, gemm.b, attrs));
  return gemm;
}

}  // namespace hone
