// error: argument 1 of vmap is a scalar, so it has no axis to map
//   at tests/error/vmap_scalar.cpp:LINE   vmap(scaled)(zeros({8, 3}), Tensor(2.0F));
//   argument 1: f32[], axis 0
//   fix: pass in_axes with kUnmapped for it, or give it an axis of examples
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_vmap_scalar(__FILE__, [](const std::string&) {
  const auto scaled = [](const Tensor& x, const Tensor& by) { return x * by; };
  vmap(scaled)(zeros({8, 3}), Tensor(2.0F));
});
}  // namespace hone::test
