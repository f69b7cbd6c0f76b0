// Library ops that do what follows them: the decomposition says what, within the bound of an accumulating op. Library
// kernels may lose NaN in an activation.
#include "hone/ops/frozen.h"

#include "hone/ops/conv_rules.h"
#include "hone/ops/convolution.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/family.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

constexpr int kResidual = 3;

constexpr ActivationRow kActivations[] = {
    {Activation::Relu, &ops::relu},
    {Activation::Relu6, &ops::relu6},
    {Activation::LeakyRelu, &ops::leaky_relu},
    {Activation::Gelu, &ops::gelu},
    {Activation::GeluTanh, &ops::gelu_tanh},
    {Activation::Silu, &ops::silu},
    {Activation::Hardswish, &ops::hardswish},
    {Activation::Logistic, &ops::logistic},
    {Activation::Tanh, &ops::tanh},
};

void check_end(InferContext& c, const FrozenAttrs& attrs) {
  if (attrs.activation < 0 || attrs.activation > static_cast<int64_t>(Activation::Tanh))
    c.fail("invalid attributes", "activation is none of hone/ops/frozen.h");
  if (c.inputs() > kResidual && !(c.in(kResidual) == c.out()))
    c.fail("shape mismatch", "the residual must have the result's type: " + to_string(c.out()));
}

void infer_frozen_convolution(InferContext& c) {
  const auto& attrs = c.attrs<FrozenConvAttrs>();
  infer_convolution(c, attrs.conv);
  check_end(c, attrs.after);
}

void infer_frozen_dense(InferContext& c) {
  ops::dense.infer(c);
  check_end(c, c.attrs<FrozenAttrs>());
}

void finish(const Call& call, const FrozenAttrs& attrs, const Tensor& sum) {
  call.outputs[0] = activate(attrs, call.inputs.size() > kResidual ? sum + call.inputs[kResidual] : sum);
}

void decompose_convolution(const Call& call) {
  const auto& attrs = call.attrs.as<FrozenConvAttrs>();
  finish(call, attrs.after, call_op(ops::convolution, attrs.conv, {}, call.inputs[0], call.inputs[1], call.inputs[2]));
}

void decompose_dense(const Call& call) {
  finish(call, call.attrs.as<FrozenAttrs>(),
         call_op(ops::dense, {}, {}, call.inputs[0], call.inputs[1], call.inputs[2]));
}

Cost with_end(Cost cost, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  const auto results = static_cast<double>(outputs[0].shape.count());
  cost.flops += results;  // the activation
  if (inputs.size() > kResidual) {
    cost.flops += results;
    cost.bytes += results * static_cast<double>(size_of(outputs[0].dtype));
  }
  return cost;
}
Cost frozen_convolution_cost(AttrRef attrs, std::span<const TensorType* const> inputs,
                             std::span<const TensorType> outputs) {
  return with_end(ops::convolution.cost(attrs.as<FrozenConvAttrs>().conv, inputs.first(3), outputs), inputs, outputs);
}
Cost frozen_dense_cost(AttrRef, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  return with_end(ops::dense.cost({}, inputs.first(3), outputs), inputs, outputs);
}

// Every sample of the op with a bias, each with another end.
std::vector<Sample> ended(const Op& op, Attrs (*attrs_with)(AttrRef, const FrozenAttrs&)) {
  std::vector<Sample> samples;
  for (const Sample& each : op.samples()) {
    if (each.inputs.size() != 3) continue;
    const int64_t activation = static_cast<int64_t>(samples.size()) % (static_cast<int64_t>(Activation::Tanh) + 1);
    Sample sample = each;
    sample.attrs = attrs_with(each.attrs, {activation, 0.3});
    const bool kink = activation >= static_cast<int64_t>(Activation::Relu) &&
                      activation <= static_cast<int64_t>(Activation::LeakyRelu);
    sample.differentiable = each.differentiable && !kink && activation != static_cast<int64_t>(Activation::Hardswish);
    samples.push_back(sample);
    std::vector<const TensorType*> inputs;
    for (const TensorType& type : sample.inputs) inputs.push_back(&type);
    TensorType output;
    InferContext context(op, each.attrs, inputs, {&output, 1}, {});
    op.infer(context);
    sample.inputs.push_back(output);
    samples.push_back(sample);
  }
  return samples;
}

constexpr Op frozen(OpId id, std::string_view doc) {
  Op op;
  op.name = name(id);
  op.index = static_cast<int>(id);
  op.doc = doc;
  op.operands = "x weights bias residual";
  op.op_class = OpClass::Library;
  op.precision = PrecisionClass::Full;
  op.numerics = NumericsClass::Accumulating;
  op.min_inputs = 3;
  op.max_inputs = 4;
  op.dtypes = kFloats;
  return op;
}

constexpr Op make_frozen_convolution() {
  Op op = frozen(OpId::frozen_convolution, "activation(convolution(x, weights) + bias + residual) in one call");
  op.attrs = &attr_type<FrozenConvAttrs>();
  op.infer = infer_frozen_convolution;
  op.decompose = decompose_convolution;
  op.cost = frozen_convolution_cost;
  op.samples = [] {
    return ended(ops::convolution, [](AttrRef attrs, const FrozenAttrs& after) {
      return Attrs(FrozenConvAttrs{attrs.as<ConvAttrs>(), after});
    });
  };
  return op;
}

constexpr Op make_frozen_dense() {
  Op op = frozen(OpId::frozen_dense, "activation(x[..., k] weights[k, n] + bias + residual) in one call");
  op.attrs = &attr_type<FrozenAttrs>();
  op.infer = infer_frozen_dense;
  op.decompose = decompose_dense;
  op.cost = frozen_dense_cost;
  op.samples = [] { return ended(ops::dense, [](AttrRef, const FrozenAttrs& after) { return Attrs(after); }); };
  return op;
}

}  // namespace

namespace ops {
constinit const Op frozen_convolution = make_frozen_convolution();
constinit const Op frozen_dense = make_frozen_dense();
}  // namespace ops

std::span<const ActivationRow> activations() { return kActivations; }

FrozenAttrs as_activation(const Op& op, AttrRef attrs) {
  for (const ActivationRow& row : kActivations) {
    if (row.op != &op) continue;
    return {static_cast<int64_t>(row.activation),
            row.activation == Activation::LeakyRelu ? attrs.as<ParamAttrs>().a : 0.0};
  }
  return {};
}

Tensor activate(const FrozenAttrs& attrs, const Tensor& x) {
  for (const ActivationRow& row : kActivations) {
    if (static_cast<int64_t>(row.activation) != attrs.activation) continue;
    return row.activation == Activation::LeakyRelu ? call_op(*row.op, ParamAttrs{attrs.alpha}, {}, x)
                                                   : call_op(*row.op, {}, {}, x);
  }
  return x;
}

}  // namespace hone
