// error: cannot split axis 0 into 3 equal parts
//   at tests/error/split_uneven.cpp:LINE   static const Mistake k_split_uneven(__FILE__, [](const std::string&) { auto parts = split(zeros({10, 4}), 3, 0); });
//   x: f32[10,4]
//   fix: pass a number that divides the extent, or a list of sizes
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_split_uneven(__FILE__, [](const std::string&) { auto parts = split(zeros({10, 4}), 3, 0); });
}  // namespace hone::test
