// Tensor::operator[]: NumPy's basic indexing as slice, reverse and reshape, and selection by a mask as gather.
#include <fmt/format.h>

#include "hone/base/error.h"
#include "hone/ops/attrs.h"
#include "hone/ops/movement.h"
#include "hone/ops/table.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

[[noreturn]] void fail(Code code, std::string what, const Tensor& x, Location location, std::string fix) {
  throw Error(code, {.what = std::move(what),
                     .location = LocationScope::resolve(location),
                     .details = {"x: " + to_string(x.type())},
                     .fix = std::move(fix)});
}

// What an index expression comes to: a slice, the axes to turn round, and the shape after dropping and adding axes.
struct Plan {
  SliceAttrs slice;
  AxesAttrs turned;
  Shape shape;
  bool cut = false, reshaped = false;
};

// A bound as Python reads it: negative counts from the end, then clipped to [low, high].
Dim bound(int64_t value, Dim n, Dim low, Dim high) {
  const Dim at = value < 0 ? n + value : Dim(value);
  return min(max(at, low), high);
}

Dim quotient_up(Dim length, int64_t step) { return step == 1 ? length : floor_div(length + (step - 1), step); }

void plan_number(Plan& plan, const Tensor& x, int axis, const Index& index) {
  const Dim n = x.shape()[axis], at = index.number < 0 ? n + index.number : Dim(index.number), rest = n - at - 1;
  if (at.max() < 0 || rest.max() < 0) {
    fail(Code::kOutOfRange, fmt::format("index {} is out of range for axis {}", index.number, axis), x, index.location,
         n == Dim(0) ? "the axis is empty" : fmt::format("use an index in [-{}, {}]", to_string(n), to_string(n - 1)));
  }
  plan.slice.start.push_back(at);
  plan.slice.limit.push_back(at + 1);
  plan.slice.strides.push_back(1);
  plan.cut = plan.reshaped = true;
}

void plan_slice(Plan& plan, const Tensor& x, int axis, const Index& index) {
  const Dim n = x.shape()[axis];
  const Slice& s = index.slice;
  if (s.step == 0)
    fail(Code::kInvalidArgument, fmt::format("slice step 0 on axis {}", axis), x, index.location,
         "use a step other than 0");
  if (s.step == INT64_MIN)
    fail(Code::kInvalidArgument, fmt::format("slice step {} on axis {}", s.step, axis), x, index.location,
         "use a smaller step");
  const int64_t step = s.step < 0 ? -s.step : s.step;
  Dim start, limit, count;
  if (s.step > 0) {
    start = s.start ? bound(*s.start, n, 0, n) : Dim(0);
    limit = max(s.stop ? bound(*s.stop, n, 0, n) : n, start);
    count = quotient_up(limit - start, step);
  } else {  // the same elements in ascending order, then turned round
    const Dim first = s.start ? bound(*s.start, n, -1, n - 1) : n - 1,
              stop = s.stop ? bound(*s.stop, n, -1, n - 1) : Dim(-1);
    count = quotient_up(max(first - stop, 0), step);
    if (count == Dim(0)) {
      start = limit = 0;
    } else {
      limit = first + 1;
      start = first - (count - 1) * step;
    }
    if (!(count == Dim(0)) && !(count == Dim(1))) plan.turned.axes.push_back(axis);
  }
  plan.cut = plan.cut || !(start == Dim(0)) || !(limit == n) || step != 1;
  plan.slice.start.push_back(start);
  plan.slice.limit.push_back(limit);
  plan.slice.strides.push_back(step);
  plan.shape.push_back(count);
}

Plan make_plan(const Tensor& x, std::span<const Index> indices) {
  int named = 0, ellipses = 0;
  for (const Index& index : indices) {
    named += index.kind == Index::Kind::Number || index.kind == Index::Kind::Slice;
    ellipses += index.kind == Index::Kind::Ellipsis;
  }
  const Location location = indices.empty() ? Location{} : indices[0].location;
  if (named > x.rank()) {
    fail(Code::kOutOfRange, fmt::format("{} indices for a tensor of rank {}", named, x.rank()), x, location,
         "use at most one index an axis");
  }
  if (ellipses > 1) fail(Code::kInvalidArgument, "several ellipses in an index", x, location, "use one");
  Plan plan;
  int axis = 0;
  const auto keep = [&](int count) {
    for (; count > 0; --count, ++axis) {
      plan.slice.start.push_back(0);
      plan.slice.limit.push_back(x.shape()[axis]);
      plan.slice.strides.push_back(1);
      plan.shape.push_back(x.shape()[axis]);
    }
  };
  for (const Index& index : indices) {
    switch (index.kind) {
      case Index::Kind::Number:
        plan_number(plan, x, axis++, index);
        break;
      case Index::Kind::Slice:
        plan_slice(plan, x, axis++, index);
        break;
      case Index::Kind::Ellipsis:
        keep(x.rank() - named);
        break;
      case Index::Kind::NewAxis:
        plan.shape.push_back(1);
        plan.reshaped = true;
        break;
    }
  }
  keep(x.rank() - axis);
  return plan;
}

Tensor apply(const Tensor& x, std::span<const Index> indices) {
  const Location location = indices.empty() ? Location{} : indices[0].location;
  if (!x.defined()) {
    throw Error(Code::kFailedPrecondition,
                {.what = "indexing a tensor that was never set", .location = LocationScope::resolve(location)});
  }
  const Plan plan = make_plan(x, indices);
  Tensor y = x;
  if (plan.cut) y = call_op(ops::slice, plan.slice, location, std::move(y));
  if (!plan.turned.axes.empty()) y = call_op(ops::reverse, plan.turned, location, std::move(y));
  if (plan.reshaped) y = call_op(ops::reshape, ShapeAttrs{plan.shape}, location, std::move(y));
  return y;
}

// Flat positions of the true elements.
Tensor true_positions(const Tensor& mask) {
  const std::span<const bool> flags = mask.data<bool>();
  int64_t count = 0;
  for (bool flag : flags) count += flag;
  const Tensor positions = Tensor::empty({i64, {count}});
  auto* to = static_cast<int64_t*>(static_cast<void*>(positions.mutable_bytes()));
  for (size_t i = 0; i < flags.size(); ++i) {
    if (flags[i]) *to++ = static_cast<int64_t>(i);
  }
  return positions;
}

}  // namespace

Tensor Tensor::operator[](const Index& index) const { return apply(*this, {&index, 1}); }

Tensor Tensor::operator[](std::initializer_list<Index> indices) const {
  return apply(*this, {indices.begin(), indices.size()});
}

Tensor Tensor::operator[](const Mask& index) const {
  const LocationScope scope(index.location);
  const Tensor& mask = index.tensor;
  if (!defined() || !mask.defined()) {
    throw Error(Code::kFailedPrecondition,
                {.what = "indexing with a tensor that was never set", .location = LocationScope::resolve({})});
  }
  if (mask.dtype() != bool_) {
    fail(Code::kInvalidArgument, fmt::format("a tensor of {} as index", to_string(mask.type())), *this, {},
         "index with a bool mask (x[x > 0]), or take(x, indices)");
  }
  bool fits = mask.rank() <= rank();
  for (int i = 0; fits && i < mask.rank(); ++i) fits = mask.shape()[i] == shape()[i];
  if (!fits) {
    fail(Code::kInvalidArgument, fmt::format("a mask of shape {} does not fit", to_string(mask.shape())), *this, {},
         "the mask's axes are the first axes of x");
  }
  if (!mask.concrete()) {
    fail(Code::kFailedPrecondition, "selection by a mask inside a trace: the number of elements is not known", *this,
         {}, "use where(mask, x, 0), or select outside the traced function");
  }
  Shape rows{1}, slice{1};
  for (int i = 0; i < rank(); ++i) {
    if (i < mask.rank())
      rows[0] = rows[0] * shape()[i];
    else
      rows.push_back(shape()[i]), slice.push_back(shape()[i]);
  }
  const Tensor positions = true_positions(mask);
  if (positions.size() == 0) {  // nothing can be gathered from an empty axis
    Shape start, none = rows;
    start.resize(rows.size());
    none[0] = 0;
    return slice_by(reshape(*this, rows), start, none);
  }
  GatherAttrs attrs{{}, {0}, {0}, 1, slice};
  for (int i = 1; i < rows.rank(); ++i) attrs.offset_dims.push_back(i);
  return call_op(ops::gather, attrs, {}, reshape(*this, rows), positions);
}

}  // namespace hone
