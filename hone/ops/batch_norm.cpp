// Batch normalisation over all axes but the last.
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/family.h"
#include "hone/ops/nn.h"
#include "hone/ops/promote.h"
#include "hone/ops/reduction.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

using family::define;

void check_operands(InferContext& c) {
  c.check_dtype();
  if (c.shape(0).rank() < 1) c.fail("rank mismatch", "x needs a channel axis: [..., c]");
  const Shape channels{c.shape(0).dim(-1)};
  for (int i = 1; i < c.inputs(); ++i) {
    if (c.shape(i) == c.shape(0) && i == 4 && c.outputs() == 3) continue;  // ct
    if (c.dtype(i) != c.dtype(0) && c.dtype(i) != compute_type(c.dtype(0))) {
      c.fail("dtype mismatch", "parameters and statistics have x's dtype or f32", "convert it: cast(x, dtype)");
    }
    if (!(c.shape(i) == channels))
      c.fail("shape mismatch", "expected a parameter for each channel: " + to_string(channels));
  }
}
void infer_training(InferContext& c) {
  check_operands(c);
  c.out() = c.in(0);
  c.out(1) = c.out(2) = {compute_type(c.dtype(0)), Shape{c.shape(0).dim(-1)}};
}
void infer_moments(InferContext& c) {
  check_operands(c);
  c.out(0) = c.out(1) = {compute_type(c.dtype(0)), Shape{c.shape(0).dim(-1)}};
}
void infer_inference(InferContext& c) {
  check_operands(c);
  c.out() = c.in(0);
}
// x, scale, mean, variance, ct
void infer_grad(InferContext& c) {
  check_operands(c);
  if (!(c.in(4) == c.in(0))) c.fail("shape mismatch", "ct must have x's type");
  c.out(0) = c.in(0);
  c.out(1) = c.out(2) = c.in(1);
}

Ints batch_axes(const Tensor& x) {
  Ints axes;
  for (int i = 0; i + 1 < x.rank(); ++i) axes.push_back(i);
  return axes;
}

void decompose_moments(const Call& call) {
  const Tensor &x = call.inputs[0], average = mean(x, batch_axes(x)), centred = x - average;
  call.outputs[0] = average;
  call.outputs[1] = mean(centred * centred, batch_axes(x));
}
void decompose_training(const Call& call) {
  const Tensor &x = call.inputs[0], &scale = call.inputs[1], &offset = call.inputs[2];
  const Tensor average = mean(x, batch_axes(x)), centred = x - average;
  const Tensor spread_of = mean(centred * centred, batch_axes(x));
  call.outputs[0] = centred * (scale / sqrt(spread_of + call.attrs.as<NormAttrs>().epsilon)) + offset;
  call.outputs[1] = average;
  call.outputs[2] = spread_of;
}
void decompose_inference(const Call& call) {
  const Tensor factor = call.inputs[1] / sqrt(call.inputs[4] + call.attrs.as<NormAttrs>().epsilon);
  call.outputs[0] = (call.inputs[0] - call.inputs[3]) * factor + call.inputs[2];
}
void decompose_grad(const Call& call) {
  const Tensor &x = call.inputs[0], &scale = call.inputs[1], &ct = call.inputs[4];
  const Ints axes = batch_axes(x);
  const Tensor rstd = 1 / sqrt(call.inputs[3] + call.attrs.as<NormAttrs>().epsilon);
  const Tensor normal = (x - call.inputs[2]) * rstd;
  const Tensor dscale = sum(ct * normal, axes), doffset = sum(ct, axes), count = element_count(x, axes, x.dtype());
  call.outputs[0] = (ct - doffset / count - normal * (dscale / count)) * (scale * rstd);
  call.outputs[1] = dscale;
  call.outputs[2] = doffset;
}

void training_vjp(VjpContext& c) {
  const auto& a = c.attrs_as<NormAttrs>();
  const Tensor& x = c.in(0);
  Tensor dx;
  if (c.ct().defined()) {
    Tensor inputs[] = {x, c.in(1), c.out(1), c.out(2), c.ct()}, outputs[3];
    Call call{ops::batch_norm_grad, a, inputs, outputs, {}};
    dispatch(call);
    dx = outputs[0];
    c.set(1, outputs[1]), c.set(2, outputs[2]);
  }
  // Statistics that are used elsewhere too.
  const Tensor statistic = c.ct(1).defined() ? c.ct(1) : c.ct(2);
  if (statistic.defined()) {
    const Tensor wide = cast(x, statistic.dtype()), count = element_count(x, batch_axes(x), statistic.dtype());
    Tensor part = zeros_like(wide);
    if (c.ct(1).defined()) part = part + c.ct(1) / count;
    if (c.ct(2).defined()) part = part + (wide - c.out(1)) * (c.ct(2) * 2 / count);
    dx = dx.defined() ? dx + cast(part, x.dtype()) : cast(part, x.dtype());
  }
  if (dx.defined()) c.set(0, dx);
}

Cost batch_norm_cost(AttrRef attrs, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  Cost cost = family::movement_cost(attrs, inputs, outputs);
  cost.flops = 8 * static_cast<double>(inputs[0]->shape.count());
  return cost;
}

std::vector<Sample> batch_norm_samples(int parameters, bool gradient) {
  std::vector<Sample> samples;
  const auto add = [&](Shape shape) {
    std::vector<TensorType> inputs{{f32, shape}};
    for (int i = 0; i < parameters; ++i) inputs.push_back({f32, {shape.dim(-1)}});
    if (gradient) inputs.push_back(inputs[0]);
    samples.push_back({.inputs = inputs, .attrs = Attrs(NormAttrs{shape.rank() - 1, 1e-3}), .low = 0.2, .high = 2});
  };
  for (int64_t n : {1, 3, 6, 7, 8, 9, 16, 17}) add({5, n});
  add({2, 3, 2, 3}), add({130, 3}), add({4, 0});
  return samples;
}

Cost moments_cost(AttrRef attrs, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  Cost cost = family::movement_cost(attrs, inputs, outputs);
  cost.flops = 4 * static_cast<double>(inputs[0]->shape.count());
  return cost;
}
std::vector<Sample> moments_samples() {
  std::vector<Sample> samples = batch_norm_samples(0, false);
  for (Sample& sample : samples) sample.attrs = {};
  return samples;
}

}  // namespace

namespace ops {

constinit const Op batch_moments = define(OpId::batch_moments, OpClass::Composite,
                                          {.doc = "mean and biased variance of each channel of x[..., c]",
                                           .operands = "x",
                                           .precision = PrecisionClass::Full,
                                           .numerics = NumericsClass::Approximate,
                                           .outputs = 2,
                                           .infer = infer_moments,
                                           .decompose = decompose_moments,
                                           .cost = moments_cost,
                                           .samples = moments_samples,
                                           .dtypes = kFloats});
constinit const Op batch_norm_training =
    define(OpId::batch_norm_training, OpClass::Composite,
           {.doc = "normalises x[..., c] with the batch's mean and biased variance, which it also gives",
            .operands = "x scale offset",
            .precision = PrecisionClass::Full,
            .numerics = NumericsClass::Approximate,
            .attrs = &attr_type<NormAttrs>(),
            .min_inputs = 3,
            .max_inputs = 3,
            .outputs = 3,
            .infer = infer_training,
            .vjp = training_vjp,
            .reads = {.in = 3, .out = 6},
            .decompose = decompose_training,
            .cost = batch_norm_cost,
            .samples = [] { return batch_norm_samples(2, false); },
            .dtypes = kFloats});
constinit const Op batch_norm_inference = define(OpId::batch_norm_inference, OpClass::Composite,
                                                 {.doc = "normalises x[..., c] with given statistics",
                                                  .operands = "x scale offset mean variance",
                                                  .precision = PrecisionClass::Full,
                                                  .numerics = NumericsClass::Approximate,
                                                  .attrs = &attr_type<NormAttrs>(),
                                                  .min_inputs = 5,
                                                  .max_inputs = 5,
                                                  .infer = infer_inference,
                                                  .decompose = decompose_inference,
                                                  .batch = batch::leading<NormAttrs, 1>,
                                                  .cost = batch_norm_cost,
                                                  .samples = [] { return batch_norm_samples(4, false); },
                                                  .dtypes = kFloats});
constinit const Op batch_norm_grad = define(OpId::batch_norm_grad, OpClass::Composite,
                                            {.doc = "gradients of batch_norm_training for x, scale and offset",
                                             .operands = "x scale mean variance ct",
                                             .precision = PrecisionClass::Full,
                                             .numerics = NumericsClass::Approximate,
                                             .attrs = &attr_type<NormAttrs>(),
                                             .min_inputs = 5,
                                             .max_inputs = 5,
                                             .outputs = 3,
                                             .infer = infer_grad,
                                             .decompose = decompose_grad,
                                             .cost = batch_norm_cost,
                                             .samples = [] { return batch_norm_samples(3, true); },
                                             .dtypes = kFloats});

}  // namespace ops

BatchNormResult batch_norm_training(Operand x, Operand scale, Operand offset, double epsilon) {
  const Location location = x.location;
  Tensor inputs[] = {to_tensor(std::move(x)), to_tensor(std::move(scale)), to_tensor(std::move(offset))}, outputs[3];
  const NormAttrs attrs{std::max(inputs[0].rank() - 1, 0), epsilon};
  Call call{ops::batch_norm_training, attrs, inputs, outputs, location};
  dispatch(call);
  return {outputs[0], outputs[1], outputs[2]};
}

Tensor batch_norm_inference(Operand x, Operand scale, Operand offset, Operand mean, Operand variance, double epsilon) {
  const Location location = x.location;
  Tensor value = to_tensor(std::move(x));
  const NormAttrs attrs{std::max(value.rank() - 1, 0), epsilon};
  return call_op(ops::batch_norm_inference, attrs, location, std::move(value), to_tensor(std::move(scale)),
                 to_tensor(std::move(offset)), to_tensor(std::move(mean)), to_tensor(std::move(variance)));
}

}  // namespace hone
