// error: a tensor of f32[1099511627776,1099511627776] cannot be made
//   at tests/error/size_overflow.cpp:LINE   auto x = zeros({int64_t{1} << 40, int64_t{1} << 40}) + 1;
//   extents must be >= 0 and their product must fit in memory
//   fix: check the shape
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_size_overflow(__FILE__, [](const std::string&) {
  auto x = zeros({int64_t{1} << 40, int64_t{1} << 40}) + 1;
});
}  // namespace hone::test
