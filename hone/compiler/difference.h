// How far results lie from those expected.
#pragma once
#include <span>

#include "hone/tensor/tensor.h"

namespace hone::compiler {

/// How far results lie from those expected.
struct Difference {
  bool found = false;    ///< bits differ (NaNs are equal), and some tensor lies beyond the tolerance
  double largest = 0;    ///< between two elements; infinite where one is NaN or the types differ
  double magnitude = 0;  ///< the largest finite element expected in that tensor
};
/// `tolerance`, unless 0, is relative to the largest finite element expected in each tensor.
Difference difference(std::span<const Tensor> expected, std::span<const Tensor> got, double tolerance = 0);

}  // namespace hone::compiler
