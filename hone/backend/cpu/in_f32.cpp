#include "hone/backend/cpu/in_f32.h"

#include "hone/base/small_vector.h"
#include "hone/ops/attrs.h"
#include "hone/ops/table.h"

namespace hone {
namespace {

// The conversion op's own kernels: one rounding rule, one vector loop.
void convert(const Tensor& from, const Tensor& to) {
  const DTypeAttrs attrs{to.dtype()};
  const TensorType types[] = {to.type()};
  const Tensor inputs[] = {from.dense()}, outputs[] = {to};
  for (const Kernel& kernel : kernels(ops::convert)) {
    if (kernel.refuses && kernel.refuses({ops::convert, attrs, inputs, types})) continue;
    return kernel.run({ops::convert, attrs, inputs, outputs});
  }
}

Tensor in_f32(const Tensor& x) { return is_half(x.dtype()) ? Tensor::empty({f32, x.shape()}) : x; }

}  // namespace

void run_in_f32(const KernelCall& call, void (*run)(const KernelCall&)) {
  SmallVector<Tensor, 8> inputs, outputs;
  for (const Tensor& input : call.inputs) {
    inputs.push_back(in_f32(input));
    if (is_half(input.dtype())) convert(input, inputs[inputs.size() - 1]);
  }
  for (const Tensor& output : call.outputs) outputs.push_back(in_f32(output));
  run({call.op, call.attrs, {inputs.data(), inputs.size()}, {outputs.data(), outputs.size()}});
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (is_half(call.outputs[i].dtype())) convert(outputs[i], call.outputs[i]);
  }
}

}  // namespace hone
