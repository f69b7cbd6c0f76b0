// Values of a cluster as functors see them, and back: 16-bit floats compute in f32, as in tiles.
#pragma once
#include "hone/backend/jit/emitted.h"
#include "hone/math/half.h"
#include "hone/math/tile.h"

namespace hone::jit {

inline EmittedMask mask_value(Node bytes) { return {builder().mask_of_bytes(bytes)}; }

template <class T>
auto load(Node node) {
  if constexpr (level::kIsHalf<T>)
    return level::float_of_bits<T>(to<unsigned>(Emitted<unsigned short>::of(node)));
  else
    return Emitted<T>::of(node);
}

/// A result as memory holds elements of type T; a mask as bool.
template <class T>
Node store(EmittedMask m) {
  return builder().bytes_of_mask(m.node);
}
template <class T, class L>
Node store(Emitted<L> x) {
  if constexpr (level::kIsHalf<T>)
    return to<unsigned short>(level::bits_of_float<T>(x)).node;
  else
    return x.node;
}

}  // namespace hone::jit
