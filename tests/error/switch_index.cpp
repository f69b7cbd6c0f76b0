// error: the index of switch_case is not an integer scalar
//   at tests/error/switch_index.cpp:LINE   return switch_case(sum(x), {[](const Tensor& v) { return v; }, [](const Tensor& v) { return -v; }}, x);
//   index: f32[], made at tests/error/switch_index.cpp:LINE   return switch_case(sum(x), {[](const Tensor& v) { return v; }, [](const Tensor& v) { return -v; }}, x);
//   in 'function', called at tests/error/switch_index.cpp:LINE   forward(ones({3}));
//   fix: cast it, or use cond for a bool
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_switch_index(__FILE__, [](const std::string&) {
  const auto forward = function([](const Tensor& x) {
    return switch_case(sum(x), {[](const Tensor& v) { return v; }, [](const Tensor& v) { return -v; }}, x);
  });
  forward(ones({3}));
});
}  // namespace hone::test
