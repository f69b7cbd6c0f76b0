// Conversions between dtypes: by value and by bits.
#include <fmt/format.h>

#include "hone/ops/creation.h"
#include "hone/ops/family.h"
#include "hone/ops/promote.h"
#include "hone/ops/views.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

bool view_convert(const Call& call, std::span<const TensorType> types) {
  if (call.inputs[0].dtype() != types[0].dtype) return false;
  call.outputs[0] = alias_as(call.inputs[0], types[0]);
  return true;
}

std::vector<Sample> convert_samples() {
  std::vector<Sample> samples;
  const auto add = [&](DType from, DType to, const Shape& shape, double low, double high) {
    samples.push_back({.inputs = {{from, shape}},
                       .attrs = Attrs(DTypeAttrs{to}),
                       .low = low,
                       .high = high,
                       .differentiable = is_floating(from) && to == f64});
  };
  for (int to = 0; to < kDTypes; ++to) add(f32, static_cast<DType>(to), {17}, -300, 300);
  for (int from = 0; from < kDTypes; ++from) {
    for (DType to : {f32, f64, bf16, f16, i8, i32, u8}) add(static_cast<DType>(from), to, {67}, -100, 100);
  }
  add(f32, f64, {}, -2, 2), add(f32, f64, {0}, -2, 2), add(f32, bf16, {3, 1, 5}, -2, 2);
  return samples;
}

void infer_bitcast(InferContext& c) {
  const DType from = c.dtype(0), to = c.attrs<DTypeAttrs>().dtype;
  const auto wide = static_cast<int64_t>(size_of(from)), narrow = static_cast<int64_t>(size_of(to));
  if ((from == bool_) != (to == bool_)) {
    c.fail("dtype mismatch", "a bool is no pattern of bits", "cast(x, dtype) converts by value");
  }
  Shape shape = c.shape(0);
  if (wide > narrow) {
    shape.push_back(wide / narrow);
  } else if (wide < narrow) {
    const int64_t parts = narrow / wide;
    if (shape.empty() || !(shape.back() == Dim(parts))) {
      c.fail("shape mismatch",
             fmt::format("{} elements of {} make one {}: the last axis must be {}", parts, name(from), name(to), parts),
             "reshape the tensor so that its last axis holds the parts");
    }
    shape.resize(shape.size() - 1);
  }
  c.out() = {to, shape};
}

bool view_bitcast(const Call& call, std::span<const TensorType> types) {
  const Tensor& x = call.inputs[0];
  call.outputs[0] = x.shape() == types[0].shape ? alias_as(x, types[0]) : x.dense().alias(types[0]);
  return true;
}

std::vector<Sample> bitcast_samples() {
  std::vector<Sample> samples;
  const auto add = [&](DType from, DType to, const Shape& shape) {
    samples.push_back({.inputs = {{from, shape}}, .attrs = Attrs(DTypeAttrs{to}), .differentiable = false});
  };
  add(f32, i32, {2, 3}), add(f32, u32, {}), add(f32, u32, {0}), add(f32, u8, {3}), add(u8, f32, {3, 4});
  add(f64, i32, {2}), add(bf16, i16, {5}), add(u16, f16, {5}), add(f32, f32, {4});
  return samples;
}

}  // namespace

constinit const Op ops::convert = family::define(
    OpId::convert, OpClass::Elementwise,
    {
        .doc = "the value in another dtype: rounds to nearest even; to integers truncates and saturates, NaN gives 0",
        .operands = "x",
        .attrs = &attr_type<DTypeAttrs>(),
        .infer = [](InferContext& c) { c.out() = {c.attrs<DTypeAttrs>().dtype, c.shape(0)}; },
        .vjp =
            [](VjpContext& c) {
              if (is_floating(c.in_type(0).dtype) && is_floating(c.out_type().dtype))
                c.set(0, cast(c.ct(), c.in_type(0).dtype));
            },
        .batch = batch::leading<>,
        .view = view_convert,
        .samples = convert_samples,
    },
    family::elementwise_cost);

constinit const Op ops::bitcast_convert =
    family::define(OpId::bitcast_convert, OpClass::View,
                   {
                       .doc = "the same bits as another dtype; a difference in width makes or takes a last axis",
                       .operands = "x",
                       .attrs = &attr_type<DTypeAttrs>(),
                       .infer = infer_bitcast,
                       .batch = batch::leading<>,
                       .view = view_bitcast,
                       .samples = bitcast_samples,
                       .dtypes = kNumbers,
                   });

Tensor cast(Operand x, DType dtype) { return to_tensor(std::move(x), dtype); }

Tensor bitcast(Operand x, DType dtype) {
  const Location location = x.location;
  return call_op(ops::bitcast_convert, DTypeAttrs{dtype}, location, to_tensor(std::move(x)));
}

}  // namespace hone
