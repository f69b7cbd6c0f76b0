// error: f.mlir:6:8: more than 100 calls and regions in each other
//   fix: a function that calls itself has no end here: repeat with stablehlo.while
#include "hone/compiler/stablehlo.h"
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_stablehlo_recursion(__FILE__, [](const std::string&) {
  constexpr std::string_view kText =
      "func.func @main(%arg0: tensor<f32>) -> tensor<f32> {\n"
      "  %0 = func.call @again(%arg0) : (tensor<f32>) -> tensor<f32>\n"
      "  return %0 : tensor<f32>\n"
      "}\n"
      "func.func private @again(%arg0: tensor<f32>) -> tensor<f32> {\n"
      "  %0 = func.call @again(%arg0) : (tensor<f32>) -> tensor<f32>\n"
      "  return %0 : tensor<f32>\n"
      "}\n";
  compiler::parse_text(kText, "f.mlir");
});
}  // namespace hone::test
