// The functions of works of the level that the including file is compiled for: only works_v2.cpp, works_v3.cpp and
// works_v4.cpp.
#pragma once
#include "hone/math/works.h"

namespace hone::math::HONE_LEVEL {

extern const WorkFn kWorkFunctions[];
// NOLINTNEXTLINE(misc-definitions-in-headers): each level's source includes this once
constinit const WorkFn kWorkFunctions[] = {
#define WORK(name, function) &function,
#include "hone/math/works.def"
};

}  // namespace hone::math::HONE_LEVEL
