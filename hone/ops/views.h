// What view rules share: strides and aliases. Internal to ops and back ends.
#pragma once
#include <span>
#include <string_view>

#include "hone/base/small_vector.h"
#include "hone/tensor/tensor.h"

namespace hone {

/// Operands of a call with a variable number of them.
using TensorList = SmallVector<Tensor, 8>;

/// Row-major strides in elements. The shape is static.
Ints dense_strides(const Shape& shape);
/// Strides of a tensor, dense or not.
Ints strides_of(const Tensor& x);
/// True if one element in memory stands for all.
bool is_splat(const Tensor& x);
/// The elements of a splat, as `type`.
Tensor alias_splat(const Tensor& x, const TensorType& type);
/// x's memory as `type` with these strides; a dense tensor where they are row-major.
Tensor alias_strided(const Tensor& x, const TensorType& type, const Ints& strides);
/// x's elements as `type` (the same number of them, of the same size), with x's layout where the shapes agree, else
/// packed.
Tensor alias_as(const Tensor& x, const TensorType& type);

/// The axis in [0, rank). Error kOutOfRange with the caller's line.
int checked_axis(const Shape& shape, int64_t axis, std::string_view op, Location location);
/// All axes in [0, rank), ascending; Error kInvalidArgument for one that is listed twice.
Ints checked_axes(const Shape& shape, const Ints& axes, std::string_view op, Location location);

/// An extent as an i32 scalar: a constant, or get_dimension_size where it is symbolic.
Tensor extent(const Shape& shape, int axis, Location location);

}  // namespace hone
