// Reverse-mode differentiation of the programs that ops carry. Internal to ops.
#pragma once
#include <span>
#include <vector>

#include "hone/ir/graph.h"

namespace hone {

/// From inputs of a program and the cotangents of its results (undefined: zero) to the gradients of those inputs that
/// are `needed` (undefined: zero), call by call through dispatch. The inputs are different tensors.
std::vector<Tensor> region_vjp(const ir::Graph& graph, std::span<const Tensor> inputs, const std::vector<bool>& needed,
                               std::span<const Tensor> cotangents);

}  // namespace hone
