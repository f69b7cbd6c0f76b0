// error: item() of a tensor with several elements
//   at tests/error/item_of_many.cpp:LINE   x.item<float>();
//   x: f32[2,3]
//   fix: reduce it first, or use to_vector()
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_item_of_many(__FILE__, [](const std::string&) {
  const Tensor x = zeros({2, 3});
  x.item<float>();
});
}  // namespace hone::test
