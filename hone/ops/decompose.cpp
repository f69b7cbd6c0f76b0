#include "hone/base/small_vector.h"
#include "hone/ops/attrs.h"
#include "hone/ops/kernel.h"
#include "hone/ops/table.h"
#include "hone/tensor/interpreter.h"

namespace hone {

void decompose(const Call& call) { decompose(call, call.op.decompose); }

void decompose(const Call& call, void (*rule)(const Call&)) {
  const LocationScope scope(call.location);
  DType narrow = f32;
  for (const Tensor& input : call.inputs) {
    if (compute_type(input.dtype()) != input.dtype()) narrow = input.dtype();
  }
  // Programs that an op carries say themselves in what they compute.
  if (narrow == f32 || !regions_of(call.attrs).empty()) return rule(call);
  SmallVector<Tensor, 8> wide;
  for (const Tensor& input : call.inputs) {
    wide.push_back(input.dtype() == narrow ? call_op(ops::convert, DTypeAttrs{f32}, call.location, input) : input);
  }
  rule({call.op, call.attrs, {wide.data(), wide.size()}, call.outputs, call.location});
  // Which results are narrow is the op's own rule: statistics of a norm stay f32, values follow the operand.
  SmallVector<const TensorType*, 8> types;
  for (const Tensor& input : call.inputs) types.push_back(&input.type());
  SmallVector<TensorType, 4> results(call.outputs.size());
  InferContext context(call.op, call.attrs, {types.data(), types.size()}, {results.data(), results.size()},
                       call.location);
  call.op.infer(context);
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (call.outputs[i].dtype() != results[i].dtype) {
      call.outputs[i] = call_op(ops::convert, DTypeAttrs{results[i].dtype}, call.location, call.outputs[i]);
    }
  }
}

}  // namespace hone
