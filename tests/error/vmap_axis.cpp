// error: in_axes of vmap: axis 2 is out of range for argument 0
//   at tests/error/vmap_axis.cpp:LINE   vmap([](const Tensor& x) { return x + 1; }, {.in_axes = 2})(zeros({8, 3}));
//   argument 0: f32[8,3], axis 2
//   fix: use an axis in [-2, 1]
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_vmap_axis(__FILE__, [](const std::string&) {
  vmap([](const Tensor& x) { return x + 1; }, {.in_axes = 2})(zeros({8, 3}));
});
}  // namespace hone::test
