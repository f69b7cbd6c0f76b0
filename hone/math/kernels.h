// What one instruction-set level offers: plain functions over plain memory. Knows nothing of tensors or threads.
#pragma once
#include <cstdint>

#include "hone/math/nn_kernels.h"
#include "hone/math/reduce_kernels.h"
#include "hone/math/types.h"
#include "hone/math/work.h"

namespace hone::math {

/// Operands of a tile: contiguous arrays of one element type (compare and is_finite write bool; select's in[0] is
/// bool). `out` may equal any input of the same element size.
struct TileArgs {
  const void* in[3];
  void* out;
  double params[2];  ///< attributes of functors that have some (leaky_relu's alpha, reduce_precision's bits)
};
/// Elements [begin, end) of the arrays. The same bits for any split and any level (of a NaN only that it is one).
using TileFn = void (*)(const TileArgs& args, int64_t begin, int64_t end);

/// One tile for each element type in DType's order; null where the type is not taken.
struct TileRow {
  TileFn tiles[kElementTypes];
  constexpr TileFn operator[](int type) const { return tiles[type]; }
};

template <class... T>
struct TypeList {};
template <class Tuple>
struct TypeListOf;
template <class... T>
struct TypeListOf<std::tuple<T...>> {
  using Type = TypeList<T...>;
};
using ElementTypeList = TypeListOf<ElementTypes>::Type;

/// All kernels of a level. A header of loops x.h offers fill_x(Kernels&); backend/cpu/isa_table.h calls them.
struct Kernels {
  const TileRow* elementwise;      ///< [row of ops.def's ELEMENTWISE][type of the operands; select's: of the branches]
  TileRow convert[kElementTypes];  ///< [from][to]
  ReduceKernels reduce[kReduceKinds][kElementTypes];
  NnKernels nn;
  const WorkFn* works;  ///< by WorkId
};

}  // namespace hone::math
