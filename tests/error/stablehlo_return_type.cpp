// error: f.mlir:1:1: func.func gives f32[3], the text says tensor<4xf32>
#include "hone/compiler/stablehlo.h"
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_stablehlo_return_type(__FILE__, [](const std::string&) {
  constexpr std::string_view kText =
      "func.func @main(%arg0: tensor<3xf32>) -> tensor<4xf32> {\n"
      "  return %arg0 : tensor<3xf32>\n"
      "}\n";
  compiler::parse_text(kText, "f.mlir");
});
}  // namespace hone::test
