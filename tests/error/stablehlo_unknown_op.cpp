// error: f.mlir uses what Hone does not support
//   2:8: stablehlo.tahn
//   fix: write these parts with other ops, and the types with numbers of known extents; docs/ir-text.md says what is read
#include "hone/compiler/stablehlo.h"
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_stablehlo_unknown_op(__FILE__, [](const std::string&) {
  constexpr std::string_view kText =
      "func.func @main(%arg0: tensor<3xf32>) -> tensor<3xf32> {\n"
      "  %0 = stablehlo.tahn %arg0 : tensor<3xf32>\n"
      "  return %0 : tensor<3xf32>\n"
      "}\n";
  compiler::parse_text(kText, "f.mlir");
});
}  // namespace hone::test
