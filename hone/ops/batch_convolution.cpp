// Batching rules of convolution and its gradients. A mapped input alone is a longer batch; with a mapped kernel the
// examples become groups of channels, so that each kernel meets its own input.
#include "hone/ops/batch.h"
#include "hone/ops/movement.h"
#include "hone/ops/views.h"
#include "hone/tensor/interpreter.h"

namespace hone::batch {
namespace {

// [n, ..., c] -> [..., n c]
Tensor into_channels(const Tensor& x) {
  const int last = x.rank() - 1;
  const Tensor y = moved(x, 0, last - 1);
  Shape shape = y.shape();
  shape.erase(static_cast<size_t>(last));
  shape.back() = y.shape()[static_cast<size_t>(last) - 1] * y.shape()[static_cast<size_t>(last)];
  return reshape(y, shape);
}

// [..., n c] -> [n, ..., c]
Tensor out_of_channels(const Tensor& x, Dim n, Dim channels) {
  Shape shape = x.shape();
  shape.back() = n;
  shape.push_back(channels);
  return moved(reshape(x, shape), x.rank() - 1, 0);
}

// Groups for n examples; false where their number is not known.
bool group(ConvAttrs& attrs, Dim n) {
  if (!n.is_number()) return false;
  attrs.groups *= n.number();
  return true;
}

}  // namespace

bool convolution(BatchContext& c) {
  ConvAttrs attrs = c.attrs_as<ConvAttrs>();
  const bool has_bias = c.inputs() == 3;
  if (!c.mapped(1) && !(has_bias && c.mapped(2))) {
    TensorList inputs{folded_operand(c, 0)};
    for (int i = 1; i < c.inputs(); ++i) inputs.push_back(c.in(i));
    call_folded(c, attrs, {inputs.data(), inputs.size()});
    return true;
  }
  // One input for all kernels: these are more output channels of one convolution.
  const bool shared = !c.mapped(0) && attrs.groups == 1;
  if (!shared && !group(attrs, c.size())) return false;
  TensorList inputs{shared ? c.in(0) : into_channels(c.stacked(0)), into_channels(c.stacked(1))};
  if (has_bias) inputs.push_back(into_channels(c.stacked(2)));
  const Tensor y = dispatch(ops::convolution, attrs, {inputs.data(), inputs.size()}, {});
  c.set(0, out_of_channels(y, c.size(), c.out_type().shape.back()));
  return true;
}

bool convolution_input_grad(BatchContext& c) {
  ConvAttrs attrs = c.attrs_as<ConvAttrs>();
  if (!c.mapped(1)) {
    attrs = fold(attrs, c.size());
    Tensor inputs[] = {folded_operand(c, 0), c.in(1)};
    call_folded(c, attrs, inputs);
    return true;
  }
  if (!group(attrs, c.size())) return false;
  attrs.shape.back() = attrs.shape.back() * c.size();
  const Tensor x = call_op(ops::convolution_input_grad, attrs, {}, into_channels(c.stacked(0)), into_channels(c.in(1)));
  c.set(0, out_of_channels(x, c.size(), c.out_type().shape.back()));
  return true;
}

bool convolution_kernel_grad(BatchContext& c) {
  ConvAttrs attrs = c.attrs_as<ConvAttrs>();
  const bool shared = !c.mapped(0) && attrs.groups == 1;
  if (!shared && !group(attrs, c.size())) return false;
  attrs.shape.back() = attrs.shape.back() * c.size();
  const Tensor kernel = call_op(ops::convolution_kernel_grad, attrs, {}, shared ? c.in(0) : into_channels(c.stacked(0)),
                                into_channels(c.stacked(1)));
  c.set(0, out_of_channels(kernel, c.size(), c.out_type().shape.back()));
  return true;
}

}  // namespace hone::batch
