// error: the mapped axes of vmap have different sizes
//   at tests/error/vmap_sizes.cpp:LINE   vmap(score)(zeros({3}), zeros({8, 3}));
//   argument 0: f32[3], axis 0 has 3
//   argument 1: f32[8,3], axis 0 has 8
//   fix: each mapped argument has one entry for each example; pass kUnmapped for what all examples share
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_vmap_sizes(__FILE__, [](const std::string&) {
  const auto score = [](const Tensor& w, const Tensor& x) { return sum(w * x); };
  vmap(score)(zeros({3}), zeros({8, 3}));
});
}  // namespace hone::test
