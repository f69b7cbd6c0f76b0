// Activation functions and their gradients: composites of elementwise primitives.
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/family.h"
#include "hone/ops/promote.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace ops {

using family::binary;
using family::unary;

constinit const Op relu =
    unary(OpId::relu, {.doc = "max(x, 0)",
                       .dtypes = kNumbers,
                       .vjp = [](VjpContext& c) { c.set(0, call_op(ops::relu_grad, {}, {}, c.out(), c.ct())); },
                       .reads = {.out = 1},
                       .decompose = [](const Call& call) { call.outputs[0] = hone::maximum(call.inputs[0], 0); }});
constinit const Op relu_grad =
    binary(OpId::relu_grad, {.doc = "b where a > 0, else 0",
                             .vjp =
                                 [](VjpContext& c) {
                                   if (c.need(1)) c.set(1, call_op(ops::relu_grad, {}, {}, c.in(0), c.ct()));
                                 },
                             .reads = {.in = 1},
                             .decompose =
                                 [](const Call& call) {
                                   call.outputs[0] = hone::where(call.inputs[0] > 0, call.inputs[1],
                                                                 hone::zeros_like(call.inputs[1]));
                                 }});
constinit const Op relu6 = unary(
    OpId::relu6,
    {.doc = "min(max(x, 0), 6)",
     .dtypes = kNumbers,
     .vjp = [](VjpContext& c) { c.set(0, call_op(ops::relu6_grad, {}, {}, c.in(0), c.ct())); },
     .reads = {.in = 1},
     .decompose = [](const Call& call) { call.outputs[0] = hone::minimum(hone::maximum(call.inputs[0], 0), 6); }});
constinit const Op relu6_grad = binary(
    OpId::relu6_grad, {.doc = "b where 0 < a < 6, else 0",
                       .vjp =
                           [](VjpContext& c) {
                             if (c.need(1)) c.set(1, call_op(ops::relu6_grad, {}, {}, c.in(0), c.ct()));
                           },
                       .reads = {.in = 1},
                       .decompose =
                           [](const Call& call) {
                             const Tensor& x = call.inputs[0];
                             call.outputs[0] = hone::where((x > 0) & (x < 6), call.inputs[1], hone::zeros_like(x));
                           }});
constinit const Op leaky_relu = unary(
    OpId::leaky_relu,
    {.doc = "x where x >= 0, else alpha x",
     .vjp = [](VjpContext& c) { c.set(0, hone::where(c.in(0) >= 0, c.ct(), c.ct() * c.attrs_as<ParamAttrs>().a)); },
     .reads = {.in = 1},
     .decompose =
         [](const Call& call) {
           const Tensor& x = call.inputs[0];
           call.outputs[0] = hone::where(x >= 0, x, x * call.attrs.as<ParamAttrs>().a);
         },
     .samples = [] { return family::with_attrs(family::elementwise_samples(1, -2, 2), Attrs(ParamAttrs{0.2, 0})); },
     .attrs = &attr_type<ParamAttrs>()});
constinit const Op gelu =
    unary(OpId::gelu, {.doc = "x Phi(x), erf form",
                       .vjp = [](VjpContext& c) { c.set(0, call_op(ops::gelu_grad, {}, {}, c.in(0), c.ct())); },
                       .reads = {.in = 1},
                       .decompose =
                           [](const Call& call) {
                             const Tensor& x = call.inputs[0];
                             call.outputs[0] = x * 0.5 * (hone::erf(x * 0.7071067811865476) + 1);
                           },
                       .flops = 20,
                       .numerics = NumericsClass::Approximate});
constinit const Op gelu_grad =
    binary(OpId::gelu_grad, {.doc = "derivative of gelu at a, times b",
                             .decompose =
                                 [](const Call& call) {
                                   const Tensor& x = call.inputs[0];
                                   const Tensor phi = (hone::erf(x * 0.7071067811865476) + 1) * 0.5;
                                   const Tensor density = hone::exp(x * x * -0.5) * 0.3989422804014327;
                                   call.outputs[0] = call.inputs[1] * (phi + x * density);
                                 },
                             .flops = 35,
                             .numerics = NumericsClass::Approximate});
constinit const Op gelu_tanh = unary(OpId::gelu_tanh, {.doc = "gelu, tanh form",
                                                       .decompose =
                                                           [](const Call& call) {
                                                             const Tensor& x = call.inputs[0];
                                                             const Tensor inner =
                                                                 (x + x * x * x * 0.044715) * 0.7978845608028654;
                                                             call.outputs[0] = x * 0.5 * (hone::tanh(inner) + 1);
                                                           },
                                                       .flops = 20,
                                                       .numerics = NumericsClass::Approximate});
constinit const Op silu =
    unary(OpId::silu,
          {.doc = "x logistic(x)",
           .vjp = [](VjpContext& c) { c.set(0, call_op(ops::silu_grad, {}, {}, c.in(0), c.ct())); },
           .reads = {.in = 1},
           .decompose = [](const Call& call) { call.outputs[0] = call.inputs[0] * hone::sigmoid(call.inputs[0]); },
           .flops = 14,
           .numerics = NumericsClass::Approximate});
constinit const Op silu_grad = binary(OpId::silu_grad, {.doc = "derivative of silu at a, times b",
                                                        .decompose =
                                                            [](const Call& call) {
                                                              const Tensor& x = call.inputs[0];
                                                              const Tensor s = hone::sigmoid(x);
                                                              call.outputs[0] =
                                                                  call.inputs[1] * (s * (x * (1 - s) + 1));
                                                            },
                                                        .flops = 18,
                                                        .numerics = NumericsClass::Approximate});
constinit const Op softplus =
    unary(OpId::softplus, {.doc = "log(1 + e^x)",
                           .vjp = [](VjpContext& c) { c.set(0, c.ct() * hone::sigmoid(c.in(0))); },
                           .reads = {.in = 1},
                           .decompose =
                               [](const Call& call) {
                                 const Tensor& x = call.inputs[0];
                                 call.outputs[0] = hone::log1p(hone::exp(-hone::abs(x))) + hone::maximum(x, 0);
                               },
                           .flops = 25,
                           .numerics = NumericsClass::Approximate});
constinit const Op hardswish = unary(OpId::hardswish, {.doc = "x relu6(x + 3) / 6",
                                                       .decompose =
                                                           [](const Call& call) {
                                                             const Tensor& x = call.inputs[0];
                                                             call.outputs[0] = x * hone::relu6(x + 3) / 6;
                                                           },
                                                       .flops = 5});
constinit const Op tanh_grad = binary(
    OpId::tanh_grad,
    {.doc = "b (1 - a a): gradient of tanh from its result",
     .decompose = [](const Call& call) { call.outputs[0] = call.inputs[1] * (1 - call.inputs[0] * call.inputs[0]); },
     .flops = 3});
constinit const Op logistic_grad = binary(
    OpId::logistic_grad,
    {.doc = "b a (1 - a): gradient of logistic from its result",
     .decompose = [](const Call& call) { call.outputs[0] = call.inputs[1] * call.inputs[0] * (1 - call.inputs[0]); },
     .flops = 3});

}  // namespace ops

Tensor relu(Operand x) { return elementwise<false>(ops::relu, x); }
Tensor relu6(Operand x) { return elementwise<false>(ops::relu6, x); }
Tensor leaky_relu(Operand x, double alpha) { return elementwise(ops::leaky_relu, ParamAttrs{alpha}, x); }
Tensor gelu(Operand x, bool approximate) { return elementwise<true>(approximate ? ops::gelu_tanh : ops::gelu, x); }
Tensor silu(Operand x) { return elementwise<true>(ops::silu, x); }
Tensor softplus(Operand x) { return elementwise<true>(ops::softplus, x); }
Tensor hardswish(Operand x) { return elementwise<true>(ops::hardswish, x); }
Tensor elu(Operand x, double alpha) {
  const Tensor value = to_tensor(std::move(x));
  return where(value > 0, value, expm1(minimum(value, 0)) * alpha);
}

}  // namespace hone
