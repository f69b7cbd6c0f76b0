// error: vmap maps no argument
//   at tests/error/vmap_nothing_mapped.cpp:LINE   vmap([](const Tensor& x) { return x + 1; }, {.in_axes = {kUnmapped}})(zeros({8, 3}));
//   argument 0: f32[8,3], not mapped
//   fix: name the axis of the examples of at least one argument in in_axes, or give axis_size
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_vmap_nothing_mapped(__FILE__, [](const std::string&) {
  vmap([](const Tensor& x) { return x + 1; }, {.in_axes = {kUnmapped}})(zeros({8, 3}));
});
}  // namespace hone::test
