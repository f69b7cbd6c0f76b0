// error: unknown padding "sme"
//   fix: use "same", "valid", or pairs {before, after}
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_conv_padding(__FILE__, [](const std::string&) {
  const nn::Conv2D conv(8, 3, {.padding = "sme"});
  conv(zeros({1, 4, 4, 1}));
});
}  // namespace hone::test
