#include "hone/ir/recorder.h"

namespace hone::ir {

Tensor Recorder::tensor_for(ValueId value, Location location) {
  Tensor tensor = Tensor::traced(builder_.graph().type(value), *this, location);
  values_.emplace(tensor.id(), value);
  return tensor;
}

Tensor Recorder::add_input(const TensorType& type, Input input, Location location) {
  return tensor_for(builder_.add_input(type, std::move(input)), location);
}

ValueId Recorder::value_of(const Tensor& tensor, Location location) {
  if (const auto found = values_.find(tensor.id()); found != values_.end()) return found->second;
  const ValueId value = capture(tensor, location);
  values_.emplace(tensor.id(), value);
  held_.push_back(tensor);
  return value;
}

ValueId Recorder::capture(const Tensor& tensor, Location location) {
  if (!tensor.concrete()) fail_traced(tensor, location);
  // A handle of its own: the program keeps the elements when the user donates the tensor elsewhere.
  const Tensor dense = tensor.dense();
  return builder_.add_input(tensor.type(), {.kind = InputKind::Capture, .tensor = dense.alias(dense.type())});
}

void Recorder::process(Call& call) {
  SmallVector<ValueId, 8> operands;
  for (const Tensor& input : call.inputs) operands.push_back(value_of(input, call.location));
  Origin origin{{call.location}, LocationScope::path()};
  if (!call.location.known()) origin.lines.clear();
  const uint32_t node =
      builder_.add(call.op, call.attrs, {operands.data(), operands.size()}, static_cast<uint32_t>(call.outputs.size()),
                   builder_.context().add(std::move(origin)));
  const ValueId first = builder_.graph().nodes()[node].first_result;
  for (uint32_t i = 0; i < call.outputs.size(); ++i) call.outputs[i] = tensor_for(first + i, call.location);
}

}  // namespace hone::ir
