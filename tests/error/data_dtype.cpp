// error: a tensor of i32[3] read as f32
//   at tests/error/data_dtype.cpp:LINE   counts.data<float>();
//   fix: read it as i32 or convert it first: cast(x, f32)
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_data_dtype(__FILE__, [](const std::string&) {
  const Tensor counts = Tensor::of<int32_t>({1, 2, 3});
  counts.data<float>();
});
}  // namespace hone::test
