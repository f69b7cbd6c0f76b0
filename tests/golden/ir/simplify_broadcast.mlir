// RUN: simplify
// CHECK: @main
// CHECK-NEXT: %0 = stablehlo.broadcast_in_dim %arg0, dims = [2] : (tensor<4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: return %0, %arg0
func.func @main(%arg0: tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>) {
  %0 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [1, 2] : (tensor<3x4xf32>) -> tensor<2x3x4xf32>
  %2 = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<4xf32>) -> tensor<4xf32>
  return %1, %2 : tensor<2x3x4xf32>, tensor<4xf32>
}
// -----
// RUN: simplify
// CHECK: @main
// CHECK-NEXT: constant dense<2.5{{.*}} : tensor<3x4xf32>
// CHECK-NEXT: return
func.func @main() -> tensor<3x4xf32> {
  %c = stablehlo.constant dense<2.5> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
