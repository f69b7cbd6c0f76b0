// error: f.mlir:2:33: expected 3 elements (2 are there), got '['
//   fix: the text form is StableHLO, as jax.jit(f).lower(x).as_text() prints it
#include "hone/compiler/stablehlo.h"
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_stablehlo_literal(__FILE__, [](const std::string&) {
  constexpr std::string_view kText =
      "func.func @main() -> tensor<3xf32> {\n"
      "  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<3xf32>\n"
      "  return %0 : tensor<3xf32>\n"
      "}\n";
  compiler::parse_text(kText, "f.mlir");
});
}  // namespace hone::test
