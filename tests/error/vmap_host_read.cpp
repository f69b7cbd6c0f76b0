// error: a value under vmap is read on the host
//   at tests/error/vmap_host_read.cpp:LINE   return total.item<float>() > 1 ? x / total : x;
//   value: f32[], made at tests/error/vmap_host_read.cpp:LINE   const Tensor total = sum(x);
//   the function runs once for all examples, so there is no one value to read
//   fix: select with where(condition, a, b) instead of branching, show it with print, or return it
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_vmap_host_read(__FILE__, [](const std::string&) {
  const auto clipped = [](const Tensor& x) {
    const Tensor total = sum(x);
    return total.item<float>() > 1 ? x / total : x;
  };
  vmap(clipped)(ones({8, 3}));
});
}  // namespace hone::test
