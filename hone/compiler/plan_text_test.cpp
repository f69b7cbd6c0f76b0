#include "hone/compiler/plan_text.h"

#include <gtest/gtest.h>

#include "hone/compiler/pipeline.h"
#include "hone/compiler/stablehlo.h"

namespace hone::compiler {
namespace {

constexpr std::string_view kText =
    "func.func @main(%arg0: tensor<64x32xf32>, %arg1: tensor<32x32xf32>) -> tensor<64x32xf32> {\n"
    "  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x32xf32>) "
    "-> tensor<64x32xf32>\n"
    "  %1 = stablehlo.tanh %0 : tensor<64x32xf32>\n"
    "  %2 = stablehlo.multiply %1, %arg0 : tensor<64x32xf32>\n"
    "  %3 = stablehlo.dot_general %2, %arg1, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x32xf32>) -> "
    "tensor<64x32xf32>\n"
    "  return %3 : tensor<64x32xf32>\n}\n";

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(PlanText, NamesStepsKernelsAndPlaces) {
  const Compiled compiled = compile(optimize(parse_text(kText, "f.mlir")));
  const std::string text = plan_text(compiled.executable->plan());
  EXPECT_TRUE(text.starts_with("3 steps, arena of ")) << text;
  EXPECT_TRUE(has(text, "dot_general by onednn.") || has(text, "dot_general by cpu.")) << text;
  EXPECT_TRUE(has(text, "fusion by ") && has(text, "f32[64,32] input0, f32[32,32] input1")) << text;
  EXPECT_TRUE(has(text, "f32[64,32] arena+0") && has(text, "writes f32[64,32] output0")) << text;
}

TEST(PlanText, ListsTheArenaBySizeWithItsBound) {
  const Compiled compiled = compile(optimize(parse_text(kText, "f.mlir")));
  const std::string text = memory_text(compiled.executable->plan());
  EXPECT_TRUE(has(text, "arena of 8192 bytes, at least 8192 are alive")) << text;
  EXPECT_TRUE(has(text, "dot_general")) << text;
}

TEST(PlanText, SaysWhatWasFused) {
  const Compiled compiled = compile(optimize(parse_text(kText, "f.mlir")));
  EXPECT_TRUE(has(fusion_text(compiled.fusion), "tanh + multiply -> 1 kernel")) << fusion_text(compiled.fusion);
  EXPECT_EQ(fusion_text({}), "no calls to gather\n");
}

}  // namespace
}  // namespace hone::compiler
