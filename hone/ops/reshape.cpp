// Ops that show the same elements in another way; most are views.
#include <fmt/format.h>

#include <numeric>

#include "hone/base/error.h"
#include "hone/ops/family.h"
#include "hone/ops/movement.h"
#include "hone/ops/promote.h"
#include "hone/ops/views.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

using family::define;

std::string list(const Ints& values) { return fmt::format("[{}]", fmt::join(values.begin(), values.end(), ", ")); }

template <class A>
Sample sample(std::vector<TensorType> inputs, const A& attrs) {
  return {.inputs = std::move(inputs), .attrs = Attrs(attrs)};
}

void infer_same(InferContext& c) {
  for (int i = 0; i < c.outputs(); ++i) c.out(i) = c.in(i);
}

bool view_same(const Call& call, std::span<const TensorType> types) {
  for (size_t i = 0; i < types.size(); ++i) call.outputs[i] = alias_as(call.inputs[i], types[i]);
  return true;
}

void vjp_same(VjpContext& c) {
  for (int i = 0; i < c.inputs(); ++i) {
    if (c.ct(i).defined()) c.set(i, c.ct(i));
  }
}

void infer_reshape(InferContext& c) {
  const Shape& to = c.attrs<ShapeAttrs>().shape;
  for (Dim d : to) {
    if (d.is_number() && d.number() < 0) c.fail("shape mismatch", "extents must be >= 0, got " + to_string(to));
  }
  const Dim had = c.shape(0).elements(), wanted = to.elements();
  if (!(had == wanted)) {
    c.fail("shape mismatch",
           fmt::format("x has {} elements, {} holds {}", to_string(had), to_string(to), to_string(wanted)),
           "pass a shape with as many elements; -1 leaves one extent open");
  }
  c.out() = {c.dtype(0), to};
}

bool view_reshape(const Call& call, std::span<const TensorType> types) {
  call.outputs[0] = alias_as(call.inputs[0], types[0]);
  return true;
}

void infer_transpose(InferContext& c) {
  const Ints& permutation = c.attrs<TransposeAttrs>().permutation;
  const Shape& shape = c.shape(0);
  if (permutation.size() != shape.size()) {
    c.fail("invalid permutation",
           fmt::format("{} has {} entries, x has {} axes", list(permutation), permutation.size(), shape.rank()),
           "name each axis of x once");
  }
  uint32_t seen = 0;
  Shape out;
  for (int64_t axis : permutation) {
    if (axis < 0 || axis >= shape.rank() || (seen >> axis & 1)) {
      c.fail("invalid permutation",
             fmt::format("{} does not name each axis in [0, {}] once", list(permutation), shape.rank() - 1));
    }
    seen |= 1U << axis;
    out.push_back(shape[axis]);
  }
  c.out() = {c.dtype(0), out};
}

Ints inverse(const Ints& permutation) {
  Ints result(permutation.size(), 0);
  for (size_t i = 0; i < permutation.size(); ++i) result[permutation[i]] = static_cast<int64_t>(i);
  return result;
}

// A view where only axes of extent 1 change their place.
bool view_transpose(const Call& call, std::span<const TensorType> types) {
  const Tensor& x = call.inputs[0];
  if (is_splat(x)) {
    call.outputs[0] = alias_splat(x, types[0]);
    return true;
  }
  const Ints& permutation = call.attrs.as<TransposeAttrs>().permutation;
  int64_t last = -1;
  for (int64_t axis : permutation) {
    if (x.shape()[axis] == Dim(1)) continue;
    if (axis < last) return false;
    last = axis;
  }
  const Ints from = strides_of(x);
  Ints strides;
  for (int64_t axis : permutation) strides.push_back(from[axis]);
  call.outputs[0] = x.layout().dense ? x.alias(types[0]) : alias_strided(x, types[0], strides);
  return true;
}

void infer_broadcast(InferContext& c) {
  const auto& attrs = c.attrs<BroadcastAttrs>();
  const Shape& shape = c.shape(0);
  if (attrs.dimensions.size() != shape.size()) {
    c.fail(
        "invalid dimensions",
        fmt::format("{} has {} entries, x has {} axes", list(attrs.dimensions), attrs.dimensions.size(), shape.rank()),
        "name the result axis of each axis of x");
  }
  uint32_t seen = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    const int64_t axis = attrs.dimensions[i];
    if (axis < 0 || axis >= attrs.shape.rank() || (seen >> axis & 1)) {
      c.fail("invalid dimensions",
             fmt::format("{} must name different axes in [0, {}]", list(attrs.dimensions), attrs.shape.rank() - 1));
    }
    seen |= 1U << axis;
    if (!(shape[i] == attrs.shape[axis]) && !(shape[i] == Dim(1))) {
      c.fail("shape mismatch",
             fmt::format("x axis {} is {}, result axis {} is {}: extents must be equal, or x's be 1", i,
                         to_string(shape[i]), axis, to_string(attrs.shape[axis])),
             "reshape x, or choose another result shape");
    }
  }
  for (Dim d : attrs.shape) {
    if (d.is_number() && d.number() < 0)
      c.fail("shape mismatch", "extents must be >= 0, got " + to_string(attrs.shape));
  }
  c.out() = {c.dtype(0), attrs.shape};
}

bool view_broadcast(const Call& call, std::span<const TensorType> types) {
  const Tensor& x = call.inputs[0];
  const Ints& dimensions = call.attrs.as<BroadcastAttrs>().dimensions;
  const Ints from = strides_of(x);
  Ints strides(types[0].shape.size(), 0);
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (x.shape()[i] == types[0].shape[dimensions[i]]) strides[dimensions[i]] = from[i];
  }
  checked_bytes(types[0], call.location);
  call.outputs[0] = alias_strided(x, types[0], strides);
  return true;
}

// Sums over what was repeated, then puts the axes back into the operand's order.
void vjp_broadcast(VjpContext& c) {
  const Ints& dimensions = c.attrs_as<BroadcastAttrs>().dimensions;
  const Shape &from = c.in_type(0).shape, &to = c.out_type().shape;
  Ints repeated, order;  // order: operand axes by the place of their result axis
  Shape kept;
  for (int axis = 0; axis < to.rank(); ++axis) {
    const auto* at = std::find(dimensions.begin(), dimensions.end(), axis);
    const int64_t operand = at - dimensions.begin();
    if (at == dimensions.end() || !(from[operand] == to[axis])) repeated.push_back(axis);
    if (at == dimensions.end()) continue;
    kept.push_back(from[operand]);
    order.push_back(operand);
  }
  Tensor gradient = c.ct();
  if (!repeated.empty()) gradient = call_op(ops::reduce_sum, AxesAttrs{repeated}, {}, gradient);
  gradient = hone::reshape(gradient, kept);
  if (!std::ranges::is_sorted(order)) gradient = hone::transpose(gradient, inverse(order));
  c.set(0, gradient);
}

std::vector<Sample> same_samples() {
  std::vector<Sample> samples;
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{5}, Shape{2, 3}})
    samples.push_back({.inputs = {{f32, shape}}});
  return samples;
}

}  // namespace

namespace ops {

constinit const Op identity = define(OpId::identity, OpClass::View,
                                     {
                                         .doc = "the same value under a new identity",
                                         .operands = "x",
                                         .infer = infer_same,
                                         .vjp = vjp_same,
                                         .batch = batch::leading<>,
                                         .view = view_same,
                                         .transparent = true,
                                         .samples = same_samples,
                                     });

constinit const Op stop_gradient = define(OpId::stop_gradient, OpClass::View,
                                          {
                                              .doc = "the same value; no gradient passes",
                                              .operands = "x",
                                              .infer = infer_same,
                                              .batch = batch::leading<>,
                                              .view = view_same,
                                              .transparent = true,
                                              .samples =
                                                  [] {
                                                    std::vector<Sample> samples = same_samples();
                                                    for (Sample& each : samples)
                                                      each.differentiable =
                                                          false;  // its gradient is not its derivative
                                                    return samples;
                                                  },
                                          });

constinit const Op optimization_barrier = define(OpId::optimization_barrier, OpClass::View,
                                                 {
                                                     .doc = "the same values, opaque to simplification",
                                                     .operands = "x",
                                                     .max_inputs = -1,
                                                     .outputs = -1,
                                                     .infer = infer_same,
                                                     .vjp = vjp_same,
                                                     .batch = batch::leading<>,
                                                     .view = view_same,
                                                     .samples =
                                                         [] {
                                                           std::vector<Sample> samples = same_samples();
                                                           samples.push_back({.inputs = {{f32, {2}}, {f32, {3, 1}}}});
                                                           return samples;
                                                         },
                                                 });

constinit const Op reshape =
    define(OpId::reshape, OpClass::View,
           {
               .doc = "the same elements in row-major order in another shape",
               .operands = "x",
               .attrs = &attr_type<ShapeAttrs>(),
               .infer = infer_reshape,
               .vjp = [](VjpContext& c) { c.set(0, hone::reshape(c.ct(), c.in_type(0).shape)); },
               .batch = batch::leading<ShapeAttrs>,
               .view = view_reshape,
               .samples =
                   [] {
                     return std::vector<Sample>{
                         sample({{f32, {2, 3}}}, ShapeAttrs{{3, 2}}), sample({{f32, {6}}}, ShapeAttrs{{1, 6, 1}}),
                         sample({{f32, {}}}, ShapeAttrs{{1, 1}}),     sample({{f32, {1, 1}}}, ShapeAttrs{Shape{}}),
                         sample({{f32, {0, 3}}}, ShapeAttrs{{5, 0}}), sample({{f32, {4}}}, ShapeAttrs{{4}})};
                   },
           });

constinit const Op transpose = define(
    OpId::transpose, OpClass::Movement,
    {
        .doc = "axes in another order",
        .operands = "x",
        .attrs = &attr_type<TransposeAttrs>(),
        .infer = infer_transpose,
        .vjp =
            [](VjpContext& c) { c.set(0, hone::transpose(c.ct(), inverse(c.attrs_as<TransposeAttrs>().permutation))); },
        .batch = batch::leading<TransposeAttrs>,
        .view = view_transpose,
        .samples =
            [] {
              return std::vector<Sample>{sample({{f32, {2, 3}}}, TransposeAttrs{{1, 0}}),
                                         sample({{f32, {}}}, TransposeAttrs{}),
                                         sample({{f32, {5}}}, TransposeAttrs{{0}}),
                                         sample({{f32, {0, 3}}}, TransposeAttrs{{1, 0}}),
                                         sample({{f32, {1, 4, 3}}}, TransposeAttrs{{1, 0, 2}}),
                                         sample({{f32, {2, 3, 4}}}, TransposeAttrs{{2, 0, 1}}),
                                         sample({{f32, {2, 3, 5, 4}}}, TransposeAttrs{{0, 2, 1, 3}}),
                                         sample({{f32, {2, 5, 3, 9}}}, TransposeAttrs{{0, 3, 1, 2}}),
                                         sample({{f32, {33, 19}}}, TransposeAttrs{{1, 0}}),
                                         sample({{f32, {2, 3, 2, 3, 2}}}, TransposeAttrs{{4, 3, 2, 1, 0}})};
            },
    });

constinit const Op broadcast_in_dim =
    define(OpId::broadcast_in_dim, OpClass::View,
           {
               .doc = "operand axis i becomes result axis dimensions[i]; other result axes and axes of extent 1 repeat",
               .operands = "x",
               .attrs = &attr_type<BroadcastAttrs>(),
               .infer = infer_broadcast,
               .vjp = vjp_broadcast,
               .batch = batch::leading<BroadcastAttrs>,
               .view = view_broadcast,
               .samples =
                   [] {
                     return std::vector<Sample>{sample({{f32, {}}}, BroadcastAttrs{{2, 3}, {}}),
                                                sample({{f32, {3}}}, BroadcastAttrs{{2, 3}, {1}}),
                                                sample({{f32, {2}}}, BroadcastAttrs{{2, 3}, {0}}),
                                                sample({{f32, {2, 1}}}, BroadcastAttrs{{2, 3}, {0, 1}}),
                                                sample({{f32, {2, 3}}}, BroadcastAttrs{{3, 2}, {1, 0}}),
                                                sample({{f32, {1, 3}}}, BroadcastAttrs{{3, 4, 2}, {2, 0}}),
                                                sample({{f32, {2, 3}}}, BroadcastAttrs{{2, 3}, {0, 1}}),
                                                sample({{f32, {0}}}, BroadcastAttrs{{2, 0}, {1}}),
                                                sample({{f32, {1}}}, BroadcastAttrs{{0}, {0}}),
                                                sample({{f32, {2, 3}}}, BroadcastAttrs{{2, 1, 3}, {0, 2}})};
                   },
           });

}  // namespace ops

namespace {

Tensor same(const Op& op, Operand& x) {
  const Location location = x.location;
  return call_op(op, {}, location, to_tensor(std::move(x)));
}

[[noreturn]] void fail_reshape(const Tensor& x, const Shape& shape, Location location, std::string detail) {
  throw Error(
      Code::kInvalidArgument,
      {.what = "shape mismatch in reshape",
       .location = LocationScope::resolve(location),
       .details = {fmt::format("x: {}, asked for {}", to_string(x.type()), to_string(shape)), std::move(detail)},
       .fix = "pass a shape with as many elements; -1 leaves one extent open"});
}

// The shape with its -1, if there is one, replaced by what is left.
Shape complete(const Tensor& x, const Shape& shape, Location location) {
  int open = -1;
  Dim others = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (!(shape[i] == Dim(-1))) {
      others = others * shape[i];
    } else if (open >= 0) {
      fail_reshape(x, shape, location, "only one extent may be -1");
    } else {
      open = i;
    }
  }
  if (open < 0) return shape;
  const Dim all = x.shape().elements();
  if (others == Dim(0)) fail_reshape(x, shape, location, "an extent cannot be found beside an extent of 0");
  if (!(mod(all, others) == Dim(0))) {
    fail_reshape(x, shape, location, fmt::format("{} elements do not divide by {}", to_string(all), to_string(others)));
  }
  Shape result = shape;
  result[open] = floor_div(all, others);
  return result;
}

}  // namespace

Tensor identity(Operand x) { return same(ops::identity, x); }
Tensor stop_gradient(Operand x) { return same(ops::stop_gradient, x); }
Tensor optimization_barrier(Operand x) { return same(ops::optimization_barrier, x); }

Tensor reshape(Operand x, const Shape& shape) {
  const Location location = x.location;
  Tensor value = to_tensor(std::move(x));
  if (value.shape() == shape) return value;
  const Shape full = complete(value, shape, location);
  if (value.shape() == full) return value;
  return call_op(ops::reshape, ShapeAttrs{full}, location, std::move(value));
}

Tensor transpose(Operand x, const Ints& permutation) {
  const Location location = x.location;
  Tensor value = to_tensor(std::move(x));
  TransposeAttrs attrs;
  if (permutation.empty()) {
    for (int i = value.rank() - 1; i >= 0; --i) attrs.permutation.push_back(i);
  }
  for (int64_t axis : permutation)
    attrs.permutation.push_back(checked_axis(value.shape(), axis, "transpose", location));
  return call_op(ops::transpose, attrs, location, std::move(value));
}

Tensor swap_axes(Operand x, int a, int b) {
  const Location location = x.location;
  Tensor value = to_tensor(std::move(x));
  Ints permutation;
  for (int i = 0; i < value.rank(); ++i) permutation.push_back(i);
  std::swap(permutation[checked_axis(value.shape(), a, "swap_axes", location)],
            permutation[checked_axis(value.shape(), b, "swap_axes", location)]);
  return call_op(ops::transpose, TransposeAttrs{permutation}, location, std::move(value));
}

Tensor broadcast_to(Operand x, const Shape& shape) {
  const Location location = x.location;
  return broadcast_to(to_tensor(std::move(x)), shape, location);
}

Tensor broadcast_in_dim(Operand x, const Shape& shape, const Ints& dimensions) {
  const Location location = x.location;
  return call_op(ops::broadcast_in_dim, BroadcastAttrs{shape, dimensions}, location, to_tensor(std::move(x)));
}

Tensor expand_dims(Operand x, int axis) {
  const Location location = x.location;
  Tensor value = to_tensor(std::move(x));
  Shape shape = value.shape(), longer = shape;
  longer.push_back(1);
  shape.insert(static_cast<size_t>(checked_axis(longer, axis, "expand_dims", location)), 1);
  return call_op(ops::reshape, ShapeAttrs{shape}, location, std::move(value));
}

Tensor squeeze(Operand x, const Ints& axes) {
  const Location location = x.location;
  Tensor value = to_tensor(std::move(x));
  const Ints dropped = checked_axes(value.shape(), axes, "squeeze", location);
  Shape shape;
  for (int i = 0; i < value.rank(); ++i) {
    const Dim d = value.shape()[i];
    if (!dropped.contains(i) && !(axes.empty() && d == Dim(1))) {
      shape.push_back(d);
    } else if (!(d == Dim(1))) {
      throw Error(Code::kInvalidArgument,
                  {.what = fmt::format("axis {} cannot be squeezed", i),
                   .location = LocationScope::resolve(location),
                   .details = {"x: " + to_string(value.type()), "only axes of extent 1 can be dropped"},
                   .fix = "index the axis, or reduce over it"});
    }
  }
  if (shape == value.shape()) return value;
  return call_op(ops::reshape, ShapeAttrs{shape}, location, std::move(value));
}

Tensor flatten(Operand x) { return reshape(std::move(x), {-1}); }

}  // namespace hone
