// Element types in the order of DType, and the 16-bit floats as storage.
#pragma once
#include <cstdint>
#include <tuple>

namespace hone {

/// IEEE binary16 bits; arithmetic happens in f32 (math/convert.h).
struct Float16 {
  uint16_t bits;
};
/// The upper half of a binary32.
struct BFloat16 {
  uint16_t bits;
};

namespace math {

/// Storage of each element type, in DType's order (tensor/dtype.h asserts it). bool is one byte, 0 or 1.
using ElementTypes = std::tuple<float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                                uint32_t, uint64_t, bool>;
inline constexpr int kElementTypes = std::tuple_size_v<ElementTypes>;

}  // namespace math
}  // namespace hone
