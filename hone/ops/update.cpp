// Optimizer steps: each one op, one pass over the parameter.
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/family.h"
#include "hone/ops/nn.h"
#include "hone/ops/promote.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

using family::define;

/// `slots` operands of the parameter's type, then scalars.
void check_update(InferContext& c, int slots) {
  c.check_dtype();
  for (int i = 1; i < slots; ++i) {
    if (!(c.in(i) == c.in(0)))
      c.fail("type mismatch", "gradient and slots must have the parameter's type",
             "convert the gradient: cast(g, dtype)");
  }
  for (int i = slots; i < c.inputs(); ++i) {
    if (c.shape(i).rank() != 0 || !is_floating(c.dtype(i)))
      c.fail("bad scalar", "learning rate and step must be floating-point scalars");
  }
  for (int i = 0; i < c.outputs(); ++i) c.out(i) = c.in(0);
}

/// p (1 - lr decay): weight decay before the step.
Tensor decayed(const Tensor& param, const Tensor& rate, double decay) {
  return decay == 0 ? param : param - param * (rate * decay);
}

// param, grad, velocity, lr
void decompose_sgd(const Call& call) {
  const auto& a = call.attrs.as<SgdAttrs>();
  const Tensor& gradient = call.inputs[1];
  const Tensor rate = cast(call.inputs[3], gradient.dtype());
  const Tensor step = gradient * rate, velocity = call.inputs[2] * a.momentum - step;
  const Tensor param = decayed(call.inputs[0], rate, a.weight_decay);
  call.outputs[0] = a.nesterov ? param + (velocity * a.momentum - step) : param + velocity;
  call.outputs[1] = velocity;
}

// param, grad, m, v, lr, step
void decompose_adam(const Call& call) {
  const auto& a = call.attrs.as<AdamAttrs>();
  const Tensor &gradient = call.inputs[1], &m = call.inputs[2], &v = call.inputs[3];
  const DType dtype = gradient.dtype();
  const Tensor rate = cast(call.inputs[4], dtype), step = cast(call.inputs[5], dtype);
  const Tensor correction_1 = 1 - pow(full({}, a.beta_1, dtype), step),
               correction_2 = 1 - pow(full({}, a.beta_2, dtype), step);
  const Tensor alpha = rate * sqrt(correction_2) / correction_1;
  const Tensor next_m = m + (gradient - m) * (1 - a.beta_1), next_v = v + (gradient * gradient - v) * (1 - a.beta_2);
  const Tensor param = decayed(call.inputs[0], rate, a.weight_decay);
  call.outputs[0] = param - next_m * alpha / (sqrt(next_v) + a.epsilon);
  call.outputs[1] = next_m;
  call.outputs[2] = next_v;
}

/// One pass over the parameters of all examples, or, where they have different rates or steps, one for each.
template <uint32_t kSlots>
bool batch_update(BatchContext& c) {
  return batch::leading<void, kSlots>(c) || (c.size().is_number() && batch::each(c));
}

Cost update_cost(AttrRef attrs, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  Cost cost = family::movement_cost(attrs, inputs, outputs);
  cost.flops = (outputs.size() == 3 ? 15.0 : 5.0) * static_cast<double>(outputs[0].shape.count());
  return cost;
}

std::vector<Sample> update_samples(int slots, int scalars, std::initializer_list<Attrs> attrs) {
  std::vector<Sample> samples;
  for (const Attrs& a : attrs) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{7}, Shape{8}, Shape{9}, Shape{3, 11}}) {
      std::vector<TensorType> inputs(static_cast<size_t>(slots), TensorType{f32, shape});
      inputs.resize(static_cast<size_t>(slots + scalars), TensorType{f32, {}});
      samples.push_back({.inputs = inputs, .attrs = a, .low = 0.2, .high = 1.5});
    }
  }
  return samples;
}

}  // namespace

namespace ops {

constinit const Op sgd_update =
    define(OpId::sgd_update, OpClass::Composite,
           {.doc = "a step of SGD with momentum (Keras): param', velocity'",
            .operands = "param gradient velocity learning_rate",
            .precision = PrecisionClass::Full,
            .attrs = &attr_type<SgdAttrs>(),
            .min_inputs = 4,
            .max_inputs = 4,
            .outputs = 2,
            .infer = [](InferContext& c) { check_update(c, 3); },
            .decompose = decompose_sgd,
            .batch = batch_update<7>,
            .cost = update_cost,
            .samples =
                [] {
                  return update_samples(
                      3, 1, {Attrs(SgdAttrs{}), Attrs(SgdAttrs{0.9, 0, false}), Attrs(SgdAttrs{0.9, 0.01, true})});
                },
            .dtypes = kFloats});
constinit const Op adam_update = define(
    OpId::adam_update, OpClass::Composite,
    {.doc = "a step of Adam or AdamW (Keras): param', m', v'",
     .operands = "param gradient m v learning_rate step",
     .precision = PrecisionClass::Full,
     .numerics = NumericsClass::Approximate,
     .attrs = &attr_type<AdamAttrs>(),
     .min_inputs = 6,
     .max_inputs = 6,
     .outputs = 3,
     .infer = [](InferContext& c) { check_update(c, 4); },
     .decompose = decompose_adam,
     .batch = batch_update<15>,
     .cost = update_cost,
     .samples = [] { return update_samples(4, 2, {Attrs(AdamAttrs{}), Attrs(AdamAttrs{0.8, 0.9, 1e-3, 0.01})}); },
     .dtypes = kFloats});

}  // namespace ops

std::pair<Tensor, Tensor> sgd_update(Operand param, Operand gradient, Operand velocity, Operand learning_rate,
                                     const SgdAttrs& attrs) {
  const Location location = param.location;
  Tensor inputs[] = {to_tensor(std::move(param)), to_tensor(std::move(gradient)), to_tensor(std::move(velocity)),
                     to_tensor(std::move(learning_rate))};
  Tensor outputs[2];
  Call call{ops::sgd_update, attrs, inputs, outputs, location};
  dispatch(call);
  return {outputs[0], outputs[1]};
}

std::tuple<Tensor, Tensor, Tensor> adam_update(Operand param, Operand gradient, Operand m, Operand v,
                                               Operand learning_rate, Operand step, const AdamAttrs& attrs) {
  const Location location = param.location;
  Tensor inputs[] = {to_tensor(std::move(param)), to_tensor(std::move(gradient)),      to_tensor(std::move(m)),
                     to_tensor(std::move(v)),     to_tensor(std::move(learning_rate)), to_tensor(std::move(step))};
  Tensor outputs[3];
  Call call{ops::adam_update, attrs, inputs, outputs, location};
  dispatch(call);
  return {outputs[0], outputs[1], outputs[2]};
}

}  // namespace hone
