// Sorting and running reductions. Axes may be negative (from the end).
#pragma once
#include <span>
#include <utility>
#include <vector>

#include "hone/tensor/tensor.h"

namespace hone {

/// Elements along an axis in ascending (or descending) order; stable, NaN last in both.
Tensor sort(Operand x, int axis = -1, bool descending = false);
/// i32 indices that would sort x: take_along_axis(x, argsort(x, axis), axis) is sort(x, axis).
Tensor argsort(Operand x, int axis = -1, bool descending = false);
/// All operands (of one shape) in the order of the first.
std::vector<Tensor> sort(std::span<const Tensor> operands, int axis = -1, bool descending = false,
                         Location location = Location::current());
/// {values, i32 indices} of the k largest along the last axis, largest first. NaN counts as largest, as in argmax; of
/// equal elements the one with the lower index comes first.
std::pair<Tensor, Tensor> top_k(Operand x, int64_t k);

/// Running sum along an axis (from the end with `reverse`), in sequence; bool counts in i32.
Tensor cumsum(Operand x, int axis = 0, bool reverse = false);
Tensor cumprod(Operand x, int axis = 0, bool reverse = false);
/// Running maximum and minimum; NaN stays once met. Of equal elements the first gets the gradient.
Tensor cummax(Operand x, int axis = 0, bool reverse = false);
Tensor cummin(Operand x, int axis = 0, bool reverse = false);

}  // namespace hone
