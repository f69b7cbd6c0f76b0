// Reverse-mode differentiation of the programs that ops carry. Internal to ops and tapes.
#pragma once
#include <span>
#include <vector>

#include "hone/base/function_ref.h"
#include "hone/ir/region.h"

namespace hone {

/// Has `record` make the call of op.keeping in place of `call`, whose results are set.
void call_keeping(Call& call, const std::vector<bool>& followed, FunctionRef<void(Call&)> record);

/// The program as a tape that follows these inputs records it: calls without a gradient rule as the calls that they
/// consist of, those that can keep what their rules read in that form.
ir::RegionProgram differentiable(const ir::Graph& program, const std::vector<bool>& followed, Location location);

/// By value: whether it depends on a followed input by way of gradient rules.
std::vector<bool> followed_values(const ir::Graph& program, const std::vector<bool>& followed);

/// What the gradient of a differentiable program reads, without values that are `known` or cheap to compute from known
/// and returned ones.
std::vector<ir::ValueId> residuals(const ir::Graph& program, const std::vector<bool>& followed,
                                   const std::vector<bool>& known, Location location);

/// From values of a differentiable program and the cotangents of its results (undefined: zero) to the gradients of
/// those inputs that are `needed` (undefined: zero), call by call through dispatch. Values that are not given are
/// computed where they can be; calls with effects are not repeated. `sums`: what the gradients are added to.
std::vector<Tensor> region_vjp(const ir::Graph& program, std::vector<Tensor> values, const std::vector<bool>& needed,
                               std::span<const Tensor> cotangents, std::span<const Tensor> sums = {});

}  // namespace hone
