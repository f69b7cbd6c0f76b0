// What ops that convolve share.
#pragma once
#include "hone/ops/attrs.h"
#include "hone/tensor/op.h"

namespace hone {

/// Types of a convolution of operand 0 with kernel 1 and, where there is one, bias 2; all checks. Operands after these
/// only need the same dtype.
void infer_convolution(InferContext& c, const ConvAttrs& attrs);

}  // namespace hone
