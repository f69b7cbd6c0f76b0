#include "hone/ops/gather_scatter.h"

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

using family::define;

// ---- shapes

void check_list(InferContext& c, const char* what, const Ints& axes, int rank, bool ascending) {
  uint32_t seen = 0;
  int64_t last = -1;
  for (int64_t axis : axes) {
    if (axis < 0 || axis >= rank)
      c.fail("invalid axes", fmt::format("{}: axis {} is not in [0, {}]", what, axis, rank - 1));
    if (seen >> axis & 1) c.fail("invalid axes", fmt::format("{}: axis {} is listed twice", what, axis));
    if (ascending && axis < last) c.fail("invalid axes", fmt::format("{} must be ascending", what));
    seen |= 1U << axis;
    last = axis;
  }
}

// Checks the index operand; gives the shape of its index vectors' grid.
Shape check_indices(InferContext& c, const Ints& map, int64_t vector_dim) {
  const Shape& indices = c.shape(1);
  if (!is_integer(c.dtype(1)))
    c.fail("dtype mismatch", fmt::format("indices must be integers, are {}", name(c.dtype(1))),
           "convert them: cast(indices, i32)");
  if (vector_dim < 0 || vector_dim > indices.rank()) {
    c.fail("invalid axes", fmt::format("index_vector_dim {} is not in [0, {}]", vector_dim, indices.rank()));
  }
  const Dim components = vector_dim < indices.rank() ? indices[vector_dim] : Dim(1);
  if (!(components == Dim(static_cast<int64_t>(map.size())))) {
    c.fail("shape mismatch",
           fmt::format("index vectors have {} components, {} axes are indexed", to_string(components), map.size()));
  }
  Shape grid = indices;
  if (vector_dim < indices.rank()) grid.erase(static_cast<size_t>(vector_dim));
  return grid;
}

// A result of `rank` axes: `window` extents at `window_dims`, the grid's at the others.
Shape interleave(const Shape& grid, const Ints& window_dims, const Shape& window) {
  Shape shape;
  size_t g = 0, w = 0;
  for (int64_t axis = 0; axis < static_cast<int64_t>(grid.size() + window.size()); ++axis) {
    shape.push_back(window_dims.contains(axis) ? window[w++] : grid[g++]);
  }
  return shape;
}

void infer_gather(InferContext& c) {
  const auto& attrs = c.attrs<GatherAttrs>();
  const Shape& shape = c.shape(0);
  check_list(c, "collapsed_slice_dims", attrs.collapsed_slice_dims, shape.rank(), true);
  check_list(c, "start_index_map", attrs.start_index_map, shape.rank(), false);
  if (attrs.slice_sizes.size() != shape.size()) {
    c.fail("wrong number of entries",
           fmt::format("slice_sizes has {} entries, x has {} axes", attrs.slice_sizes.size(), shape.rank()));
  }
  const Shape grid = check_indices(c, attrs.start_index_map, attrs.index_vector_dim);
  Shape window;
  for (int i = 0; i < shape.rank(); ++i) {
    const Dim size = attrs.slice_sizes[i], rest = shape[i] - size;
    if (size.max() < 0 || rest.max() < 0) {
      c.fail("slice out of range",
             fmt::format("axis {}: a slice of {} from {} elements", i, to_string(size), to_string(shape[i])),
             shape[i] == Dim(0) ? "nothing can be taken from an empty axis" : "");
    }
    if (!attrs.collapsed_slice_dims.contains(i))
      window.push_back(size);
    else if (!(size == Dim(1)))
      c.fail("invalid slice", fmt::format("axis {} is collapsed, so its slice size is 1, not {}", i, to_string(size)));
  }
  if (window.size() != attrs.offset_dims.size()) {
    c.fail("wrong number of entries",
           fmt::format("offset_dims has {} entries, a slice keeps {} axes", attrs.offset_dims.size(), window.size()));
  }
  check_list(c, "offset_dims", attrs.offset_dims, grid.rank() + window.rank(), true);
  c.out() = {c.dtype(0), interleave(grid, attrs.offset_dims, window)};
}

void infer_scatter(InferContext& c) {
  const auto& attrs = c.attrs<ScatterAttrs>();
  const Shape &shape = c.shape(0), &updates = c.shape(2);
  if (c.dtype(2) != c.dtype(0)) c.fail("dtype mismatch", {}, "convert the updates: cast(updates, dtype)");
  if (attrs.combine < 0 || attrs.combine > static_cast<int64_t>(Combine::Min))
    c.fail("invalid combine", fmt::format("{} is none of Set, Sum, Prod, Max, Min", attrs.combine));
  if (c.dtype(0) == bool_ && attrs.combine != static_cast<int64_t>(Combine::Set))
    c.fail("dtype mismatch", "bool can only be set", "cast it to an integer");
  check_list(c, "inserted_window_dims", attrs.inserted_window_dims, shape.rank(), true);
  check_list(c, "scatter_dims_to_operand_dims", attrs.scatter_dims_to_operand_dims, shape.rank(), false);
  check_list(c, "update_window_dims", attrs.update_window_dims, updates.rank(), true);
  const Shape grid = check_indices(c, attrs.scatter_dims_to_operand_dims, attrs.index_vector_dim);
  if (attrs.update_window_dims.size() + attrs.inserted_window_dims.size() != shape.size()) {
    c.fail("wrong number of entries",
           fmt::format("{} window axes and {} inserted ones do not make the {} axes of x",
                       attrs.update_window_dims.size(), attrs.inserted_window_dims.size(), shape.rank()));
  }
  if (updates.size() != grid.size() + attrs.update_window_dims.size()) {
    c.fail("shape mismatch", fmt::format("updates have {} axes, expected {} of the index grid and {} of a window",
                                         updates.rank(), grid.rank(), attrs.update_window_dims.size()));
  }
  Shape window;
  for (int i = 0, w = 0; i < shape.rank(); ++i) {
    if (attrs.inserted_window_dims.contains(i)) continue;
    const Dim size = updates[attrs.update_window_dims[w++]], rest = shape[i] - size;
    if (rest.max() < 0)
      c.fail("shape mismatch",
             fmt::format("a window of {} exceeds axis {} of x, which is {}", to_string(size), i, to_string(shape[i])));
    window.push_back(size);
  }
  const Shape wanted = interleave(grid, attrs.update_window_dims, window);
  if (!(wanted == updates))
    c.fail("shape mismatch", fmt::format("updates: expected {}, got {}", to_string(wanted), to_string(updates)));
  c.out() = c.in(0);
}

// ---- gradients

// Indices in a type that holds every extent.
Tensor wide_indices(const Tensor& indices) { return size_of(indices.dtype()) < 4 ? cast(indices, i32) : indices; }

// A value for each index component, shaped so that it broadcasts against the indices.
Tensor components(std::span<const Tensor> values, const Tensor& indices, int64_t vector_dim) {
  TensorList converted;
  for (const Tensor& value : values) converted.push_back(cast(value, indices.dtype()));
  if (converted.size() == 1) return converted[0];
  Shape shape;
  for (int i = 0; i < indices.rank(); ++i) shape.push_back(i == vector_dim ? static_cast<int64_t>(values.size()) : 1);
  return hone::reshape(hone::stack({converted.data(), converted.size()}), shape);
}

void vjp_gather(VjpContext& c) {
  const auto& attrs = c.attrs_as<GatherAttrs>();
  const TensorType& type = c.in_type(0);
  Tensor indices = wide_indices(c.in(1));
  if (!attrs.start_index_map.empty()) {  // scatter drops what gather moved into range
    TensorList limits;
    for (int64_t axis : attrs.start_index_map) {
      const Dim limit = type.shape[axis] - attrs.slice_sizes[axis];
      limits.push_back(limit.is_number() ? full_like_scalar({}, i64, Operand(limit.number()))
                                         : extent(Shape{limit}, 0, {}));
    }
    indices = hone::clamp(0, indices, components({limits.data(), limits.size()}, indices, attrs.index_vector_dim));
  }
  const ScatterAttrs back{attrs.offset_dims, attrs.collapsed_slice_dims, attrs.start_index_map, attrs.index_vector_dim,
                          static_cast<int64_t>(Combine::Sum)};
  c.set(0, call_op(ops::scatter, back, {}, zeros(type.shape, type.dtype), indices, c.ct()));
}

// What a scatter wrote to, read back from x: where updates were dropped it reads 0.
Tensor read_back(const Tensor& x, const Tensor& update_indices, const ScatterAttrs& attrs, const Shape& updates) {
  GatherAttrs gather{attrs.update_window_dims,
                     attrs.inserted_window_dims,
                     attrs.scatter_dims_to_operand_dims,
                     attrs.index_vector_dim,
                     {}};
  for (int i = 0, w = 0; i < x.rank(); ++i) {
    gather.slice_sizes.push_back(attrs.inserted_window_dims.contains(i) ? Dim(1)
                                                                        : updates[attrs.update_window_dims[w++]]);
  }
  Tensor indices = wide_indices(update_indices);
  if (attrs.scatter_dims_to_operand_dims.empty()) return call_op(ops::gather, gather, {}, x, indices);
  // A margin of one window around x, so that nothing that gather clamps differs from what scatter drops.
  Ints margin(x.shape().size(), 0);
  TensorList low, high, shift;
  const bool is_unsigned = is_unsigned_integer(indices.dtype());
  for (int64_t axis : attrs.scatter_dims_to_operand_dims) {
    margin[axis] = gather.slice_sizes[axis].number();
    low.push_back(full_like_scalar({}, i64, Operand(is_unsigned ? 0 : -margin[axis])));
    high.push_back(extent(x.shape(), static_cast<int>(axis), {}));
    shift.push_back(full_like_scalar({}, i64, Operand(margin[axis])));
  }
  const int64_t dim = attrs.index_vector_dim;
  indices = hone::clamp(components({low.data(), low.size()}, indices, dim), indices,
                        components({high.data(), high.size()}, indices, dim));
  if (is_unsigned) indices = cast(indices, i64);
  indices = indices + components({shift.data(), shift.size()}, indices, dim);
  return call_op(ops::gather, gather, {}, hone::pad(x, margin, margin), indices);
}

void vjp_scatter_set(VjpContext& c, const ScatterAttrs& attrs) {
  const TensorType& update = c.in_type(2);
  if (c.need(0)) c.set(0, call_op(ops::scatter, attrs, {}, c.ct(), c.in(1), zeros(update.shape, update.dtype)));
  if (!c.need(2)) return;
  // Of several updates of one element the last counts: number them, scatter the numbers, see which are still there.
  const Tensor numbers = hone::reshape(iota({update.shape.elements()}, 0, i64) + 1, update.shape);
  const Tensor winners = call_op(ops::scatter, attrs, {}, zeros(c.in_type(0).shape, i64), c.in(1), numbers);
  const Tensor gradient = read_back(c.ct(), c.in(1), attrs, update.shape);
  c.set(2, where(read_back(winners, c.in(1), attrs, update.shape) == numbers, gradient, 0));
}

// Factors of 0 are counted apart: the product of the others is then known without dividing by 0.
void vjp_scatter_prod(VjpContext& c, const ScatterAttrs& attrs) {
  const TensorType& update = c.in_type(2);
  ScatterAttrs sum = attrs;
  sum.combine = static_cast<int64_t>(Combine::Sum);
  const auto scatter = [&](const ScatterAttrs& how, const Tensor& x, const Tensor& updates) {
    return call_op(ops::scatter, how, {}, x, c.in(1), updates);
  };
  if (c.need(0)) c.set(0, c.ct() * scatter(attrs, ones_like(c.in(0)), c.in(2)));
  if (!c.need(2)) return;
  const Tensor x_zero = c.in(0) == 0, update_zero = c.in(2) == 0;
  const Tensor product = scatter(attrs, where(x_zero, 1, c.in(0)), where(update_zero, 1, c.in(2)));
  const Tensor count = scatter(sum, cast(x_zero, i32), cast(update_zero, i32));
  const Tensor others = read_back(count, c.in(1), attrs, update.shape) - cast(update_zero, i32);
  const Tensor rest = read_back(product * c.ct(), c.in(1), attrs, update.shape) / where(update_zero, 1, c.in(2));
  c.set(2, where(others == 0, rest, 0));
}

// Ties share the gradient, as in maximum.
void vjp_scatter_extremum(VjpContext& c, const ScatterAttrs& attrs) {
  const TensorType& update = c.in_type(2);
  ScatterAttrs sum = attrs;
  sum.combine = static_cast<int64_t>(Combine::Sum);
  const Tensor x_wins = c.in(0) == c.out(), update_wins = read_back(c.out(), c.in(1), attrs, update.shape) == c.in(2);
  const Tensor count =
      call_op(ops::scatter, sum, {}, cast(x_wins, c.ct().dtype()), c.in(1), cast(update_wins, c.ct().dtype()));
  const Tensor share = c.ct() / count;
  if (c.need(0)) c.set(0, where(x_wins, share, 0));
  if (c.need(2)) c.set(2, where(update_wins, read_back(share, c.in(1), attrs, update.shape), 0));
}

void vjp_scatter(VjpContext& c) {
  const auto& attrs = c.attrs_as<ScatterAttrs>();
  switch (static_cast<Combine>(attrs.combine)) {
    case Combine::Set:
      return vjp_scatter_set(c, attrs);
    case Combine::Prod:
      return vjp_scatter_prod(c, attrs);
    case Combine::Max:
    case Combine::Min:
      return vjp_scatter_extremum(c, attrs);
    case Combine::Sum:
      break;
  }
  c.set(0, c.ct());
  if (c.need(2)) c.set(2, read_back(c.ct(), c.in(1), attrs, c.in_type(2).shape));
}

// ---- samples

std::vector<Sample> gather_samples() {
  std::vector<Sample> samples;
  const auto add = [&](const Shape& x, const Shape& indices, DType index, const GatherAttrs& attrs, double low,
                       double high) {
    samples.push_back({.inputs = {{f32, x}, {index, indices}}, .attrs = Attrs(attrs), .low = low, .high = high});
  };
  add({5, 3}, {4}, i32, {{1}, {0}, {0}, 1, {1, 3}}, -2, 6);          // rows, some out of range
  add({5, 3}, {2, 2}, i64, {{2}, {0}, {0}, 2, {1, 3}}, 0, 4);        // rows, a grid of indices
  add({5, 3}, {0}, i32, {{1}, {0}, {0}, 1, {1, 3}}, 0, 4);           // no rows
  add({5, 3}, {}, i32, {{0}, {0}, {0}, 0, {1, 3}}, 0, 4);            // one row
  add({3, 4}, {5, 2}, i32, {{}, {0, 1}, {0, 1}, 1, {1, 1}}, -1, 4);  // single elements
  add({3, 4}, {2, 5}, i32, {{}, {0, 1}, {1, 0}, 0, {1, 1}}, 0, 3);   // components first, in the other order
  add({6, 4}, {3, 1}, u8, {{1, 2}, {}, {0}, 1, {2, 3}}, 0, 6);       // blocks
  add({2, 4, 3}, {3}, i32, {{0, 2}, {1}, {1}, 1, {2, 1, 3}}, 0, 3);  // along a middle axis
  add({2, 70}, {9}, i32, {{1}, {0}, {0}, 1, {1, 70}}, 0, 1);
  return samples;
}

std::vector<Sample> scatter_samples() {
  std::vector<Sample> samples;
  const auto add = [&](Combine combine, const Shape& x, const Shape& indices, const Shape& updates, ScatterAttrs attrs,
                       double low, double high) {
    attrs.combine = static_cast<int64_t>(combine);
    samples.push_back(
        {.inputs = {{f32, x}, {i32, indices}, {f32, updates}}, .attrs = Attrs(attrs), .low = low, .high = high});
  };
  const ScatterAttrs rows{{1}, {0}, {0}, 1}, elements{{}, {0, 1}, {0, 1}, 1}, blocks{{1, 2}, {}, {0, 1}, 1};
  for (Combine combine : {Combine::Set, Combine::Sum, Combine::Prod, Combine::Max, Combine::Min}) {
    add(combine, {5, 3}, {4}, {4, 3}, rows, -2, 6);  // some out of range, some twice
    add(combine, {3, 4}, {6, 2}, {6}, elements, -1, 4);
  }
  add(Combine::Sum, {5, 3}, {0}, {0, 3}, rows, 0, 4);
  add(Combine::Sum, {4, 5}, {3, 2}, {3, 2, 3}, blocks, -1, 5);  // blocks that overlap and reach out
  add(Combine::Set, {4, 5}, {2, 2}, {2, 2, 2}, blocks, 0, 3);
  add(Combine::Sum, {3, 130}, {17}, {17, 130}, rows, 0, 2);
  add(Combine::Sum, {2, 4, 3}, {3}, {2, 3, 3}, {{0, 2}, {1}, {1}, 1}, 0, 3);  // along a middle axis
  add(Combine::Sum, {5}, {}, {}, {{}, {0}, {0}, 0}, 0, 4);
  return samples;
}

}  // namespace

constinit const Op ops::gather = define(OpId::gather, OpClass::Movement,
                                        {
                                            .doc = "slices at run-time indices, moved so that they fit",
                                            .operands = "x indices",
                                            .attrs = &attr_type<GatherAttrs>(),
                                            .min_inputs = 2,
                                            .max_inputs = 2,
                                            .infer = infer_gather,
                                            .vjp = vjp_gather,
                                            .reads = {.in = 2},
                                            .batch = batch::gather,
                                            .samples = gather_samples,
                                        });

constinit const Op ops::scatter = define(OpId::scatter, OpClass::Movement,
                                         {
                                             .doc = "x with updates combined into slices at run-time indices, in index "
                                                    "order; elements out of range are dropped",
                                             .operands = "x indices updates",
                                             .attrs = &attr_type<ScatterAttrs>(),
                                             .min_inputs = 3,
                                             .max_inputs = 3,
                                             .infer = infer_scatter,
                                             .vjp = vjp_scatter,
                                             .reads = {.in = 7, .out = 1},
                                             .batch = batch::scatter,
                                             .samples = scatter_samples,
                                         });

namespace {

// One coordinate vector for each element of `indices`: its own position, but for `axis`, where the index stands.
Tensor coordinates(const Tensor& indices, int axis, Location location) {
  if (indices.rank() == 1) return indices;
  TensorList parts;
  for (int i = 0; i < indices.rank(); ++i) {
    Tensor part = i == axis ? indices : iota(indices.shape(), i, indices.dtype(), location);
    parts.push_back(expand_dims({std::move(part), location}, -1));
  }
  return concatenate({parts.data(), parts.size()}, indices.rank(), location);
}

Ints all_axes(int rank) {
  Ints axes;
  for (int i = 0; i < rank; ++i) axes.push_back(i);
  return axes;
}

Tensor checked_indices(Operand&& indices, std::string_view op) {
  const Location location = indices.location;
  Tensor value = to_tensor(std::move(indices));
  if (!is_integer(value.dtype())) {
    throw Error(Code::kInvalidArgument,
                {.what = fmt::format("dtype mismatch in {}", op),
                 .location = LocationScope::resolve(location),
                 .details = {fmt::format("indices: {}, expected an integer dtype", to_string(value.type()))},
                 .fix = "convert them: cast(indices, i32)"});
  }
  return size_of(value.dtype()) < 4 ? cast({std::move(value), location}, i32) : value;
}

// Negative indices count from the end.
Tensor from_start(const Tensor& indices, const Shape& shape, int axis, Location location) {
  if (!is_signed_integer(indices.dtype())) return indices;
  const Tensor n = cast({extent(shape, axis, location), location}, indices.dtype());
  const Tensor wrapped = add({indices, location}, {n, location});
  return where({less({indices, location}, {0, location}), location}, {wrapped, location}, {indices, location});
}

Tensor scatter_rows(Operand& x, Operand& indices, Operand& updates, Combine combine) {
  const Location location = x.location;
  Tensor value = to_tensor(std::move(x));
  Tensor rows = checked_indices(std::move(indices), "scatter");
  checked_axis(value.shape(), 0, "scatter", location);
  ScatterAttrs attrs{{}, {0}, {0}, rows.rank(), static_cast<int64_t>(combine)};
  Shape wanted = rows.shape();
  for (int i = 1; i < value.rank(); ++i) {
    attrs.update_window_dims.push_back(rows.rank() + i - 1);
    wanted.push_back(value.shape()[i]);
  }
  Tensor parts = broadcast_to(to_tensor(std::move(updates), value.dtype()), wanted, location);
  return call_op(ops::scatter, attrs, location, std::move(value), std::move(rows), std::move(parts));
}

}  // namespace

Tensor gather_along_axis(const Tensor& x, const Tensor& indices, int axis, Location location) {
  if (indices.shape().elements() == Dim(0))
    return zeros(indices.shape(), x.dtype(), location);  // also of an empty axis
  const int rank = x.rank();
  GatherAttrs attrs{{}, all_axes(rank), all_axes(rank), rank, {}};
  attrs.slice_sizes.resize(static_cast<size_t>(rank), 1);
  return call_op(ops::gather, attrs, location, x, coordinates(indices, axis, location));
}

Tensor scatter_along_axis(const Tensor& x, const Tensor& indices, const Tensor& updates, int axis, Combine combine) {
  const int rank = x.rank();
  const ScatterAttrs attrs{{}, all_axes(rank), all_axes(rank), rank, static_cast<int64_t>(combine)};
  return call_op(ops::scatter, attrs, {}, x, coordinates(indices, axis, {}), updates);
}

Tensor take(Operand x, Operand indices, int axis) {
  const Location location = x.location;
  Tensor value = to_tensor(std::move(x));
  const int at = checked_axis(value.shape(), axis, "take", location);
  Tensor rows = checked_indices(std::move(indices), "take");
  if (rows.shape().elements() == Dim(0)) {  // also of an empty axis
    Shape none = value.shape();
    none.erase(static_cast<size_t>(at));
    for (int i = 0; i < rows.rank(); ++i) none.insert(static_cast<size_t>(at + i), rows.shape()[i]);
    return zeros(none, value.dtype(), location);
  }
  rows = from_start(rows, value.shape(), at, location);
  GatherAttrs attrs{{}, {at}, {at}, rows.rank(), value.shape()};
  attrs.slice_sizes[at] = 1;
  for (int i = 0; i < value.rank(); ++i) {
    if (i != at) attrs.offset_dims.push_back(i < at ? i : i - 1 + rows.rank());
  }
  return call_op(ops::gather, attrs, location, std::move(value), std::move(rows));
}

Tensor take_along_axis(Operand x, Operand indices, int axis) {
  const Location location = x.location;
  const Tensor value = to_tensor(std::move(x));
  const int at = checked_axis(value.shape(), axis, "take_along_axis", location);
  Tensor picks = checked_indices(std::move(indices), "take_along_axis");
  bool fits = picks.rank() == value.rank();
  for (int i = 0; fits && i < value.rank(); ++i) fits = i == at || picks.shape()[i] == value.shape()[i];
  if (!fits) {
    throw Error(Code::kInvalidArgument,
                {.what = "shape mismatch in take_along_axis",
                 .location = LocationScope::resolve(location),
                 .details = {fmt::format("x: {}   indices: {}", to_string(value.type()), to_string(picks.type())),
                             fmt::format("the shapes may differ along axis {} only", at)},
                 .fix = "take(x, indices, axis) picks whole slices"});
  }
  return gather_along_axis(value, from_start(picks, value.shape(), at, location), at, location);
}

Tensor scatter_add(Operand x, Operand indices, Operand updates) {
  return scatter_rows(x, indices, updates, Combine::Sum);
}
Tensor scatter_set(Operand x, Operand indices, Operand updates) {
  return scatter_rows(x, indices, updates, Combine::Set);
}

Tensor gather(Operand x, Operand indices, const GatherAttrs& attrs) {
  const Location location = x.location;
  return call_op(ops::gather, attrs, location, to_tensor(std::move(x)), to_tensor(std::move(indices)));
}

Tensor scatter(Operand x, Operand indices, Operand updates, const ScatterAttrs& attrs) {
  const Location location = x.location;
  Tensor value = to_tensor(std::move(x));
  Tensor parts = to_tensor(std::move(updates), value.dtype());
  return call_op(ops::scatter, attrs, location, std::move(value), to_tensor(std::move(indices)), std::move(parts));
}

}  // namespace hone
