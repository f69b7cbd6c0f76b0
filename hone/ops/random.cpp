// Random numbers from an explicit state.
#include <fmt/format.h>

#include <cmath>

#include "hone/base/error.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/family.h"
#include "hone/ops/promote.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

void infer_rng(InferContext& c) {
  const auto& attrs = c.attrs<TypeAttrs>();
  if (c.dtype(0) != u64 || !(c.shape(0) == Shape{2})) {
    c.fail("invalid state", "a state is u64[2]: key and counter", "make one with random::state(seed)");
  }
  if (attrs.dtype != u32 && attrs.dtype != u64) {
    c.fail("dtype mismatch", fmt::format("bits are u32 or u64, not {}", name(attrs.dtype)));
  }
  for (Dim d : attrs.shape) {
    if (d.is_number() && d.number() < 0)
      c.fail("shape mismatch", "extents must be >= 0, got " + to_string(attrs.shape));
  }
  c.out(0) = c.in(0);
  c.out(1) = {attrs.dtype, attrs.shape};
}

Cost rng_cost(AttrRef, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  Cost cost = family::movement_cost({}, inputs, outputs);
  cost.flops = 20 * static_cast<double>(outputs[1].shape.count());  // ten rounds of ~8 operations for four words
  return cost;
}

std::vector<Sample> rng_samples() {
  std::vector<Sample> samples;
  for (DType dtype : {u32, u64}) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{4}, Shape{7}, Shape{3, 33}}) {
      samples.push_back({.inputs = {{u64, {2}}},
                         .attrs = Attrs(TypeAttrs{dtype, shape}),
                         .low = 0,
                         .high = 1000,
                         .differentiable = false});
    }
  }
  return samples;
}

// The largest value of the type below `high`, as a double.
double below(double high, DType dtype) {
  if (dtype == f64) return std::nextafter(high, -HUGE_VAL);
  const int bits = dtype == bf16 ? 8 : dtype == f16 ? 11 : 24;  // of the significand
  int exponent = 0;
  const double fraction = std::frexp(high, &exponent);
  const int lowest = dtype == f16 ? -13 : -125;  // exponent of the smallest normal number, as frexp counts
  const double step = std::ldexp(1, std::max(exponent, lowest) - bits);
  const double floor = std::floor(high / step) * step;
  if (floor < high) return floor;
  // Below a power of two the numbers lie twice as close.
  return floor - (fraction == 0.5 && exponent > lowest ? step / 2 : step);
}

void check_floating(DType dtype, const char* what, Location location) {
  if (is_floating(dtype)) return;
  throw Error(Code::kInvalidArgument, {.what = fmt::format("random::{} of dtype {}", what, name(dtype)),
                                       .location = LocationScope::resolve(location),
                                       .details = {"expected: a floating-point dtype"},
                                       .fix = "use random::bits for integers"});
}

// (the upper `bits` bits + offset) * scale, exact: the sum has at most as many bits as the type's significand.
Tensor fraction(const Tensor& word, int drop, double offset, double scale, DType type, Location location) {
  const Tensor integer = cast({shift_right_logical({word, location}, {drop, location}), location}, type);
  const Tensor shifted = offset == 0 ? integer : add({integer, location}, {offset, location});
  return multiply({shifted, location}, {scale, location});
}

}  // namespace

constinit const Op ops::rng_bit_generator =
    family::define(OpId::rng_bit_generator, OpClass::Random,
                   {
                       .doc = "next state and random bits (Philox4x32-10 keyed by state[0], from block state[1] on)",
                       .operands = "state",
                       .attrs = &attr_type<TypeAttrs>(),
                       .outputs = 2,
                       .infer = infer_rng,
                       .cost = rng_cost,
                       .samples = rng_samples,
                       .dtypes = bit(u64),
                   });

namespace random {

Tensor state(uint64_t seed) {
  const uint64_t words[] = {seed, 0};
  return Tensor::from(std::span<const uint64_t>(words), {2});
}

std::pair<Tensor, Tensor> bits(const Tensor& state, const Shape& shape, DType dtype, Location location) {
  Tensor inputs[] = {state}, outputs[2];
  const TypeAttrs attrs{dtype, shape};
  Call call{ops::rng_bit_generator, attrs, inputs, outputs, location};
  dispatch(call);
  return {std::move(outputs[0]), std::move(outputs[1])};
}

std::pair<Tensor, Tensor> uniform(const Tensor& state, const Shape& shape, double low, double high, DType dtype,
                                  Location location) {
  check_floating(dtype, "uniform", location);
  const bool wide = dtype == f64, unit = low == 0 && high == 1;
  auto [next, word] = bits(state, shape, wide ? u64 : u32, location);
  Tensor value = fraction(word, wide ? 11 : 8, 0, wide ? 0x1p-53 : 0x1p-24, wide ? f64 : f32, location);
  if (!unit) value = add({multiply({value, location}, {high - low, location}), location}, {low, location});
  value = cast({value, location}, dtype);
  if (low < high && (!unit || size_of(dtype) == 2)) value = minimum({value, location}, {below(high, dtype), location});
  return {std::move(next), std::move(value)};
}

std::pair<Tensor, Tensor> normal(const Tensor& state, const Shape& shape, double mean, double stddev, DType dtype,
                                 Location location) {
  check_floating(dtype, "normal", location);
  const bool wide = dtype == f64;
  auto [next, word] = bits(state, shape, wide ? u64 : u32, location);
  // Odd multiples of 2^-23 (2^-52) in (-1, 1): symmetric, never 0 or an end.
  const Tensor twice = fraction(word, wide ? 12 : 9, 0.5, wide ? 0x1p-51 : 0x1p-22, wide ? f64 : f32, location);
  const Tensor open = subtract({twice, location}, {1, location});
  Tensor value = multiply({erf_inv({open, location}), location}, {stddev * 1.4142135623730951, location});
  if (mean != 0) value = add({value, location}, {mean, location});
  return {std::move(next), cast({value, location}, dtype)};
}

}  // namespace random
}  // namespace hone
