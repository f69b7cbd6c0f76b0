// From operands as a user writes them to tensors of one type.
#pragma once
#include <span>

#include "hone/ops/table.h"

namespace hone {

/// The dtype of an operation on these operands: tensors by JAX's table, C++ numbers weakly (an int adopts any number
/// type, a float any floating type; a float with integers gives f32). Numbers alone: f32, i32, bool.
DType promoted(std::span<const Operand* const> operands);

/// The operand as a tensor of this dtype (a number becomes a scalar constant).
Tensor to_tensor(Operand&& operand, DType dtype);
/// As above; numbers keep their own dtype (f32, i32, bool).
Tensor to_tensor(Operand&& operand);

/// Every element is `value`; a constant that costs one element of memory.
Tensor full_like_scalar(const Shape& shape, DType dtype, const Operand& value);

/// x seen in this shape by NumPy's rule (a view). Error kInvalidArgument where it does not fit, naming `op`.
Tensor broadcast_to(Tensor x, const Shape& shape, Location location);

/// Promotes and broadcasts the operands to one type and calls the op. `floating`: integers compute in f32.
Tensor call_elementwise(const Op& op, AttrRef attrs, std::span<Operand* const> operands, bool floating);
template <bool kFloating, class... Operands>
Tensor elementwise(const Op& op, Operands&... operands) {
  Operand* list[] = {&operands...};
  return call_elementwise(op, {}, list, kFloating);
}
/// An op of one operand that has parameters.
inline Tensor elementwise(const Op& op, AttrRef params, Operand& x) {
  Operand* list[] = {&x};
  return call_elementwise(op, params, list, true);
}

}  // namespace hone
