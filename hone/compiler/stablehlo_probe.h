// What small regions over scalars compute. Regions that only compare, select and combine truth values depend on nothing
// but the order of what they compare, so running them on every order proves what they are.
#pragma once
#include <optional>

#include "hone/ir/graph.h"
#include "hone/ops/attrs.h"

namespace hone::compiler {

/// The comparison that is the region's only node, over both arguments in order; null for others.
const Op* comparator(const ir::Graph& region);
/// Arguments a, i, b, j: true if the region gives the larger of a and b and its index (NaN first, the lower index of
/// equals), false if the smaller; nothing if it does something else.
std::optional<bool> picks_extremum(const ir::Graph& region, DType value, DType index);
/// A comparator of sort over the arguments a, b and further pairs that it ignores: descending or not, as ops::sort
/// orders (NaN last); nothing if it orders otherwise.
std::optional<bool> sorts(const ir::Graph& region, DType key);

}  // namespace hone::compiler
