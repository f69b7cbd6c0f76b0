// The kernel table of the level that the including file is compiled for: only isa_v2.cpp, isa_v3.cpp and isa_v4.cpp.
#pragma once
#include "hone/math/convert.h"
#include "hone/math/nn.h"
#include "hone/math/reduce.h"
#include "hone/math/tile.h"
#include "hone/math/vec.h"

namespace hone::math::HONE_LEVEL {

inline constexpr TileRow kElementwise[] = {
#define ELEMENTWISE(name, arity, functor) tile_row<Vec, functor, arity>(),
#include "hone/ops/ops.def"
};

extern const WorkFn kWorkFunctions[];  // works_table.h

constexpr Kernels make_kernels() {
  Kernels kernels{};
  kernels.elementwise = kElementwise;
  fill_convert(kernels);
  fill_reduce(kernels);
  fill_nn(kernels);
  kernels.works = kWorkFunctions;
  return kernels;
}

extern const Kernels kKernels;
// NOLINTNEXTLINE(misc-definitions-in-headers): each level's source includes this once
constinit const Kernels kKernels = make_kernels();

}  // namespace hone::math::HONE_LEVEL
