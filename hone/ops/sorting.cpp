#include "hone/ops/sorting.h"

#include <fmt/format.h>

#include <cmath>

#include "hone/base/error.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/family.h"
#include "hone/ops/gather_scatter.h"
#include "hone/ops/movement.h"
#include "hone/ops/promote.h"
#include "hone/ops/views.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

using family::define;

void check_axis(InferContext& c, int64_t axis) {
  const int rank = c.shape(0).rank();
  if (axis >= 0 && axis < rank) return;
  c.fail("invalid axis", fmt::format("axis {} of a tensor of rank {}", axis, rank),
         rank ? fmt::format("use an axis in [0, {}]", rank - 1) : "a scalar has no axes");
}

// ---- cumulative

void infer_cumulative(InferContext& c) {
  const auto& attrs = c.attrs<CumulativeAttrs>();
  c.check_dtype();
  check_axis(c, attrs.axis);
  if (attrs.combine < static_cast<int64_t>(Combine::Sum) || attrs.combine > static_cast<int64_t>(Combine::Min)) {
    c.fail("invalid combine", fmt::format("{} is none of Sum, Prod, Max, Min", attrs.combine));
  }
  c.out() = c.in(0);
}

Tensor cumulative(const Tensor& x, CumulativeAttrs attrs, Combine combine, bool reverse) {
  attrs.combine = static_cast<int64_t>(combine);
  attrs.reverse = reverse;
  return call_op(ops::cumulative, attrs, {}, x);
}

// With s_i the sum of ct_j out_j over j from i on: before the first 0 the gradient is s_i / x_i (out is 0 from there
// on); at it s_i with x_i taken as 1; after it 0.
Tensor prod_gradient(VjpContext& c, const CumulativeAttrs& attrs) {
  const bool back = !attrs.reverse;
  const Tensor& x = c.in(0);
  const Tensor zero = x == 0;
  const Tensor count = cumulative(cast(zero, i32), attrs, Combine::Sum, attrs.reverse);
  const Tensor first = zero & (count == 1);
  const Tensor without = cumulative(where(first, 1, x), attrs, Combine::Prod, attrs.reverse);
  const Tensor before = cumulative(c.ct() * c.out(), attrs, Combine::Sum, back) / where(zero, 1, x);
  const Tensor at = cumulative(c.ct() * without, attrs, Combine::Sum, back);
  return where(count == 0, before, where(first, at, 0));
}

// Each result's cotangent goes to the element where the running extremum last changed.
Tensor extremum_gradient(VjpContext& c, const CumulativeAttrs& attrs) {
  const Shape& shape = c.in_type(0).shape;
  const auto axis = static_cast<int>(attrs.axis);
  if (shape[axis] == Dim(0)) return c.ct();
  const Dim n = shape[axis];
  Ints low(shape.size(), 0), high(shape.size(), 0);
  (attrs.reverse ? high : low)[axis] = 1;
  (attrs.reverse ? low : high)[axis] = -1;
  const Tensor position = iota(shape, axis, i32);
  const Tensor edge = attrs.reverse ? position == extent(Shape{n}, 0, {}) - 1 : position == 0;
  const Tensor changed = edge | (c.out() != pad(c.out(), low, high));
  const Tensor none = attrs.reverse ? Tensor(extent(Shape{n}, 0, {})) : full_like_scalar({}, i32, Operand(-1));
  const Tensor source =
      cumulative(where(changed, position, none), attrs, attrs.reverse ? Combine::Min : Combine::Max, attrs.reverse);
  return scatter_along_axis(zeros(shape, c.in_type(0).dtype), source, c.ct(), axis, Combine::Sum);
}

void vjp_cumulative(VjpContext& c) {
  const auto& attrs = c.attrs_as<CumulativeAttrs>();
  switch (static_cast<Combine>(attrs.combine)) {
    case Combine::Prod:
      return c.set(0, prod_gradient(c, attrs));
    case Combine::Max:
    case Combine::Min:
      return c.set(0, extremum_gradient(c, attrs));
    default:
      return c.set(0, cumulative(c.ct(), attrs, Combine::Sum, !attrs.reverse));
  }
}

std::vector<Sample> cumulative_samples() {
  std::vector<Sample> samples;
  for (Combine combine : {Combine::Sum, Combine::Prod, Combine::Max, Combine::Min}) {
    const auto add = [&](const Shape& shape, int64_t axis, bool reverse) {
      samples.push_back({.inputs = {{f32, shape}},
                         .attrs = Attrs(CumulativeAttrs{axis, static_cast<int64_t>(combine), reverse}),
                         .low = -1.5,
                         .high = 1.5});
    };
    add({5}, 0, false), add({5}, 0, true), add({0}, 0, false), add({1}, 0, true), add({3, 4}, 0, false),
        add({3, 4}, 1, true), add({2, 3, 17}, 1, false);
  }
  return samples;
}

// ---- sort

void infer_sort(InferContext& c) {
  check_axis(c, c.attrs<SortAttrs>().axis);
  for (int i = 0; i < c.inputs(); ++i) {
    if (!(c.shape(i) == c.shape(0)))
      c.fail("shape mismatch", "the key and what is sorted by it must have one shape",
             "broadcast or reshape one of them");
    c.out(i) = c.in(i);
  }
}

Cost sort_cost(AttrRef attrs, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  Cost cost = family::movement_cost(attrs, inputs, outputs);
  const Shape& shape = outputs[0].shape;
  const auto n = static_cast<double>(shape[attrs.as<SortAttrs>().axis].number());
  cost.flops = static_cast<double>(shape.count()) * std::log2(std::max(n, 2.0));
  return cost;
}

// {x sorted, the position of each element in x}
std::pair<Tensor, Tensor> sort_with_positions(const Tensor& x, const SortAttrs& attrs, Location location) {
  Tensor inputs[] = {x, iota(x.shape(), static_cast<int>(attrs.axis), i32, location)}, outputs[2];
  Call call{ops::sort, attrs, inputs, outputs, location};
  dispatch(call);
  return {std::move(outputs[0]), std::move(outputs[1])};
}

// The inverse of the permutation that the key gave.
void vjp_sort(VjpContext& c) {
  const auto& attrs = c.attrs_as<SortAttrs>();
  const auto axis = static_cast<int>(attrs.axis);
  const Tensor order = sort_with_positions(c.in(0), attrs, {}).second;
  const Tensor inverse = sort_with_positions(order, {attrs.axis, false}, {}).second;
  for (int i = 0; i < c.inputs(); ++i) {
    if (c.need(i) && c.ct(i).defined()) c.set(i, gather_along_axis(c.ct(i), inverse, axis));
  }
}

std::vector<Sample> sort_samples() {
  std::vector<Sample> samples;
  const auto add = [&](std::initializer_list<DType> types, const Shape& shape, int64_t axis, bool descending) {
    Sample one{.inputs = {},
               .attrs = Attrs(SortAttrs{axis, descending}),
               .low = -20,
               .high = 20,
               .differentiable = is_floating(*types.begin())};
    for (DType type : types) one.inputs.push_back({type, shape});
    samples.push_back(std::move(one));
  };
  add({f32}, {7}, 0, false), add({f32}, {7}, 0, true), add({f32}, {0}, 0, false), add({f32}, {1}, 0, false),
      add({f32}, {3, 5}, 0, false);
  add({f32}, {3, 5}, 1, true), add({i32}, {33}, 0, false), add({f32, f32}, {4, 3}, 0, false),
      add({i32, i64, i8}, {2, 17}, 1, true);
  return samples;
}

// ---- top_k

void infer_top_k(InferContext& c) {
  const int64_t k = c.attrs<TopKAttrs>().k;
  if (c.shape(0).empty())
    c.fail("shape mismatch", "top_k works along the last axis, a scalar has none", "reshape it to [1]");
  const Dim rest = c.shape(0).back() - k;
  if (k < 0 || rest.max() < 0) {
    c.fail("k is out of range", fmt::format("k = {}, the last axis has {} elements", k, to_string(c.shape(0).back())),
           "pass 0 <= k <= the extent");
  }
  c.out(0) = c.in(0);
  c.out(0).shape.back() = k;
  c.out(1) = {i32, c.out(0).shape};
}

void vjp_top_k(VjpContext& c) {
  const TensorType& type = c.in_type(0);
  if (!c.ct(0).defined()) return;
  c.set(0, scatter_along_axis(zeros(type.shape, type.dtype), c.out(1), c.ct(0), type.shape.rank() - 1, Combine::Sum));
}

std::vector<Sample> top_k_samples() {
  std::vector<Sample> samples;
  const auto add = [&](DType type, const Shape& shape, int64_t k) {
    samples.push_back({.inputs = {{type, shape}},
                       .attrs = Attrs(TopKAttrs{k}),
                       .low = -20,
                       .high = 20,
                       .differentiable = is_floating(type)});
  };
  add(f32, {5}, 1), add(f32, {5}, 5), add(f32, {5}, 0), add(f32, {3, 17}, 4), add(f32, {0, 3}, 2),
      add(f32, {2, 1, 3}, 2), add(i32, {33}, 7);
  return samples;
}

Tensor running(Operand& x, int axis, Combine combine, bool reverse, const char* what) {
  const Location location = x.location;
  Tensor value = to_tensor(std::move(x));
  if (value.dtype() == bool_) value = cast({std::move(value), location}, i32);
  const CumulativeAttrs attrs{checked_axis(value.shape(), axis, what, location), static_cast<int64_t>(combine),
                              reverse};
  return call_op(ops::cumulative, attrs, location, std::move(value));
}

}  // namespace

constinit const Op ops::cumulative =
    define(OpId::cumulative, OpClass::Reduction,
           {
               .doc = "running sum, product, maximum or minimum along an axis, in sequence",
               .operands = "x",
               .attrs = &attr_type<CumulativeAttrs>(),
               .infer = infer_cumulative,
               .vjp = vjp_cumulative,
               .reads = {.in = 1, .out = 1},
               .batch = batch::leading<CumulativeAttrs>,
               .samples = cumulative_samples,
               .dtypes = kNumbers,
           },
           family::elementwise_cost);

constinit const Op ops::sort =
    define(OpId::sort, OpClass::Movement,
           {
               .doc = "all operands along an axis in the order of the first; stable, NaN last",
               .operands = "key",
               .attrs = &attr_type<SortAttrs>(),
               .max_inputs = -1,
               .outputs = -1,
               .infer = infer_sort,
               .vjp = vjp_sort,
               .reads = {.in = 1},
               .batch = batch::leading<SortAttrs>,
               .cost = sort_cost,
               .samples = sort_samples,
           });

constinit const Op ops::top_k =
    define(OpId::top_k, OpClass::Movement,
           {
               .doc = "the k largest along the last axis and their i32 indices; NaN counts as largest",
               .operands = "x",
               .attrs = &attr_type<TopKAttrs>(),
               .outputs = 2,
               .infer = infer_top_k,
               .vjp = vjp_top_k,
               .reads = {.out = 2},
               .batch = batch::leading<>,
               .samples = top_k_samples,
           });

Tensor sort(Operand x, int axis, bool descending) {
  const Location location = x.location;
  Tensor value = to_tensor(std::move(x));
  const SortAttrs attrs{checked_axis(value.shape(), axis, "sort", location), descending};
  return call_op(ops::sort, attrs, location, std::move(value));
}

Tensor argsort(Operand x, int axis, bool descending) {
  const Location location = x.location;
  const Tensor value = to_tensor(std::move(x));
  return sort_with_positions(value, {checked_axis(value.shape(), axis, "argsort", location), descending}, location)
      .second;
}

std::vector<Tensor> sort(std::span<const Tensor> operands, int axis, bool descending, Location location) {
  if (operands.empty() || !operands[0].defined()) {
    throw Error(Code::kInvalidArgument, {.what = "sort without a key",
                                         .location = LocationScope::resolve(location),
                                         .fix = "pass at least one tensor"});
  }
  std::vector<Tensor> inputs(operands.begin(), operands.end()), outputs(operands.size());
  const SortAttrs attrs{checked_axis(operands[0].shape(), axis, "sort", location), descending};
  Call call{ops::sort, attrs, inputs, outputs, location};
  dispatch(call);
  return outputs;
}

std::pair<Tensor, Tensor> top_k(Operand x, int64_t k) {
  const Location location = x.location;
  Tensor inputs[] = {to_tensor(std::move(x))}, outputs[2];
  const TopKAttrs attrs{k};
  Call call{ops::top_k, attrs, inputs, outputs, location};
  dispatch(call);
  return {std::move(outputs[0]), std::move(outputs[1])};
}

Tensor cumsum(Operand x, int axis, bool reverse) { return running(x, axis, Combine::Sum, reverse, "cumsum"); }
Tensor cumprod(Operand x, int axis, bool reverse) { return running(x, axis, Combine::Prod, reverse, "cumprod"); }
Tensor cummax(Operand x, int axis, bool reverse) { return running(x, axis, Combine::Max, reverse, "cummax"); }
Tensor cummin(Operand x, int axis, bool reverse) { return running(x, axis, Combine::Min, reverse, "cummin"); }

}  // namespace hone
