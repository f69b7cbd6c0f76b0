// A value whose gradient with respect to some inputs is given by a function.
#pragma once
#include <functional>
#include <vector>

#include "hone/tensor/tensor.h"

namespace hone {

using Backward = std::function<std::vector<Tensor>(const Tensor& cotangent)>;

/// `value` under a new identity; tapes call `backward` for the gradients of `inputs` (undefined entries are zero).
Tensor attach_gradient(const std::vector<Tensor>& inputs, const Tensor& value, Backward backward);

}  // namespace hone
