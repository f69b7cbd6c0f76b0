// Kernels by instruction-set level. The level is chosen once, from what the CPU offers; the environment variable
// HONE_ISA (v2, v3 or v4: x86-64's psABI levels) lowers it.
#pragma once
#include "hone/math/kernels.h"

namespace hone {

enum class IsaLevel : int { v2, v3, v4 };
inline constexpr IsaLevel kIsaLevels[] = {IsaLevel::v2, IsaLevel::v3, IsaLevel::v4};

constexpr const char* name(IsaLevel level) {
  return level == IsaLevel::v2 ? "v2" : level == IsaLevel::v3 ? "v3" : "v4";
}

/// The level in use. Thread-safe.
IsaLevel isa_level();
/// Its kernels.
const math::Kernels& kernels();
/// Kernels of a level; null if this CPU lacks it.
const math::Kernels* kernels_at(IsaLevel level);

}  // namespace hone
