// How a reduction collapses to [outer, extent, inner], for the kernels of all back ends.
#pragma once
#include "hone/tensor/shape.h"

namespace hone {

/// One pass: the result is [outer, inner].
struct ReduceStep {
  int64_t outer, extent, inner;
};
using ReduceSteps = FixedVector<ReduceStep, kMaxRank>;

/// Axes of extent 1 are dropped, neighbours of a kind joined; the minor group of reduced axes goes first, the next pass
/// reads its result.
inline ReduceSteps reduce_steps(const Shape& shape, const Ints& axes) {
  struct Group {
    int64_t extent;
    bool reduced;
  };
  FixedVector<Group, kMaxRank> groups;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const int64_t extent = shape[axis].number();
    const bool reduced = axes.contains(axis);
    if (extent == 1) continue;
    if (!groups.empty() && groups.back().reduced == reduced)
      groups.back().extent *= extent;
    else
      groups.push_back({extent, reduced});
  }
  ReduceSteps steps;
  int64_t inner = 1;
  for (size_t i = groups.size(); i-- > 0;) {
    if (!groups[i].reduced) {
      inner *= groups[i].extent;
      continue;
    }
    int64_t outer = 1;
    for (size_t k = 0; k < i; ++k) outer *= groups[k].extent;
    steps.push_back({outer, groups[i].extent, inner});
  }
  if (steps.empty()) steps.push_back({1, 1, inner});
  return steps;
}

}  // namespace hone
