// error: dtype mismatch in and
//   at tests/error/bitwise_dtype.cpp:LINE   auto y = x & Tensor::of<int32_t>({1, 2, 3});
//   a: f32[3]   b: f32[3]
//   expected: one of i8 i16 i32 i64 u8 u16 u32 u64 bool, got: f32
//   fix: convert it first: cast(x, dtype)
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_bitwise_dtype(__FILE__, [](const std::string&) {
  const Tensor x = zeros({3});
  auto y = x & Tensor::of<int32_t>({1, 2, 3});
});
}  // namespace hone::test
