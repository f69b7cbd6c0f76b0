// Gather and scatter along one axis, for gradient rules. Internal to ops.
#pragma once
#include "hone/ops/attrs.h"
#include "hone/tensor/tensor.h"

namespace hone {

/// x[..., i, ...] at i = indices[...] along `axis`; indices lie in range and have x's rank.
Tensor gather_along_axis(const Tensor& x, const Tensor& indices, int axis, Location location = {});
/// x combined with updates[...] at indices[...] along `axis`, in index order; updates have the indices' shape.
Tensor scatter_along_axis(const Tensor& x, const Tensor& indices, const Tensor& updates, int axis, Combine combine);

}  // namespace hone
