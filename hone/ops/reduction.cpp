#include "hone/ops/reduction.h"

#include <fmt/format.h>

#include "hone/base/error.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/family.h"
#include "hone/ops/movement.h"
#include "hone/ops/promote.h"
#include "hone/ops/views.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

Shape without(const Shape& shape, const Ints& axes) {
  Shape kept;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!axes.contains(axis)) kept.push_back(shape[axis]);
  }
  return kept;
}

void no_gradient(VjpContext&) {}

void infer_reduce(InferContext& c) {
  c.check_dtype();
  const Ints& axes = c.attrs<AxesAttrs>().axes;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || axes[i] >= c.shape(0).rank() || (i > 0 && axes[i] <= axes[i - 1])) {
      c.fail("bad axes", fmt::format("axis {} is out of range, named twice or out of order", axes[i]),
             "name each axis once, ascending");
    }
  }
  c.out() = {c.dtype(0), without(c.shape(0), axes)};
}

void infer_arg(InferContext& c) {
  c.check_dtype();
  const int64_t axis = c.attrs<AxisAttrs>().axis;
  const Shape& shape = c.shape(0);
  if (axis < 0 || axis >= shape.rank()) c.fail("bad axis", fmt::format("axis {} of {} axes", axis, shape.rank()));
  if (shape[axis] == Dim(0)) c.fail("no elements", fmt::format("axis {} is empty, so no index can be given", axis));
  c.out() = {i64, without(shape, Ints{axis})};
}

Cost reduce_cost(AttrRef attrs, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  Cost cost = family::movement_cost(attrs, inputs, outputs);
  cost.flops = static_cast<double>(inputs[0]->shape.count());
  return cost;
}

Sample reduce_sample(Shape shape, Ints axes, bool differentiable = true) {
  return {.inputs = {{f32, shape}},
          .attrs = Attrs(AxesAttrs{axes}),
          .low = 0.5,
          .high = 1.5,
          .differentiable = differentiable};
}
std::vector<Sample> reduce_samples() {
  std::vector<Sample> samples;
  for (int64_t n : {0, 1, 3, 4, 5, 7, 8, 9, 16, 17, 63, 64, 65, 130}) samples.push_back(reduce_sample({n}, {0}));
  samples.push_back(reduce_sample({3, 5}, {0}));
  samples.push_back(reduce_sample({3, 5}, {1}));
  samples.push_back(reduce_sample({3, 5}, {0, 1}));
  samples.push_back(reduce_sample({3, 5}, {}));
  samples.push_back(reduce_sample({2, 3, 4, 5}, {0, 2}));
  samples.push_back(reduce_sample({2, 3, 4, 5}, {1, 3}));
  samples.push_back(reduce_sample({2, 1, 4}, {1}));
  samples.push_back(reduce_sample({2, 0, 4}, {1}));
  samples.push_back(reduce_sample({2, 0, 3, 2}, {1, 3}));
  samples.push_back(reduce_sample({2, 2, 2, 0, 2, 3}, {1, 3, 5}));
  samples.push_back(reduce_sample({0, 3}, {1}));
  samples.push_back(reduce_sample({67, 9}, {0}));
  samples.push_back(reduce_sample({4097}, {0}, false));
  samples.push_back(reduce_sample({1100, 17}, {0}, false));
  samples.push_back(reduce_sample({3, 200, 33}, {1}, false));
  return samples;
}
// Without empty reductions: their result is no number whose slope could be checked.
std::vector<Sample> extremum_samples() {
  std::vector<Sample> samples = reduce_samples();
  for (Sample& sample : samples) {
    sample.low = -2, sample.high = 2;
    const Shape& shape = sample.inputs[0].shape;
    for (int64_t axis : sample.attrs.operator AttrRef().as<AxesAttrs>().axes) {
      if (shape[axis] == Dim(0)) sample.differentiable = false;
    }
  }
  return samples;
}
std::vector<Sample> bit_samples() {
  std::vector<Sample> samples = reduce_samples();
  for (Sample& sample : samples) sample.inputs[0].dtype = bool_, sample.differentiable = false;
  return samples;
}
std::vector<Sample> arg_samples() {
  std::vector<Sample> samples;
  const auto add = [&](Shape shape, int64_t axis) {
    samples.push_back({.inputs = {{f32, shape}}, .attrs = Attrs(AxisAttrs{axis}), .differentiable = false});
  };
  for (int64_t n : {1, 3, 7, 8, 9, 16, 17, 65, 5000}) add({n}, 0);
  add({3, 5}, 0), add({3, 5}, 1), add({2, 7, 3}, 1), add({0, 4}, 1), add({70, 33}, 0);
  return samples;
}

struct ReduceRules {
  std::string_view doc;
  uint32_t dtypes = kNumbers;
  void (*vjp)(VjpContext&) = nullptr;
  Reads reads{};
  std::vector<Sample> (*samples)() = reduce_samples;
};
constexpr Op reduce_row(OpId id, const ReduceRules& rules) {
  Op op;
  op.name = name(id);
  op.index = static_cast<int>(id);
  op.doc = rules.doc;
  op.operands = "x";
  op.op_class = OpClass::Reduction;
  op.precision = PrecisionClass::Full;
  op.attrs = &attr_type<AxesAttrs>();
  op.infer = infer_reduce;
  op.batch = batch::leading<AxesAttrs>;
  op.cost = reduce_cost;
  op.vjp = rules.vjp;
  op.reads = rules.reads;
  op.samples = rules.samples;
  op.dtypes = rules.dtypes;
  return op;
}
constexpr Op arg_row(OpId id, std::string_view doc) {
  Op op = reduce_row(id, {.doc = doc, .vjp = no_gradient, .samples = arg_samples});
  op.precision = PrecisionClass::Follow;
  op.attrs = &attr_type<AxisAttrs>();
  op.infer = infer_arg;
  op.batch = batch::leading<AxisAttrs>;
  return op;
}

void extremum_vjp(VjpContext& c) {
  const Ints& axes = c.attrs_as<AxesAttrs>().axes;
  const Tensor chosen = cast(c.in(0) == spread(c.out(), c.in_type(0).shape, axes), c.in_type(0).dtype);
  const Tensor share = c.ct() / sum(chosen, axes);
  c.set(0, chosen * spread(share, c.in_type(0).shape, axes));
}

// The product of the others. Where one factor is 0 only its own slope is not 0; where several are, all slopes are 0.
void prod_vjp(VjpContext& c) {
  const Ints& axes = c.attrs_as<AxesAttrs>().axes;
  const Tensor& x = c.in(0);
  const Tensor zero = x == 0, one = ones_like(x);
  const Tensor safe = where(zero, one, x);
  const Tensor zeros = spread(sum(cast(zero, i32), axes), x.shape(), axes);
  const Tensor rest = spread(prod(safe, axes) * c.ct(), x.shape(), axes);
  c.set(0, where(zeros == cast(zero, i32), rest / safe, zeros_like(x)));
}

}  // namespace

namespace ops {

constinit const Op reduce_sum = reduce_row(
    OpId::reduce_sum, {.doc = "sum over axes, in the canonical order; no elements give 0", .vjp = [](VjpContext& c) {
                         c.set(0, hone::spread(c.ct(), c.in_type(0).shape, c.attrs_as<AxesAttrs>().axes));
                       }});
constinit const Op reduce_prod = reduce_row(
    OpId::reduce_prod, {.doc = "product over axes, in the canonical order", .vjp = prod_vjp, .reads = {.in = 1}});
constinit const Op reduce_max = reduce_row(OpId::reduce_max, {.doc = "largest over axes; NaN propagates",
                                                              .vjp = extremum_vjp,
                                                              .reads = {.in = 1, .out = 1},
                                                              .samples = extremum_samples});
constinit const Op reduce_min = reduce_row(OpId::reduce_min, {.doc = "smallest over axes; NaN propagates",
                                                              .vjp = extremum_vjp,
                                                              .reads = {.in = 1, .out = 1},
                                                              .samples = extremum_samples});
constinit const Op reduce_and =
    reduce_row(OpId::reduce_and,
               {.doc = "bitwise and over axes; logical for bool", .dtypes = kInts | kBool, .samples = bit_samples});
constinit const Op reduce_or =
    reduce_row(OpId::reduce_or,
               {.doc = "bitwise or over axes; logical for bool", .dtypes = kInts | kBool, .samples = bit_samples});
constinit const Op argmax =
    arg_row(OpId::argmax, "index of the largest along an axis; the first NaN wins, then the first of equals");
constinit const Op argmin =
    arg_row(OpId::argmin, "index of the smallest along an axis; the first NaN wins, then the first of equals");

}  // namespace ops

Ints Axes::normalized(const Shape& shape, Location location) const {
  Ints axes;
  if (all_) {
    for (int axis = 0; axis < shape.rank(); ++axis) axes.push_back(axis);
    return axes;
  }
  return checked_axes(shape, list_, "reduction", location);
}

Tensor spread(const Tensor& reduced, const Shape& shape, const Ints& axes) {
  Ints kept;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!axes.contains(axis)) kept.push_back(axis);
  }
  return broadcast_in_dim(reduced, shape, kept);
}

Tensor element_count(const Tensor& x, const Ints& axes, DType dtype) {
  int64_t count = 1;
  Tensor symbolic;
  for (int64_t axis : axes) {
    const Dim dim = x.shape()[axis];
    if (dim.is_number()) {
      count *= dim.number();
      continue;
    }
    const Tensor extent = cast(call_op(ops::get_dimension_size, AxisAttrs{axis}, {}, x), dtype);
    symbolic = symbolic.defined() ? symbolic * extent : extent;
  }
  const Tensor number = full({}, count, dtype);
  return symbolic.defined() ? symbolic * number : number;
}

namespace {

Tensor keep(const Tensor& reduced, const Shape& shape, const Ints& axes) {
  Shape kept = shape;
  for (int64_t axis : axes) kept[axis] = 1;
  return reshape(reduced, kept);
}

Tensor reduce(const Op& op, Tensor x, const Ints& axes, bool keepdims, Location location) {
  if (axes.empty()) return x;
  const Shape shape = keepdims ? x.shape() : Shape{};
  Tensor y = call_op(op, AxesAttrs{axes}, location, std::move(x));
  return keepdims ? keep(y, shape, axes) : y;
}

Tensor reduce(const Op& op, Operand& x, const Axes& axes, bool keepdims) {
  const Location location = x.location;
  Tensor value = to_tensor(std::move(x));
  const Ints list = axes.normalized(value.shape(), location);
  return reduce(op, std::move(value), list, keepdims, location);
}

// The type in which integers accumulate: at least 32 bits.
Tensor widen(Operand& x) {
  Tensor value = to_tensor(std::move(x));
  const DType dtype = value.dtype();
  if (dtype == bool_ || dtype == i8 || dtype == i16) return cast(value, i32);
  if (dtype == u8 || dtype == u16) return cast(value, u32);
  return value;
}
Tensor widened_reduce(const Op& op, Operand& x, const Axes& axes, bool keepdims) {
  const Location location = x.location;
  Tensor value = widen(x);
  const Ints list = axes.normalized(value.shape(), location);
  return reduce(op, std::move(value), list, keepdims, location);
}

// A statistic of floats: 16-bit ones compute in f32, `f` gets the wide tensor and its axes.
template <class F>
Tensor statistic(Operand& x, const Axes& axes, F f) {
  const Location location = x.location;
  const LocationScope scope(LocationScope::resolve(location));
  const Tensor value = to_tensor(std::move(x));
  const Ints list = axes.normalized(value.shape(), location);
  const DType dtype = is_floating(value.dtype()) ? value.dtype() : f32;
  const DType wide = compute_type(dtype);
  Tensor result = f(value.dtype() == wide ? value : cast(value, wide), list);
  return wide == dtype ? result : cast(result, dtype);
}

Tensor mean_of(const Tensor& x, const Ints& axes, bool keepdims) {
  return reduce(ops::reduce_sum, x, axes, keepdims, {}) / element_count(x, axes, x.dtype());
}
Tensor variance_of(const Tensor& x, const Ints& axes, bool keepdims) {
  const Tensor distance = x - mean_of(x, axes, true);
  return mean_of(distance * distance, axes, keepdims);
}

Tensor logical(const Op& op, Operand& x, const Axes& axes, bool keepdims) {
  const Location location = x.location;
  Tensor value = to_tensor(std::move(x));
  Operand truth(value.dtype() == bool_ ? value : cast(value, bool_), location);
  return reduce(op, truth, axes, keepdims);
}

// max and min of bool are or and and.
Tensor extremum(const Op& op, const Op& of_bool, Operand& x, const Axes& axes, bool keepdims) {
  const Location location = x.location;
  Operand value(to_tensor(std::move(x)), location);
  return reduce(value.tensor.dtype() == bool_ ? of_bool : op, value, axes, keepdims);
}

Tensor arg(const Op& op, Operand& x, const Axes& axis, bool keepdims) {
  const Location location = x.location;
  Tensor value = to_tensor(std::move(x));
  if (value.dtype() == bool_) value = cast(value, u8);
  const Shape shape = value.shape();
  const Ints axes = axis.normalized(shape, location);
  const bool flat = axes.size() == shape.size() && shape.rank() != 1;
  if (!flat && axes.size() != 1) {
    throw Error(Code::kInvalidArgument,
                {.what = fmt::format("{} needs one axis", op.name),
                 .location = LocationScope::resolve(location),
                 .details = {fmt::format("got {} axes of {}", axes.size(), to_string(value.type()))},
                 .fix = "name one axis, or none to search the flattened tensor"});
  }
  Tensor index =
      call_op(op, AxisAttrs{flat ? 0 : axes[0]}, location, flat ? flatten(std::move(value)) : std::move(value));
  return keepdims ? keep(index, shape, axes) : index;
}

}  // namespace

Tensor sum(Operand x, const Axes& axes, bool keepdims) { return widened_reduce(ops::reduce_sum, x, axes, keepdims); }
Tensor prod(Operand x, const Axes& axes, bool keepdims) { return widened_reduce(ops::reduce_prod, x, axes, keepdims); }
Tensor max(Operand x, const Axes& axes, bool keepdims) {
  return extremum(ops::reduce_max, ops::reduce_or, x, axes, keepdims);
}
Tensor min(Operand x, const Axes& axes, bool keepdims) {
  return extremum(ops::reduce_min, ops::reduce_and, x, axes, keepdims);
}
Tensor all(Operand x, const Axes& axes, bool keepdims) { return logical(ops::reduce_and, x, axes, keepdims); }
Tensor any(Operand x, const Axes& axes, bool keepdims) { return logical(ops::reduce_or, x, axes, keepdims); }
Tensor argmax(Operand x, const Axes& axis, bool keepdims) { return arg(ops::argmax, x, axis, keepdims); }
Tensor argmin(Operand x, const Axes& axis, bool keepdims) { return arg(ops::argmin, x, axis, keepdims); }

Tensor mean(Operand x, const Axes& axes, bool keepdims) {
  return statistic(x, axes, [&](const Tensor& value, const Ints& list) { return mean_of(value, list, keepdims); });
}
Tensor variance(Operand x, const Axes& axes, bool keepdims) {
  return statistic(x, axes, [&](const Tensor& value, const Ints& list) { return variance_of(value, list, keepdims); });
}
Tensor stddev(Operand x, const Axes& axes, bool keepdims) {
  return statistic(x, axes,
                   [&](const Tensor& value, const Ints& list) { return sqrt(variance_of(value, list, keepdims)); });
}
Tensor norm(Operand x, const Axes& axes, bool keepdims) {
  return statistic(x, axes, [&](const Tensor& value, const Ints& list) {
    return sqrt(reduce(ops::reduce_sum, value * value, list, keepdims, {}));
  });
}
Tensor logsumexp(Operand x, const Axes& axes, bool keepdims) {
  return statistic(x, axes, [&](const Tensor& value, const Ints& list) {
    const Tensor largest = stop_gradient(reduce(ops::reduce_max, value, list, true, {}));
    const Tensor shift =
        where(is_finite(largest), largest, zeros_like(largest));  // all -Inf, or an Inf: nothing to shift by
    const Tensor total = log(reduce(ops::reduce_sum, exp(value - shift), list, true, {})) + shift;
    if (keepdims) return total;
    Shape kept = without(value.shape(), list);
    return reshape(total, kept);
  });
}

}  // namespace hone
