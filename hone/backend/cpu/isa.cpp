#include "hone/backend/cpu/isa.h"

#include <cstdlib>
#include <string_view>

namespace hone {

namespace math {
namespace v2 {
extern const Kernels kKernels;
}
namespace v3 {
extern const Kernels kKernels;
}
namespace v4 {
extern const Kernels kKernels;
}
}  // namespace math

namespace {

IsaLevel supported() {
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                  __builtin_cpu_supports("bmi2");
  if (!v3) return IsaLevel::v2;
  const bool v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return v4 ? IsaLevel::v4 : IsaLevel::v3;
}

IsaLevel choose() {
  const IsaLevel best = supported();
  const char* wish = std::getenv("HONE_ISA");
  for (IsaLevel level : kIsaLevels) {
    if (wish && std::string_view(wish) == name(level) && level < best) return level;
  }
  return best;
}

}  // namespace

IsaLevel isa_level() {
  static const IsaLevel level = choose();
  return level;
}

const math::Kernels* kernels_at(IsaLevel level) {
  static const IsaLevel best = supported();
  if (level > best) return nullptr;
  return level == IsaLevel::v4   ? &math::v4::kKernels
         : level == IsaLevel::v3 ? &math::v3::kKernels
                                 : &math::v2::kKernels;
}

const math::Kernels& kernels() {
  static const math::Kernels& chosen = *kernels_at(isa_level());
  return chosen;
}

}  // namespace hone
