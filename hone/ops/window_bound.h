// The bound of what windows are made of. Internal to ops.
#pragma once
#include <cstdint>

namespace hone {

/// Bound of window sizes, strides, dilations and paddings: sums and products of two stay within 64 bits.
inline constexpr int64_t kMaxWindow = int64_t{1} << 30;

}  // namespace hone
