// Ops that copy elements to other places: definitions and their public functions.
#include "hone/ops/movement.h"

#include <fmt/format.h>

#include "hone/base/error.h"
#include "hone/ops/creation.h"
#include "hone/ops/family.h"
#include "hone/ops/promote.h"
#include "hone/ops/views.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

using family::define;

template <class A>
Sample sample(std::vector<TensorType> inputs, const A& attrs) {
  return {.inputs = std::move(inputs), .attrs = Attrs(attrs)};
}

void check_length(InferContext& c, const char* what, size_t length) {
  if (length == c.shape(0).size()) return;
  c.fail("wrong number of entries", fmt::format("{} has {} entries, x has {} axes", what, length, c.shape(0).rank()),
         "give one entry an axis");
}

// ---- concatenate

void infer_concatenate(InferContext& c) {
  const int64_t axis = c.attrs<AxisAttrs>().axis;
  Shape out = c.shape(0);
  if (axis < 0 || axis >= out.rank()) {
    c.fail("invalid axis", fmt::format("axis {} of tensors of rank {}", axis, out.rank()),
           out.rank() ? fmt::format("use an axis in [0, {}]", out.rank() - 1) : "scalars are joined by stack()");
  }
  for (int i = 1; i < c.inputs(); ++i) {
    if (c.dtype(i) != c.dtype(0)) c.fail("dtype mismatch", {}, "convert the parts to one dtype: cast(x, dtype)");
    if (c.shape(i).rank() != out.rank()) {
      c.fail("shape mismatch", fmt::format("part 0 has {} axes, part {} has {}", out.rank(), i, c.shape(i).rank()),
             "reshape the parts to one rank");
    }
    for (int a = 0; a < out.rank(); ++a) {
      if (a == axis || c.shape(i)[a] == out[a]) continue;
      c.fail("shape mismatch",
             fmt::format("parts may differ along axis {} only: axis {} is {} in part 0, {} in part {}", axis, a,
                         to_string(out[a]), to_string(c.shape(i)[a]), i),
             "pad or slice the parts, or join them along another axis");
    }
    out[axis] = out[axis] + c.shape(i)[axis];
  }
  c.out() = {c.dtype(0), out};
}

void vjp_concatenate(VjpContext& c) {
  const int64_t axis = c.attrs_as<AxisAttrs>().axis;
  Dim at = 0;
  for (int i = 0; i < c.inputs(); ++i) {
    const Shape& part = c.in_type(i).shape;
    const Dim next = at + part[axis];
    if (c.need(i)) {
      Shape start, limit = part;
      start.resize(part.size());
      start[axis] = at;
      limit[axis] = next;
      c.set(i, hone::slice_by(c.ct(), start, limit));
    }
    at = next;
  }
}

// ---- slice

void infer_slice(InferContext& c) {
  const auto& attrs = c.attrs<SliceAttrs>();
  check_length(c, "start", attrs.start.size());
  check_length(c, "limit", attrs.limit.size());
  check_length(c, "strides", attrs.strides.size());
  Shape out;
  for (int i = 0; i < c.shape(0).rank(); ++i) {
    const Dim n = c.shape(0)[i], start = attrs.start[i], limit = attrs.limit[i];
    const int64_t stride = attrs.strides[i];
    if (stride < 1)
      c.fail("invalid stride", fmt::format("axis {}: strides are >= 1, got {}", i, stride),
             "reverse(x, axes) turns an axis round");
    const Dim length = limit - start, rest = n - limit;
    if (start.max() < 0 || length.max() < 0 || rest.max() < 0) {
      c.fail("slice out of range", fmt::format("axis {}: expected 0 <= start <= limit <= {}, got start {}, limit {}", i,
                                               to_string(n), to_string(start), to_string(limit)));
    }
    out.push_back(stride == 1 ? length : floor_div(length + (stride - 1), stride));
  }
  c.out() = {c.dtype(0), out};
}

// A view of a dense tensor where what is taken lies in one piece: one index on the leading axes, a range of the next,
// the rest whole.
bool view_slice(const Call& call, std::span<const TensorType> types) {
  const Tensor& x = call.inputs[0];
  const Shape& out = types[0].shape;
  if (is_splat(x)) {
    call.outputs[0] = alias_splat(x, types[0]);
    return true;
  }
  if (!x.layout().dense) return false;
  const auto& attrs = call.attrs.as<SliceAttrs>();
  int axis = 0;
  while (axis < out.rank() && out[axis] == Dim(1)) ++axis;
  if (axis < out.rank() && attrs.strides[axis] != 1) return false;
  for (int i = axis + 1; i < out.rank(); ++i) {
    if (!(out[i] == x.shape()[i])) return false;
  }
  int64_t offset = 0, step = 1;
  for (int i = out.rank() - 1; i >= 0; --i) {
    offset += attrs.start[i].number() * step;
    step *= x.shape()[i].number();
  }
  if (types[0].shape.count() == 0) offset = 0;
  call.outputs[0] = x.alias(types[0], static_cast<size_t>(offset) * size_of(x.dtype()));
  return true;
}

void vjp_slice(VjpContext& c) {
  const auto& attrs = c.attrs_as<SliceAttrs>();
  const Shape &from = c.in_type(0).shape, &to = c.out_type().shape;
  PadAttrs pad;
  for (int i = 0; i < from.rank(); ++i) {
    const bool empty = to[i] == Dim(0);
    const int64_t stride = attrs.strides[i];
    const Dim last = stride == 1 ? attrs.limit[i] : attrs.start[i] + (to[i] - 1) * stride + 1;
    pad.low.push_back(empty ? 0 : attrs.start[i].number());
    pad.high.push_back((empty ? from[i] : from[i] - last).number());
    pad.interior.push_back(stride - 1);
  }
  const Tensor zero = full_like_scalar({}, c.ct().dtype(), Operand(0));
  c.set(0, call_op(ops::pad, pad, {}, c.ct(), zero));
}

// ---- pad

Dim padded(Dim n, int64_t low, int64_t high, int64_t interior) {
  return n + low + high + (interior == 0 ? Dim(0) : max(n - 1, Dim(0)) * interior);
}

void infer_pad(InferContext& c) {
  const auto& attrs = c.attrs<PadAttrs>();
  check_length(c, "low", attrs.low.size());
  check_length(c, "high", attrs.high.size());
  check_length(c, "interior", attrs.interior.size());
  if (c.dtype(1) != c.dtype(0)) c.fail("dtype mismatch", {}, "convert the padding value: cast(value, dtype)");
  if (!c.shape(1).empty())
    c.fail("shape mismatch", "the padding value is a scalar", "index or reduce the value to a scalar");
  Shape out;
  for (int i = 0; i < c.shape(0).rank(); ++i) {
    if (attrs.interior[i] < 0)
      c.fail("invalid padding", fmt::format("axis {}: interior padding is >= 0, got {}", i, attrs.interior[i]));
    const Dim extent = padded(c.shape(0)[i], attrs.low[i], attrs.high[i], attrs.interior[i]);
    if (extent.max() < 0) {
      c.fail("invalid padding",
             fmt::format("axis {}: {} elements with low {}, high {} leave {}", i, to_string(c.shape(0)[i]),
                         attrs.low[i], attrs.high[i], to_string(extent)),
             "cut no more than there is");
    }
    out.push_back(extent);
  }
  c.out() = {c.dtype(0), out};
}

bool view_pad(const Call& call, std::span<const TensorType> types) {
  const auto& attrs = call.attrs.as<PadAttrs>();
  const auto none = [](const Ints& amounts) { return std::ranges::all_of(amounts, [](int64_t n) { return n == 0; }); };
  if (!none(attrs.low) || !none(attrs.high)) return false;
  if (!(call.inputs[0].shape() == types[0].shape)) return false;  // interior padding
  call.outputs[0] = alias_as(call.inputs[0], types[0]);
  return true;
}

void vjp_pad(VjpContext& c) {
  const auto& attrs = c.attrs_as<PadAttrs>();
  const Shape& from = c.in_type(0).shape;
  const Tensor zero = full_like_scalar({}, c.ct().dtype(), Operand(0));
  // Back to where x's elements have their spread places, then only those.
  PadAttrs undo{{}, {}, Ints(from.size(), 0)};
  SliceAttrs pick;
  bool apart = false;
  for (int i = 0; i < from.rank(); ++i) {
    undo.low.push_back(-attrs.low[i]);
    undo.high.push_back(-attrs.high[i]);
    pick.start.push_back(0);
    pick.limit.push_back(padded(from[i], 0, 0, attrs.interior[i]));
    pick.strides.push_back(attrs.interior[i] + 1);
    apart = apart || attrs.interior[i] != 0;
  }
  Tensor inner = call_op(ops::pad, undo, {}, c.ct(), zero);
  if (apart) inner = call_op(ops::slice, pick, {}, std::move(inner));
  c.set(0, inner);
  if (!c.need(1)) return;
  const auto total = [](const Tensor& x) {
    AxesAttrs all;
    for (int i = 0; i < x.rank(); ++i) all.axes.push_back(i);
    return all.axes.empty() ? x : call_op(ops::reduce_sum, all, {}, x);
  };
  // All of the cotangent but what x's places took.
  PadAttrs again{attrs.low, attrs.high, attrs.interior};
  const Tensor mask = call_op(ops::pad, again, {}, zeros(from, bool_), full_like_scalar({}, bool_, Operand(true)));
  const Tensor nothing = zeros_like(c.ct());
  c.set(1, total(call_op(ops::select, {}, {}, mask, c.ct(), nothing)));
}

std::vector<Sample> pad_samples() {
  std::vector<Sample> samples;
  const auto add = [&](const Shape& shape, const Ints& low, const Ints& high, const Ints& interior) {
    samples.push_back(sample({{f32, shape}, {f32, {}}}, PadAttrs{low, high, interior}));
  };
  add({}, {}, {}, {}), add({3}, {1}, {2}, {0}), add({3}, {0}, {0}, {0}), add({3}, {0}, {0}, {2}),
      add({5}, {-1}, {-2}, {0});
  add({5}, {-2}, {3}, {1}), add({0}, {2}, {1}, {3}), add({1}, {0}, {0}, {4}), add({3}, {-3}, {0}, {0}),
      add({2, 3}, {1, 0}, {0, 2}, {0, 1});
  add({2, 3, 4}, {0, 1, -1}, {1, 1, 2}, {2, 0, 0}), add({2, 5, 5, 3}, {0, 1, 1, 0}, {0, 1, 1, 0}, {0, 0, 0, 0}),
      add({0, 3}, {0, 1}, {0, 1}, {0, 0});
  return samples;
}

bool batch_pad(BatchContext& c) {
  if (batch::leading<PadAttrs, 1>(c)) return true;
  // A value for each example: where it goes is the same for all.
  return c.decompose([](const Call& call) {
    const Tensor& x = call.inputs[0];
    const Tensor zero = full_like_scalar({}, x.dtype(), Operand(0));
    const Tensor outside = call_op(ops::pad, call.attrs, {}, zeros(x.shape(), bool_), Tensor(true));
    const Tensor value = broadcast_to(call.inputs[1], outside.shape());
    call.outputs[0] = call_op(ops::select, {}, {}, outside, value, call_op(ops::pad, call.attrs, {}, x, zero));
  });
}

// ---- reverse

void infer_reverse(InferContext& c) {
  uint32_t seen = 0;
  for (int64_t axis : c.attrs<AxesAttrs>().axes) {
    if (axis < 0 || axis >= c.shape(0).rank() || (seen >> axis & 1)) {
      c.fail("invalid axes",
             fmt::format("axis {} is out of range for rank {} or listed twice", axis, c.shape(0).rank()),
             "name each axis once");
    }
    seen |= 1U << axis;
  }
  c.out() = c.in(0);
}

bool view_reverse(const Call& call, std::span<const TensorType> types) {
  const Tensor& x = call.inputs[0];
  for (int64_t axis : call.attrs.as<AxesAttrs>().axes) {
    if (!(x.shape()[axis] == Dim(1)) && !is_splat(x)) return false;
  }
  call.outputs[0] = alias_as(x, types[0]);
  return true;
}

// ---- dynamic slices

void check_start(InferContext& c, int first) {
  const int rank = c.shape(0).rank();
  if (c.inputs() != first + rank) {
    c.fail("wrong number of start indices",
           fmt::format("x has {} axes, got {} start indices", rank, c.inputs() - first),
           "give one scalar integer an axis");
  }
  for (int i = first; i < c.inputs(); ++i) {
    if (!is_integer(c.dtype(i)) || !c.shape(i).empty()) {
      c.fail("invalid start index", fmt::format("operand {} must be a scalar integer, is {}", i, to_string(c.in(i))),
             "index or cast it");
    }
  }
}

void check_fits(InferContext& c, const Shape& sizes) {
  check_length(c, "sizes", sizes.size());
  for (int i = 0; i < sizes.rank(); ++i) {
    const Dim rest = c.shape(0)[i] - sizes[i];
    if (sizes[i].max() < 0 || rest.max() < 0) {
      c.fail(
          "shape mismatch",
          fmt::format("axis {}: a block of {} does not fit into {}", i, to_string(sizes[i]), to_string(c.shape(0)[i])),
          "the block may be no larger than x");
    }
  }
}

Tensor with_start(const Op& op, AttrRef attrs, Location location, TensorList inputs, std::span<const Tensor> start) {
  for (const Tensor& index : start) inputs.push_back(index);
  return dispatch(op, attrs, {inputs.data(), inputs.size()}, location);
}
TensorList start_of(VjpContext& c, int first) {
  TensorList start;
  for (int i = first; i < c.inputs(); ++i) start.push_back(c.in(i));
  return start;
}

std::vector<Sample> dynamic_samples(bool update) {
  std::vector<Sample> samples;
  const auto add = [&](const Shape& shape, const Shape& sizes, DType index) {
    Sample one{.inputs = {{f32, shape}}, .low = -1, .high = 3};
    if (update)
      one.inputs.push_back({f32, sizes});
    else
      one.attrs = Attrs(ShapeAttrs{sizes});
    for (int i = 0; i < shape.rank(); ++i) one.inputs.push_back({index, {}});
    samples.push_back(std::move(one));
  };
  add({}, {}, i32), add({5}, {2}, i32), add({5}, {5}, i64), add({4, 1}, {1, 1}, i32), add({3, 4}, {2, 4}, i32),
      add({2, 3, 5}, {1, 2, 3}, i32);
  add({3, 4}, {0, 2}, i32), add({0}, {0}, i32), add({5}, {2}, i8);
  return samples;
}

}  // namespace

namespace ops {

constinit const Op concatenate =
    define(OpId::concatenate, OpClass::Movement,
           {
               .doc = "joins along an axis",
               .operands = "x",
               .attrs = &attr_type<AxisAttrs>(),
               .max_inputs = -1,
               .infer = infer_concatenate,
               .vjp = vjp_concatenate,
               .batch = batch::leading<AxisAttrs>,
               .samples =
                   [] {
                     const auto of = [](std::initializer_list<Shape> shapes, int64_t axis) {
                       Sample one{.inputs = {}, .attrs = Attrs(AxisAttrs{axis})};
                       for (const Shape& shape : shapes) one.inputs.push_back({f32, shape});
                       return one;
                     };
                     return std::vector<Sample>{of({{2}, {3}}, 0),
                                                of({{4}}, 0),
                                                of({{2, 3}, {1, 3}, {4, 3}}, 0),
                                                of({{2, 3}, {2, 1}, {2, 0}, {2, 5}}, 1),
                                                of({{0}, {0}}, 0),
                                                of({{2, 0, 3}, {2, 4, 3}}, 1),
                                                of({{2, 2, 3}, {2, 2, 17}}, 2)};
                   },
           });

constinit const Op slice = define(
    OpId::slice, OpClass::Movement,
    {
        .doc = "elements start <= i < limit in steps along each axis",
        .operands = "x",
        .attrs = &attr_type<SliceAttrs>(),
        .infer = infer_slice,
        .vjp = vjp_slice,
        .batch = batch::leading<SliceAttrs>,
        .view = view_slice,
        .samples =
            [] {
              const auto of = [](const Shape& shape, const Shape& start, const Shape& limit, const Ints& strides) {
                return sample({{f32, shape}}, SliceAttrs{start, limit, strides});
              };
              return std::vector<Sample>{of({}, {}, {}, {}),
                                         of({5}, {1}, {4}, {1}),
                                         of({5}, {0}, {5}, {2}),
                                         of({6}, {1}, {6}, {3}),
                                         of({5}, {2}, {2}, {1}),
                                         of({0}, {0}, {0}, {1}),
                                         of({4, 5}, {1, 0}, {3, 5}, {1, 1}),
                                         of({4, 5}, {0, 1}, {4, 5}, {1, 1}),
                                         of({4, 5}, {0, 1}, {4, 5}, {3, 2}),
                                         of({1, 5, 3}, {0, 2, 0}, {1, 3, 3}, {1, 7, 1}),
                                         of({2, 3, 17}, {0, 1, 3}, {2, 3, 16}, {1, 1, 1})};
            },
    });

constinit const Op pad = define(OpId::pad, OpClass::Movement,
                                {
                                    .doc = "a value added before, after and between elements; negative amounts cut",
                                    .operands = "x value",
                                    .attrs = &attr_type<PadAttrs>(),
                                    .min_inputs = 2,
                                    .max_inputs = 2,
                                    .infer = infer_pad,
                                    .vjp = vjp_pad,
                                    .batch = batch_pad,
                                    .view = view_pad,
                                    .samples = pad_samples,
                                });

constinit const Op reverse =
    define(OpId::reverse, OpClass::Movement,
           {
               .doc = "elements along some axes in reverse order",
               .operands = "x",
               .attrs = &attr_type<AxesAttrs>(),
               .infer = infer_reverse,
               .vjp = [](VjpContext& c) { c.set(0, call_op(ops::reverse, c.attrs(), {}, c.ct())); },
               .batch = batch::leading<AxesAttrs>,
               .view = view_reverse,
               .samples =
                   [] {
                     return std::vector<Sample>{
                         sample({{f32, {5}}}, AxesAttrs{{0}}),         sample({{f32, {2, 3}}}, AxesAttrs{{1}}),
                         sample({{f32, {2, 3}}}, AxesAttrs{{0, 1}}),   sample({{f32, {2, 3}}}, AxesAttrs{}),
                         sample({{f32, {1, 3}}}, AxesAttrs{{0}}),      sample({{f32, {0}}}, AxesAttrs{{0}}),
                         sample({{f32, {3, 2, 4}}}, AxesAttrs{{0, 2}})};
                   },
           });

constinit const Op dynamic_slice =
    define(OpId::dynamic_slice, OpClass::Movement,
           {
               .doc = "a block at run-time indices, moved so that it fits",
               .operands = "x start",
               .attrs = &attr_type<ShapeAttrs>(),
               .max_inputs = -1,
               .infer =
                   [](InferContext& c) {
                     const Shape& sizes = c.attrs<ShapeAttrs>().shape;
                     check_start(c, 1);
                     check_fits(c, sizes);
                     c.out() = {c.dtype(0), sizes};
                   },
               .vjp =
                   [](VjpContext& c) {
                     const TensorList start = start_of(c, 1);
                     const TensorType& type = c.in_type(0);
                     c.set(0, with_start(ops::dynamic_update_slice, {}, {}, {zeros(type.shape, type.dtype), c.ct()},
                                         {start.data(), start.size()}));
                   },
               .reads = {.in = ~1U},
               .batch = batch::dynamic_slice,
               .samples = [] { return dynamic_samples(false); },
           });

constinit const Op dynamic_update_slice =
    define(OpId::dynamic_update_slice, OpClass::Movement,
           {
               .doc = "x with a block replaced at run-time indices, moved so that it fits",
               .operands = "x update start",
               .min_inputs = 2,
               .max_inputs = -1,
               .infer =
                   [](InferContext& c) {
                     if (c.dtype(1) != c.dtype(0))
                       c.fail("dtype mismatch", {}, "convert the update: cast(update, dtype)");
                     check_start(c, 2);
                     check_fits(c, c.shape(1));
                     c.out() = c.in(0);
                   },
               .vjp =
                   [](VjpContext& c) {
                     const TensorList start = start_of(c, 2);
                     const TensorType& update = c.in_type(1);
                     if (c.need(0)) {
                       c.set(0, with_start(ops::dynamic_update_slice, {}, {},
                                           {c.ct(), zeros(update.shape, update.dtype)}, {start.data(), start.size()}));
                     }
                     if (c.need(1))
                       c.set(1, with_start(ops::dynamic_slice, ShapeAttrs{update.shape}, {}, {c.ct()},
                                           {start.data(), start.size()}));
                   },
               .reads = {.in = ~3U},
               .batch = batch::dynamic_update_slice,
               .samples = [] { return dynamic_samples(true); },
           });

}  // namespace ops

Tensor concatenate(std::span<const Tensor> parts, int axis, Location location) {
  if (parts.empty()) {
    throw Error(Code::kInvalidArgument, {.what = "concatenate of no tensors",
                                         .location = LocationScope::resolve(location),
                                         .fix = "pass at least one"});
  }
  DType dtype = parts[0].defined() ? parts[0].dtype() : f32;
  for (const Tensor& part : parts) {
    if (part.defined()) dtype = promote(dtype, part.dtype());
  }
  TensorList inputs;
  for (const Tensor& part : parts) inputs.push_back(to_tensor(Operand(part, location), dtype));
  const AxisAttrs attrs{checked_axis(inputs[0].shape(), axis, "concatenate", location)};
  return dispatch(ops::concatenate, attrs, {inputs.data(), inputs.size()}, location);
}

Tensor slice_by(Operand x, const Shape& start, const Shape& limit, const Ints& strides) {
  const Location location = x.location;
  Tensor value = to_tensor(std::move(x));
  const SliceAttrs attrs{start, limit, strides.empty() ? Ints(start.size(), 1) : strides};
  return call_op(ops::slice, attrs, location, std::move(value));
}

Tensor pad(Operand x, const Ints& low, const Ints& high, Operand value, const Ints& interior) {
  const Location location = x.location;
  Tensor tensor = to_tensor(std::move(x));
  const PadAttrs attrs{low, high, interior.empty() ? Ints(low.size(), 0) : interior};
  Tensor filling = to_tensor(std::move(value), tensor.dtype());
  return call_op(ops::pad, attrs, location, std::move(tensor), std::move(filling));
}

Tensor reverse(Operand x, const Ints& axes) {
  const Location location = x.location;
  Tensor value = to_tensor(std::move(x));
  const AxesAttrs attrs{checked_axes(value.shape(), axes, "reverse", location)};
  return call_op(ops::reverse, attrs, location, std::move(value));
}

Tensor dynamic_slice(Operand x, std::span<const Tensor> start, const Shape& sizes) {
  const Location location = x.location;
  TensorList inputs;
  inputs.push_back(to_tensor(std::move(x)));
  return with_start(ops::dynamic_slice, ShapeAttrs{sizes}, location, std::move(inputs), start);
}

Tensor dynamic_update_slice(Operand x, Operand update, std::span<const Tensor> start) {
  const Location location = x.location;
  TensorList inputs;  // moved in, so that the memory of a temporary x is updated in place
  inputs.push_back(to_tensor(std::move(x)));
  inputs.push_back(to_tensor(std::move(update), inputs[0].dtype()));
  return with_start(ops::dynamic_update_slice, {}, location, std::move(inputs), start);
}

}  // namespace hone
