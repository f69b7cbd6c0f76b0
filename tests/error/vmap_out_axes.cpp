// error: result 0 of vmap differs between examples, but out_axes says it does not
//   at tests/error/vmap_out_axes.cpp:LINE   vmap([](const Tensor& x) { return sum(x); }, {.out_axes = kUnmapped})(zeros({8, 3}));
//   result 0: f32[] for each of 8 examples
//   fix: name the axis where the examples go in out_axes, or reduce over the examples outside
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_vmap_out_axes(__FILE__, [](const std::string&) {
  vmap([](const Tensor& x) { return sum(x); }, {.out_axes = kUnmapped})(zeros({8, 3}));
});
}  // namespace hone::test
