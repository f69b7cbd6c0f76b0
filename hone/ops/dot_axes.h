// Which axes of a dot_general play which part; for its rules and its kernels.
#pragma once
#include "hone/ops/attrs.h"

namespace hone {

/// Axes of an operand that are neither batch nor contracting, ascending: they survive into the result.
inline Ints free_axes(int rank, const Ints& batch, const Ints& contract) {
  Ints axes;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (!batch.contains(axis) && !contract.contains(axis)) axes.push_back(axis);
  }
  return axes;
}

/// Product of the extents of these axes.
inline Dim extent(const Shape& shape, const Ints& axes) {
  Dim product = 1;
  for (int64_t axis : axes) product = product * shape[static_cast<size_t>(axis)];
  return product;
}

/// Whether two matrices are multiplied over an axis of one element each: each product of theirs is a sum of one term.
inline bool is_outer_product(const Shape& lhs, const Shape& rhs, const DotAttrs& attrs) {
  return lhs.rank() == 2 && rhs.rank() == 2 && attrs.lhs_batch.empty() && attrs.lhs_contract.size() == 1 &&
         extent(lhs, attrs.lhs_contract) == Dim(1);
}

/// What a dense op is as a dot_general.
inline DotAttrs dense_as_dot(int rank) {
  return {.lhs_batch = {}, .rhs_batch = {}, .lhs_contract = {rank - 1}, .rhs_contract = {0}};
}

}  // namespace hone
