// What one instruction-set level offers: plain functions over plain memory. Knows nothing of tensors or threads.
#pragma once
#include <cstdint>

#include "hone/math/types.h"

namespace hone::math {

/// Operands of a tile: contiguous arrays of one element type (compare and is_finite write bool; select's in[0] is
/// bool). `out` may equal any input of the same element size.
struct TileArgs {
  const void* in[3];
  void* out;
  double params[2];  ///< attributes of functors that have some (leaky_relu's alpha, reduce_precision's bits)
};
/// Elements [begin, end) of the arrays. The same bits for any split and any level.
using TileFn = void (*)(const TileArgs& args, int64_t begin, int64_t end);

}  // namespace hone::math
