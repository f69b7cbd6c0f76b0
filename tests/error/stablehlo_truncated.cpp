// error: f.mlir:2:30: expected a type, got the end of the text
//   fix: the text form is StableHLO, as jax.jit(f).lower(x).as_text() prints it
#include "hone/compiler/stablehlo.h"
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_stablehlo_truncated(__FILE__, [](const std::string&) {
  constexpr std::string_view kText =
      "func.func @main(%arg0: tensor<3xf32>) -> tensor<3xf32> {\n"
      "  %0 = stablehlo.tanh %arg0 :";
  compiler::parse_text(kText, "f.mlir");
});
}  // namespace hone::test
