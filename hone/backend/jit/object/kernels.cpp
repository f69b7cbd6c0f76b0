// What objects that are compiled ahead of time are linked with: the functions of works by name, and with HONE_RUNTIME
// what runs them. CMake compiles this file with clang to bitcode, for each instruction-set level.
#include "hone/math/object.h"
#include "hone/math/works.h"

#define JOIN_(a, b, c) a##b##_##c
#define JOIN(a, b, c) JOIN_(a, b, c)

extern "C" {
#define WORK(name, function)                                                                                  \
  void JOIN(hone_work_, HONE_LEVEL, name)(const hone::math::WorkArgs& args, int64_t begin, int64_t end) { \
    using namespace hone::math::level;                                                                       \
    using namespace hone::math;                                                                              \
    using namespace hone;                                                                                    \
    (function)(args, begin, end);                                                                            \
  }
#include "hone/math/works.def"
}

#ifdef HONE_RUNTIME
#include "hone/backend/jit/object/runtime.h"
#endif
