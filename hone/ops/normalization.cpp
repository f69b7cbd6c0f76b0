// softmax, layer_norm, rms_norm: normalisation over rows.
#include <fmt/format.h>

#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/family.h"
#include "hone/ops/movement.h"
#include "hone/ops/nn.h"
#include "hone/ops/promote.h"
#include "hone/ops/reduction.h"
#include "hone/ops/views.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

using family::define;

void infer_softmax(InferContext& c) {
  c.check_dtype();
  const int64_t axis = c.attrs<AxisAttrs>().axis;
  if (axis < 0 || axis >= c.shape(0).rank())
    c.fail("bad axis", fmt::format("axis {} of {} axes", axis, c.shape(0).rank()));
  family::check_same_types(c);
  c.out() = c.in(0);
}

bool is_last(const Call& call) { return call.attrs.as<AxisAttrs>().axis == call.inputs[0].rank() - 1; }

/// Calls the op along the last axis of transposed operands: its kernel is fast there.
void through_last_axis(const Call& call) {
  const int axis = static_cast<int>(call.attrs.as<AxisAttrs>().axis), last = call.inputs[0].rank() - 1;
  TensorList inputs;
  for (const Tensor& input : call.inputs) inputs.push_back(swap_axes(input, axis, last));
  call.outputs[0] =
      swap_axes(dispatch(call.op, AxisAttrs{last}, {inputs.data(), inputs.size()}, call.location), axis, last);
}

void decompose_softmax(const Call& call) {
  if (!is_last(call)) return through_last_axis(call);
  const Tensor& x = call.inputs[0];
  const Tensor e = exp(x - stop_gradient(max(x, -1, true)));
  call.outputs[0] = e / sum(e, -1, true);
}
void decompose_softmax_grad(const Call& call) {
  if (!is_last(call)) return through_last_axis(call);
  const Tensor &y = call.inputs[0], &ct = call.inputs[1];
  call.outputs[0] = y * (ct - sum(ct * y, -1, true));
}
void decompose_log_softmax(const Call& call) {
  if (!is_last(call)) return through_last_axis(call);
  const Tensor& x = call.inputs[0];
  const Tensor shifted = x - stop_gradient(max(x, -1, true));
  call.outputs[0] = shifted - log(sum(exp(shifted), -1, true));
}

template <int kOperands>
std::vector<Sample> softmax_samples() {
  std::vector<Sample> samples;
  const auto add = [&](Shape shape, int64_t axis) {
    samples.push_back({.inputs = std::vector<TensorType>(kOperands, {f32, shape}), .attrs = Attrs(AxisAttrs{axis})});
  };
  for (int64_t n : {1, 3, 7, 8, 9, 15, 16, 17, 65}) add({2, n}, 1);
  add({5}, 0), add({0, 4}, 1), add({4, 0}, 1), add({3, 4}, 0), add({2, 3, 4}, 1), add({3, 1, 33}, 2);
  return samples;
}

Cost softmax_cost(AttrRef attrs, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  Cost cost = family::movement_cost(attrs, inputs, outputs);
  cost.flops = 15 * static_cast<double>(outputs[0].shape.count());
  return cost;
}
Cost norm_cost(AttrRef attrs, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  Cost cost = family::movement_cost(attrs, inputs, outputs);
  cost.flops = 8 * static_cast<double>(inputs[0]->shape.count());
  return cost;
}

// --- layer_norm, rms_norm ---

Shape tail(const Shape& shape, int64_t axis) {
  Shape out;
  for (int i = static_cast<int>(axis); i < shape.rank(); ++i) out.push_back(shape[i]);
  return out;
}
Shape head(const Shape& shape, int64_t axis) {
  Shape out;
  for (int i = 0; i < static_cast<int>(axis); ++i) out.push_back(shape[i]);
  return out;
}
Ints tail_axes(const Shape& shape, int64_t axis) {
  Ints axes;
  for (int i = static_cast<int>(axis); i < shape.rank(); ++i) axes.push_back(i);
  return axes;
}
Ints head_axes(int64_t axis) {
  Ints axes;
  for (int i = 0; i < static_cast<int>(axis); ++i) axes.push_back(i);
  return axes;
}

/// A parameter of the normalised axes: x's dtype or the one it computes in.
void check_parameter(InferContext& c, int operand, const Shape& wanted) {
  const DType dtype = c.dtype(operand);
  if (dtype != c.dtype(0) && dtype != compute_type(c.dtype(0)))
    c.fail("dtype mismatch", "parameters have x's dtype or f32", "convert it: cast(x, dtype)");
  if (!(c.shape(operand) == wanted)) c.fail("shape mismatch", "expected a parameter of shape " + to_string(wanted));
}
void check_norm_axis(InferContext& c) {
  c.check_dtype();
  const int64_t axis = c.attrs<NormAttrs>().axis;
  if (axis < 0 || axis >= c.shape(0).rank())
    c.fail("bad axis", fmt::format("axis {} of {} axes", axis, c.shape(0).rank()));
}

void infer_layer_norm(InferContext& c) {
  check_norm_axis(c);
  const int64_t axis = c.attrs<NormAttrs>().axis;
  for (int i = 1; i < c.inputs(); ++i) check_parameter(c, i, tail(c.shape(0), axis));
  c.out() = c.in(0);
  for (int i = 1; i < c.outputs(); ++i) c.out(i) = {compute_type(c.dtype(0)), head(c.shape(0), axis)};
}
// x, scale, mean, rstd, ct
void infer_layer_norm_grad(InferContext& c) {
  check_norm_axis(c);
  const int64_t axis = c.attrs<NormAttrs>().axis;
  check_parameter(c, 1, tail(c.shape(0), axis));
  check_parameter(c, 2, head(c.shape(0), axis));
  check_parameter(c, 3, head(c.shape(0), axis));
  check_parameter(c, 4, c.shape(0));
  c.out(0) = c.in(0);
  c.out(1) = c.out(2) = c.in(1);
}

/// Spreads a statistic [outer...] over x.
Tensor over_rows(const Tensor& statistic, const Tensor& x, int64_t axis) {
  return spread(statistic, x.shape(), tail_axes(x.shape(), axis));
}

void decompose_layer_norm(const Call& call) {
  const auto& a = call.attrs.as<NormAttrs>();
  const Tensor &x = call.inputs[0], &scale = call.inputs[1], &offset = call.inputs[2];
  const Ints axes = tail_axes(x.shape(), a.axis);
  const Tensor average = mean(x, axes);
  const Tensor centred = x - over_rows(average, x, a.axis);
  const Tensor rstd = 1 / sqrt(mean(centred * centred, axes) + a.epsilon);
  call.outputs[0] = centred * over_rows(rstd, x, a.axis) * scale + offset;
  call.outputs[1] = average;
  call.outputs[2] = rstd;
}
void decompose_rms_norm(const Call& call) {
  const auto& a = call.attrs.as<NormAttrs>();
  const Tensor &x = call.inputs[0], &scale = call.inputs[1];
  const Tensor rstd = 1 / sqrt(mean(x * x, tail_axes(x.shape(), a.axis)) + a.epsilon);
  call.outputs[0] = x * over_rows(rstd, x, a.axis) * scale;
}
void decompose_layer_norm_grad(const Call& call) {
  const int64_t axis = call.attrs.as<NormAttrs>().axis;
  const Tensor &x = call.inputs[0], &scale = call.inputs[1], &ct = call.inputs[4];
  const Ints axes = tail_axes(x.shape(), axis);
  const Tensor rstd = over_rows(call.inputs[3], x, axis);
  const Tensor normal = (x - over_rows(call.inputs[2], x, axis)) * rstd, g = ct * scale;
  call.outputs[0] =
      rstd * (g - over_rows(mean(g, axes), x, axis) - normal * over_rows(mean(g * normal, axes), x, axis));
  call.outputs[1] = sum(ct * normal, head_axes(axis));
  call.outputs[2] = sum(ct, head_axes(axis));
}

void layer_norm_vjp(VjpContext& c) {
  const auto& a = c.attrs_as<NormAttrs>();
  const Tensor& x = c.in(0);
  Tensor dx;
  if (c.ct().defined()) {
    Tensor inputs[] = {x, c.in(1), c.out(1), c.out(2), c.ct()}, outputs[3];
    Call call{ops::layer_norm_grad, a, inputs, outputs, {}};
    dispatch(call);
    dx = outputs[0];
    c.set(1, outputs[1]), c.set(2, outputs[2]);
  }
  const auto add = [&](const Tensor& part) { dx = dx.defined() ? dx + cast(part, x.dtype()) : cast(part, x.dtype()); };
  const Ints axes = tail_axes(x.shape(), a.axis);
  if (c.ct(1).defined()) add(over_rows(c.ct(1) / element_count(x, axes, c.ct(1).dtype()), x, a.axis));
  if (c.ct(2).defined()) {
    const Tensor &rstd = c.out(2), slope = -(c.ct(2) * rstd * rstd * rstd) / element_count(x, axes, rstd.dtype());
    add((cast(x, rstd.dtype()) - over_rows(c.out(1), x, a.axis)) * over_rows(slope, x, a.axis));
  }
  if (dx.defined()) c.set(0, dx);
}

std::vector<Sample> norm_samples(int parameters, bool gradient = false) {
  std::vector<Sample> samples;
  const auto add = [&](Shape shape, int64_t axis) {
    const TensorType x{f32, shape}, parameter{f32, tail(shape, axis)}, statistic{f32, head(shape, axis)};
    std::vector<TensorType> inputs{x};
    for (int i = 0; i < parameters; ++i) inputs.push_back(parameter);
    if (gradient) inputs.insert(inputs.end(), {statistic, statistic, x});
    samples.push_back({.inputs = inputs, .attrs = Attrs(NormAttrs{axis, 1e-3}), .low = 0.2, .high = 2});
  };
  for (int64_t n : {2, 3, 7, 8, 9, 16, 17, 65}) add({3, n}, 1);
  add({5}, 0), add({2, 3, 4}, 1), add({2, 3, 4}, 2), add({0, 4}, 1), add({70, 5}, 1);
  return samples;
}

}  // namespace

namespace ops {

constinit const Op softmax =
    define(OpId::softmax, OpClass::Composite,
           {.doc = "exp(x) / sum(exp(x)) along an axis",
            .operands = "x",
            .precision = PrecisionClass::Full,
            .numerics = NumericsClass::Approximate,
            .attrs = &attr_type<AxisAttrs>(),
            .infer = infer_softmax,
            .vjp = [](VjpContext& c) { c.set(0, call_op(ops::softmax_grad, c.attrs(), {}, c.out(), c.ct())); },
            .reads = {.out = 1},
            .decompose = decompose_softmax,
            .batch = batch::leading<AxisAttrs>,
            .cost = softmax_cost,
            .samples = softmax_samples<1>,
            .dtypes = kFloats});
constinit const Op softmax_grad = define(OpId::softmax_grad, OpClass::Composite,
                                         {.doc = "y (ct - sum(ct y)): gradient of softmax from its result",
                                          .operands = "y ct",
                                          .precision = PrecisionClass::Full,
                                          .numerics = NumericsClass::Approximate,
                                          .attrs = &attr_type<AxisAttrs>(),
                                          .min_inputs = 2,
                                          .max_inputs = 2,
                                          .infer = infer_softmax,
                                          .decompose = decompose_softmax_grad,
                                          .batch = batch::leading<AxisAttrs>,
                                          .cost = norm_cost,
                                          .samples = softmax_samples<2>,
                                          .dtypes = kFloats});
constinit const Op log_softmax = define(OpId::log_softmax, OpClass::Composite,
                                        {.doc = "x - logsumexp(x) along an axis",
                                         .operands = "x",
                                         .precision = PrecisionClass::Full,
                                         .numerics = NumericsClass::Approximate,
                                         .attrs = &attr_type<AxisAttrs>(),
                                         .infer = infer_softmax,
                                         .vjp =
                                             [](VjpContext& c) {
                                               const int axis = static_cast<int>(c.attrs_as<AxisAttrs>().axis);
                                               c.set(0, c.ct() - hone::exp(c.out()) * hone::sum(c.ct(), axis, true));
                                             },
                                         .reads = {.out = 1},
                                         .decompose = decompose_log_softmax,
                                         .batch = batch::leading<AxisAttrs>,
                                         .cost = softmax_cost,
                                         .samples = softmax_samples<1>,
                                         .dtypes = kFloats});
constinit const Op layer_norm = define(
    OpId::layer_norm, OpClass::Composite,
    {.doc =
         "(x - mean) rstd scale + offset over trailing axes; also gives mean and rstd = 1 / sqrt(variance + epsilon)",
     .operands = "x scale offset",
     .precision = PrecisionClass::Full,
     .numerics = NumericsClass::Approximate,
     .attrs = &attr_type<NormAttrs>(),
     .min_inputs = 3,
     .max_inputs = 3,
     .outputs = 3,
     .infer = infer_layer_norm,
     .vjp = layer_norm_vjp,
     .reads = {.in = 3, .out = 6},
     .decompose = decompose_layer_norm,
     .batch = batch::leading<NormAttrs, 1>,
     .cost = norm_cost,
     .samples = [] { return norm_samples(2); },
     .dtypes = kFloats});
constinit const Op layer_norm_grad =
    define(OpId::layer_norm_grad, OpClass::Composite,
           {.doc = "gradients of layer_norm for x, scale and offset from its statistics",
            .operands = "x scale mean rstd ct",
            .precision = PrecisionClass::Full,
            .numerics = NumericsClass::Approximate,
            .attrs = &attr_type<NormAttrs>(),
            .min_inputs = 5,
            .max_inputs = 5,
            .outputs = 3,
            .infer = infer_layer_norm_grad,
            .decompose = decompose_layer_norm_grad,
            .cost = norm_cost,
            .samples = [] { return norm_samples(1, true); },
            .dtypes = kFloats});
constinit const Op rms_norm = define(OpId::rms_norm, OpClass::Composite,
                                     {.doc = "x / sqrt(mean(x x) + epsilon) scale over trailing axes",
                                      .operands = "x scale",
                                      .precision = PrecisionClass::Full,
                                      .numerics = NumericsClass::Approximate,
                                      .attrs = &attr_type<NormAttrs>(),
                                      .min_inputs = 2,
                                      .max_inputs = 2,
                                      .infer = infer_layer_norm,
                                      .decompose = decompose_rms_norm,
                                      .batch = batch::leading<NormAttrs, 1>,
                                      .cost = norm_cost,
                                      .samples = [] { return norm_samples(1); },
                                      .dtypes = kFloats});

}  // namespace ops

namespace {

Tensor along_axis(const Op& op, Operand& x, int axis) {
  const Location location = x.location;
  Tensor value = to_tensor(std::move(x));
  if (!is_floating(value.dtype())) value = cast(value, f32);
  const int position = checked_axis(value.shape(), axis, op.name, location);
  return call_op(op, AxisAttrs{position}, location, std::move(value));
}

}  // namespace

Tensor softmax(Operand x, int axis) { return along_axis(ops::softmax, x, axis); }
Tensor log_softmax(Operand x, int axis) { return along_axis(ops::log_softmax, x, axis); }

Tensor layer_norm(Operand x, Operand scale, Operand offset, int axis, double epsilon) {
  const Location location = x.location;
  Tensor value = to_tensor(std::move(x));
  const int position = checked_axis(value.shape(), axis, "layer_norm", location);
  const NormAttrs attrs{position, epsilon};
  Tensor inputs[] = {std::move(value), to_tensor(std::move(scale)), to_tensor(std::move(offset))}, outputs[3];
  Call call{ops::layer_norm, attrs, inputs, outputs, location};
  dispatch(call);
  return outputs[0];
}

Tensor rms_norm(Operand x, Operand scale, int axis, double epsilon) {
  const Location location = x.location;
  Tensor value = to_tensor(std::move(x));
  const int position = checked_axis(value.shape(), axis, "rms_norm", location);
  return call_op(ops::rms_norm, NormAttrs{position, epsilon}, location, std::move(value), to_tensor(std::move(scale)));
}

}  // namespace hone
