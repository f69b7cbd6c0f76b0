// Shape and data movement. Axes may be negative (from the end).
#pragma once
#include <initializer_list>
#include <span>
#include <vector>

#include "hone/tensor/tensor.h"

namespace hone {

/// The same elements in another shape; one extent may be -1. A view.
Tensor reshape(Operand x, const Shape& shape);
/// Axes in another order; without `permutation` reversed.
Tensor transpose(Operand x, const Ints& permutation = {});
Tensor swap_axes(Operand x, int a, int b);
/// NumPy's broadcasting as an explicit step.
Tensor broadcast_to(Operand x, const Shape& shape);
/// StableHLO's form: operand axis i becomes result axis dimensions[i].
Tensor broadcast_in_dim(Operand x, const Shape& shape, const Ints& dimensions);
Tensor expand_dims(Operand x, int axis);
/// Without the axes of extent 1 (all of them if `axes` is empty).
Tensor squeeze(Operand x, const Ints& axes = {});
Tensor flatten(Operand x);
Tensor concatenate(std::span<const Tensor> parts, int axis, Location location = Location::current());
inline Tensor concatenate(std::initializer_list<Tensor> parts, int axis, Location location = Location::current()) {
  return concatenate(std::span(parts.begin(), parts.size()), axis, location);
}
/// Joins along a new axis.
Tensor stack(std::span<const Tensor> parts, int axis = 0, Location location = Location::current());
inline Tensor stack(std::initializer_list<Tensor> parts, int axis = 0, Location location = Location::current()) {
  return stack(std::span(parts.begin(), parts.size()), axis, location);
}
/// Equal parts along an axis. Error if it does not divide.
std::vector<Tensor> split(Operand x, int64_t parts, int axis = 0);
/// Parts of these sizes.
std::vector<Tensor> split(Operand x, std::span<const int64_t> sizes, int axis = 0);
/// The slices along an axis, without it: unstack(x)[i] is x[i].
std::vector<Tensor> unstack(Operand x, int axis = 0);
/// Elements start <= i < limit in steps.
Tensor slice_by(Operand x, const Shape& start, const Shape& limit, const Ints& strides = {});
/// `value` added before, after and between elements; negative amounts cut.
Tensor pad(Operand x, const Ints& low, const Ints& high, Operand value = 0, const Ints& interior = {});
Tensor reverse(Operand x, const Ints& axes);
Tensor tile(Operand x, const Ints& repeats);
Tensor repeat(Operand x, int64_t times, int axis);
Tensor roll(Operand x, int64_t shift, int axis);
/// A block of `sizes` at run-time indices (one scalar integer an axis), clamped so that it fits.
Tensor dynamic_slice(Operand x, std::span<const Tensor> start, const Shape& sizes);
Tensor dynamic_update_slice(Operand x, Operand update, std::span<const Tensor> start);
/// Slices of x along `axis` at integer `indices` (any shape), as NumPy's take; out-of-range indices clamp, negative
/// count from the end.
Tensor take(Operand x, Operand indices, int axis = 0);
/// x[..., index at the position, ...] along `axis`; indices have x's shape but for that axis.
Tensor take_along_axis(Operand x, Operand indices, int axis);
/// x with `updates` added (or set, ...) at rows `indices` of axis 0, in index order; out-of-range rows are dropped.
Tensor scatter_add(Operand x, Operand indices, Operand updates);
Tensor scatter_set(Operand x, Operand indices, Operand updates);
/// 1 at the label's position along a new last axis, else 0; labels out of range give zeros.
Tensor one_hot(Operand labels, int64_t depth, DType dtype = f32);
/// The general forms (StableHLO).
struct GatherAttrs;
struct ScatterAttrs;
Tensor gather(Operand x, Operand indices, const GatherAttrs& attrs);
Tensor scatter(Operand x, Operand indices, Operand updates, const ScatterAttrs& attrs);
/// The same value as a tensor of its own, opaque to simplification.
Tensor optimization_barrier(Operand x);
/// The same value under a new identity (gradients pass through).
Tensor identity(Operand x);
/// The same value; no gradient passes.
Tensor stop_gradient(Operand x);

}  // namespace hone
