// error: f.mlir uses what Hone does not support
//   1:17: the type tensor<3xcomplex<f32>>
//   1:48: the type tensor<?xf32>: ? without the attribute hone.shape
//   3:8: stablehlo.fft gives tensor<3xcomplex<f32>>
//   fix: write these parts with other ops, and the types with numbers of known extents; docs/ir-text.md says what is read
#include "hone/compiler/stablehlo.h"
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_stablehlo_unsupported(__FILE__, [](const std::string&) {
  constexpr std::string_view kText =
      "func.func @main(%arg0: tensor<3xcomplex<f32>>, %arg1: tensor<?xf32>) -> tensor<3xf32> {\n"
      "  %0 = stablehlo.abs %arg0 : (tensor<3xcomplex<f32>>) -> tensor<3xf32>\n"
      "  %1 = stablehlo.fft %arg0, type = FFT, length = [3] : (tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>\n"
      "  return %0 : tensor<3xf32>\n"
      "}\n";
  compiler::parse_text(kText, "f.mlir");
});
}  // namespace hone::test
