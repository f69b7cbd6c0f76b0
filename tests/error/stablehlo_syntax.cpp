// error: f.mlir:2:29: %arg1 is not defined
#include "hone/compiler/stablehlo.h"
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_stablehlo_syntax(__FILE__, [](const std::string&) {
  constexpr std::string_view kText =
      "func.func @main(%arg0: tensor<3xf32>) -> tensor<3xf32> {\n"
      "  %0 = stablehlo.add %arg0, %arg1 : tensor<3xf32>\n"
      "  return %0 : tensor<3xf32>\n"
      "}\n";
  compiler::parse_text(kText, "f.mlir");
});
}  // namespace hone::test
