// error: shape mismatch in add
//   at f.mlir:2
//   a: f32[3]   b: f32[4]
//   operands must have one shape
//   fix: broadcast or reshape one of them
#include "hone/compiler/stablehlo.h"
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_stablehlo_type(__FILE__, [](const std::string&) {
  constexpr std::string_view kText =
      "func.func @main(%arg0: tensor<3xf32>, %arg1: tensor<4xf32>) -> tensor<3xf32> {\n"
      "  %0 = stablehlo.add %arg0, %arg1 : tensor<3xf32>\n"
      "  return %0 : tensor<3xf32>\n"
      "}\n";
  compiler::parse_text(kText, "f.mlir");
});
}  // namespace hone::test
