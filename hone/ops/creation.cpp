#include "hone/ops/creation.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "hone/base/error.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/family.h"
#include "hone/ops/movement.h"
#include "hone/ops/promote.h"
#include "hone/ops/views.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

void check_extents(InferContext& c, const Shape& shape) {
  for (Dim d : shape) {
    if (d.is_number() && d.number() < 0) {
      c.fail("shape mismatch", "extents must be >= 0, got " + to_string(shape), "check the shape");
    }
  }
}

bool view_constant(const Call& call, std::span<const TensorType> types) {
  const auto& attrs = call.attrs.as<ConstantAttrs>();
  const Tensor one = Tensor::empty({attrs.dtype, {}}, call.location);
  std::memcpy(one.mutable_bytes(), &attrs.bits, size_of(attrs.dtype));
  checked_bytes(types[0], call.location);
  call.outputs[0] = alias_splat(one, types[0]);
  return true;
}

std::vector<Sample> constant_samples() {
  std::vector<Sample> samples;
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{2, 3}}) {
    samples.push_back({.inputs = {}, .attrs = Attrs(ConstantAttrs{f32, shape, 0x40490FDB}), .differentiable = false});
  }
  samples.push_back({.inputs = {}, .attrs = Attrs(ConstantAttrs{bool_, {3}, 1}), .differentiable = false});
  return samples;
}

void infer_iota(InferContext& c) {
  const auto& attrs = c.attrs<IotaAttrs>();
  check_extents(c, attrs.shape);
  if (attrs.dtype == bool_) c.fail("dtype mismatch", "iota counts: its dtype is a number's, not bool");
  if (attrs.axis < 0 || attrs.axis >= attrs.shape.rank()) {
    c.fail("invalid axis", fmt::format("axis {} of shape {}", attrs.axis, to_string(attrs.shape)),
           attrs.shape.rank() ? fmt::format("use an axis in [0, {}]", attrs.shape.rank() - 1) : "a scalar has no axes");
  }
  c.out() = {attrs.dtype, attrs.shape};
}

std::vector<Sample> iota_samples() {
  std::vector<Sample> samples;
  const auto add = [&](DType dtype, const Shape& shape, int64_t axis) {
    samples.push_back({.inputs = {}, .attrs = Attrs(IotaAttrs{dtype, shape, axis}), .differentiable = false});
  };
  for (DType dtype : {i32, f32, f64, f16, bf16, i8, u8, i64}) add(dtype, {5}, 0);
  add(i32, {0}, 0), add(i32, {1}, 0), add(i32, {4, 1, 3}, 0), add(i32, {4, 1, 3}, 1), add(f32, {4, 2, 17}, 2);
  return samples;
}

}  // namespace

constinit const Op ops::constant = family::define(OpId::constant, OpClass::Creation,
                                                  {
                                                      .doc = "every element has the same value",
                                                      .attrs = &attr_type<ConstantAttrs>(),
                                                      .min_inputs = 0,
                                                      .max_inputs = 0,
                                                      .infer =
                                                          [](InferContext& c) {
                                                            const auto& attrs = c.attrs<ConstantAttrs>();
                                                            check_extents(c, attrs.shape);
                                                            c.out() = {attrs.dtype, attrs.shape};
                                                          },
                                                      .view = view_constant,
                                                      .samples = constant_samples,
                                                  });

constinit const Op ops::iota = family::define(OpId::iota, OpClass::Creation,
                                              {
                                                  .doc = "the index along one axis",
                                                  .attrs = &attr_type<IotaAttrs>(),
                                                  .min_inputs = 0,
                                                  .max_inputs = 0,
                                                  .infer = infer_iota,
                                                  .samples = iota_samples,
                                              });

Tensor full(const Shape& shape, Operand value, DType dtype) {
  if (value.is_scalar()) return full_like_scalar(shape, dtype, value);
  const Location location = value.location;
  return broadcast_to(to_tensor(std::move(value), dtype), shape, location);
}
Tensor zeros(const Shape& shape, DType dtype, Location location) {
  return full_like_scalar(shape, dtype, Operand(0, location));
}
Tensor ones(const Shape& shape, DType dtype, Location location) {
  return full_like_scalar(shape, dtype, Operand(1, location));
}
Tensor zeros_like(const Tensor& x, Location location) { return zeros(x.shape(), x.dtype(), location); }
Tensor ones_like(const Tensor& x, Location location) { return ones(x.shape(), x.dtype(), location); }

Tensor iota(const Shape& shape, int axis, DType dtype, Location location) {
  return dispatch(ops::iota, IotaAttrs{dtype, shape, checked_axis(shape, axis, "iota", location)}, {}, location);
}

Tensor arange(double start, double stop, double step, DType dtype, Location location) {
  const double count = std::ceil((stop - start) / step);
  if (step == 0 || std::isnan(count) || count > 1e15) {
    throw Error(Code::kInvalidArgument, {.what = fmt::format("arange({}, {}, {}) does not end", start, stop, step),
                                         .location = LocationScope::resolve(location),
                                         .fix = "pass finite bounds and a step other than 0"});
  }
  const bool fractional = start != std::floor(start) || step != std::floor(step);
  if (dtype == i32 && fractional) dtype = f32;
  const Shape shape{static_cast<int64_t>(std::max(count, 0.0))};
  if (start == 0 && step == 1 && dtype != bool_) return iota(shape, 0, dtype, location);
  if (!fractional && is_integer(dtype)) {
    const Tensor index = iota(shape, 0, i64, location);
    const Tensor scaled = multiply({index, location}, {static_cast<int64_t>(step), location});
    return cast({add({scaled, location}, {static_cast<int64_t>(start), location}), location}, dtype);
  }
  const Tensor index = iota(shape, 0, f64, location);  // rounds once, when it becomes `dtype`
  return cast({add({multiply({index, location}, {step, location}), location}, {start, location}), location}, dtype);
}

Tensor linspace(double start, double stop, int64_t count, DType dtype, Location location) {
  if (count < 0) {
    throw Error(Code::kInvalidArgument, {.what = fmt::format("linspace of {} values", count),
                                         .location = LocationScope::resolve(location),
                                         .fix = "pass a count >= 0"});
  }
  if (count <= 1) return full({count}, {start, location}, dtype);
  const Tensor index = iota({count}, 0, f64, location);
  const double step = (stop - start) / static_cast<double>(count - 1);
  const Tensor line = add({multiply({index, location}, {step, location}), location}, {start, location});
  const Tensor is_last = equal({index, location}, {count - 1, location});
  return cast({where({is_last, location}, {stop, location}, {line, location}), location}, dtype);
}

Tensor eye(int64_t rows, int64_t columns, DType dtype, Location location) {
  const Shape shape{rows, columns < 0 ? rows : columns};
  const Tensor row = iota(shape, 0, i64, location), column = iota(shape, 1, i64, location);
  return cast({equal({row, location}, {column, location}), location}, dtype);
}

Tensor tri(int64_t rows, int64_t columns, int64_t k, DType dtype, Location location) {
  const Shape shape{rows, columns};
  const Tensor row = iota(shape, 0, i64, location), column = iota(shape, 1, i64, location);
  const Tensor limit = add({row, location}, {k, location});
  return cast({less_equal({column, location}, {limit, location}), location}, dtype);
}

}  // namespace hone
