// error: f.mlir: there is no function @main
//   functions with a body: @forward, @loss
//   fix: call the function to run @main
#include "hone/compiler/stablehlo.h"
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_stablehlo_no_main(__FILE__, [](const std::string&) {
  constexpr std::string_view kText =
      "func.func @forward(%arg0: tensor<3xf32>) -> tensor<3xf32> {\n"
      "  return %arg0 : tensor<3xf32>\n"
      "}\n"
      "func.func @loss(%arg0: tensor<3xf32>) -> tensor<3xf32> {\n"
      "  return %arg0 : tensor<3xf32>\n"
      "}\n";
  compiler::parse_text(kText, "f.mlir");
});
}  // namespace hone::test
