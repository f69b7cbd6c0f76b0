// How a reduction collapses to [outer, extent, inner], for the kernels of all back ends.
#pragma once
#include <algorithm>
#include <iterator>

#include "hone/math/reduce_kernels.h"
#include "hone/ops/table.h"
#include "hone/tensor/shape.h"

namespace hone {

/// The math::ReduceKind of an op, or -1.
inline int reduce_kind(const Op& op) {
  const Op* const kinds[] = {&ops::reduce_sum, &ops::reduce_prod, &ops::reduce_max,
                             &ops::reduce_min, &ops::reduce_and,  &ops::reduce_or};
  const auto found = std::ranges::find(kinds, &op);
  return found == std::end(kinds) ? -1 : static_cast<int>(found - std::begin(kinds));
}

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
