// Loops over all positions of a shape, for kernels that are read as definitions.
#pragma once
#include <cstring>

#include "hone/ops/kernel.h"
#include "hone/ops/views.h"

namespace hone::reference {

/// Calls f with each position, in row-major order.
template <class F>
void for_each_position(const Shape& shape, F&& f) {
  if (shape.count() == 0) return;
  Ints at(shape.size(), 0);
  while (true) {
    f(static_cast<const Ints&>(at));
    int axis = shape.rank() - 1;
    while (axis >= 0 && ++at[axis] == shape[axis].number()) at[axis--] = 0;
    if (axis < 0) return;
  }
}

/// Row-major element offset of a position.
inline int64_t offset_of(const Shape& shape, const Ints& at) {
  int64_t offset = 0;
  for (int i = 0; i < shape.rank(); ++i) offset = offset * shape[i].number() + at[i];
  return offset;
}

inline void copy_element(const Tensor& to, int64_t to_offset, const Tensor& from, int64_t from_offset) {
  const auto item = static_cast<int64_t>(size_of(to.dtype()));
  std::memcpy(to.mutable_bytes() + to_offset * item, from.mutable_bytes() + from_offset * item,
              static_cast<size_t>(item));
}

/// An element of an integer tensor; what exceeds 63 bits saturates.
inline int64_t integer_at(const Tensor& x, int64_t offset) {
  return visit_dtype(x.dtype(), [&](auto kind) -> int64_t {
    using T = decltype(kind);
    if constexpr (std::is_integral_v<T>) {
      const T value = static_cast<const T*>(static_cast<const void*>(x.mutable_bytes()))[offset];
      if constexpr (std::is_same_v<T, uint64_t>)
        return value > INT64_MAX ? INT64_MAX : static_cast<int64_t>(value);
      else
        return static_cast<int64_t>(value);
    } else {
      return 0;
    }
  });
}

}  // namespace hone::reference
