// Boxes in n dimensions between strided places, on their way to loops (math/box_copy.h).
#pragma once
#include "hone/math/box_copy.h"
#include "hone/tensor/shape.h"

namespace hone {

/// Extents of a box and the strides (in elements, may be 0 in `from` or negative) by which each side steps through it.
struct Box {
  Ints size, to, from;
};

/// Its loops: axes joined where both sides run on, in the target's order. `item`: bytes of an element.
math::BoxLoops box_loops(Box box, size_t item);

}  // namespace hone
