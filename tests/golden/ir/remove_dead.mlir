// What expanding leaves and nobody reads goes: of a norm whose output is not used only the statistics stay.
// RUN: expand_norm
// CHECK: composite "hone.batch_moments"
// CHECK: stablehlo.divide
// CHECK: stablehlo.multiply
func.func @main(%arg0: tensor<16x4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<4xf32>) -> tensor<4xf32> {
  %0:3 = stablehlo.custom_call @hone.batch_norm_training(%arg0, %arg1, %arg2) {hone.attributes = {axis = 1, epsilon = 0.001}} : (tensor<16x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<16x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %0#1 : tensor<4xf32>
}
// -----
// RUN: expand_norm, remove_dead
// CHECK: @main
// CHECK-NEXT: %0:2 = stablehlo.composite "hone.batch_moments"
// CHECK-NEXT: return %0#0
func.func @main(%arg0: tensor<16x4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<4xf32>) -> tensor<4xf32> {
  %0:3 = stablehlo.custom_call @hone.batch_norm_training(%arg0, %arg1, %arg2) {hone.attributes = {axis = 1, epsilon = 0.001}} : (tensor<16x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<16x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %0#1 : tensor<4xf32>
}
// -----
// Inputs stay though nobody reads them; effects stay though they give nothing.
// RUN: remove_dead
// CHECK: @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>)
// CHECK: stablehlo.tanh
// CHECK: check.expect_eq
// CHECK: return %arg0
func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %arg0 : tensor<4xf32>
  check.expect_eq %0, %0 : tensor<4xf32>
  return %arg0 : tensor<4xf32>
}
