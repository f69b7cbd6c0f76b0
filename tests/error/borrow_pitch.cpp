// error: row_bytes = 640 does not fit rows of u8[480,640,3]
//   at tests/error/borrow_pitch.cpp:LINE   auto frame = Tensor::borrow(pixels, {480, 640, 3}, u8, {.row_bytes = 640});
//   a row has 1920 bytes; row_bytes must be at least that and a multiple of 1
//   fix: pass the pitch of the image in bytes
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_borrow_pitch(__FILE__, [](const std::string&) {
  static const unsigned char pixels[480 * 640 * 3] = {};
  auto frame = Tensor::borrow(pixels, {480, 640, 3}, u8, {.row_bytes = 640});
});
}  // namespace hone::test
