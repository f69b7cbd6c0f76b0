// Finding the op that makes the first NaN.
#pragma once
#include <span>

#include "hone/tensor/op.h"

namespace hone {

/// Error kNumerical if a result holds a NaN or an infinity though all operands are finite: names op, value ranges, the
/// user's line and the layer. Calls without operands may give what they like.
void check_numerics(const Call& call, std::span<const Tensor> operands);

}  // namespace hone
