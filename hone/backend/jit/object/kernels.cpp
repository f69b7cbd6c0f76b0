// What objects that are compiled ahead of time are linked with: the functions of works by name, and with HONE_RUNTIME
// what runs them, and tables of tiles, from which the generator takes what its code calls. CMake compiles this file
// with clang to bitcode, for each instruction-set level.
#include "hone/math/convert.h"
#include "hone/math/object.h"
#include "hone/math/tile.h"
#include "hone/math/vec.h"
#include "hone/math/works.h"

#define JOIN_(a, b, c) a##b##_##c
#define JOIN(a, b, c) JOIN_(a, b, c)

extern "C" {
#define WORK(name, function)                                                                              \
  void JOIN(hone_work_, HONE_LEVEL, name)(const hone::math::WorkArgs& args, int64_t begin, int64_t end) { \
    using namespace hone::math::level;                                                                    \
    using namespace hone::math;                                                                           \
    using namespace hone;                                                                                 \
    (function)(args, begin, end);                                                                         \
  }
#include "hone/math/works.def"
}

#define TABLE_(a, b) a##b
#define TABLE(a, b) TABLE_(a, b)
extern "C" {
extern const hone::math::TileRow TABLE(hone_tiles_, HONE_LEVEL)[];
constinit const hone::math::TileRow TABLE(hone_tiles_, HONE_LEVEL)[] = {
#define ELEMENTWISE(name, arity, functor) \
  hone::math::level::tile_row<hone::math::level::Vec, hone::math::level::functor, arity>(),
#include "hone/ops/ops.def"
};
struct Conversions {
  hone::math::TileRow rows[hone::math::kElementTypes];
};
extern const Conversions TABLE(hone_conversions_, HONE_LEVEL);
constinit const Conversions TABLE(hone_conversions_, HONE_LEVEL) = [] {
  hone::math::Kernels kernels{};
  hone::math::level::fill_convert(kernels);
  Conversions made{};
  for (int i = 0; i < hone::math::kElementTypes; ++i) made.rows[i] = kernels.convert[i];
  return made;
}();
}

#ifdef HONE_RUNTIME
#include "hone/backend/jit/object/runtime.h"
#endif
