// Of reshapes in a row one is left, or none.
// RUN: simplify
// CHECK: @main
// CHECK-NEXT: %0 = stablehlo.reshape %arg0 : (tensor<2x3x4xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: return %0, %arg0
func.func @main(%arg0: tensor<2x3x4xf32>) -> (tensor<4x6xf32>, tensor<2x3x4xf32>) {
  %0 = stablehlo.reshape %arg0 : (tensor<2x3x4xf32>) -> tensor<24xf32>
  %1 = stablehlo.reshape %0 : (tensor<24xf32>) -> tensor<6x4xf32>
  %2 = stablehlo.reshape %1 : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %3 = stablehlo.reshape %0 : (tensor<24xf32>) -> tensor<2x3x4xf32>
  return %2, %3 : tensor<4x6xf32>, tensor<2x3x4xf32>
}
// -----
// RUN: simplify
// CHECK: @main
// CHECK-NEXT: stablehlo.tanh %arg0
// CHECK-NEXT: constant dense<3.0{{.*}}> : tensor<2x3xf32>
// CHECK-NEXT: return %1, %0
func.func @main(%arg0: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %three = stablehlo.constant dense<3.0> : tensor<6xf32>
  %0 = stablehlo.reshape %three : (tensor<6xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.tanh %arg0 : tensor<2x3xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
}
// -----
// Over a symbolic extent a rule holds for each binding.
// RUN: simplify
// CHECK: @main
// CHECK-NEXT: %0 = stablehlo.tanh %arg0 : tensor<?x4xf32>
// CHECK-NEXT: return %0
func.func @main(%arg0: tensor<?x4xf32> {hone.shape = "[golden_batch,4]"}) -> tensor<?x4xf32> attributes {hone.symbols = {golden_batch = [1, 64]}} {
  %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<?x4xf32>) -> tensor<4x?xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x?xf32>) -> tensor<?x4xf32>
  %2 = stablehlo.tanh %1 : tensor<?x4xf32>
  return %2 : tensor<?x4xf32>
}
