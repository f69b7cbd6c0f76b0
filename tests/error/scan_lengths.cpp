// error: xs of scan differ in length
//   at tests/error/scan_lengths.cpp:LINE   scan(step, zeros({4}), std::pair{ones({3, 4}), ones({2, 4})});
//   xs, leaf 0: f32[3,4]
//   xs, leaf 1: f32[2,4]
//   fix: give all tensors of xs the same extent of axis 0
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_scan_lengths(__FILE__, [](const std::string&) {
  const auto step = [](const Tensor& c, const std::pair<Tensor, Tensor>& v) {
    return std::pair{c + v.first, v.second};
  };
  scan(step, zeros({4}), std::pair{ones({3, 4}), ones({2, 4})});
});
}  // namespace hone::test
