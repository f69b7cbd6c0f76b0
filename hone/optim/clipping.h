// Gradient clipping as in Keras' optimizers.
#pragma once
#include <span>

#include "hone/optim/optimizer.h"

namespace hone::optim {

/// Error kInvalidArgument unless at most one is set and it is positive.
void check_clipping(const Clipping& clipping);
/// Clips the defined gradients in place.
void clip(const Clipping& clipping, std::span<Tensor> gradients);

}  // namespace hone::optim
