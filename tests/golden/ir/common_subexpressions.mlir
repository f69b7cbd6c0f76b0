// Equal calls of equal operands are one, also where they are made equal by others.
// RUN: none
// CHECK: @main
// CHECK-NEXT: %0 = stablehlo.tanh %arg0
// CHECK-NEXT: %1 = stablehlo.multiply %0, %0
// CHECK-NEXT: return %1, %1
func.func @main(%arg0: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = stablehlo.tanh %arg0 : tensor<8xf32>
  %1 = stablehlo.tanh %arg0 : tensor<8xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<8xf32>
  %3 = stablehlo.multiply %1, %1 : tensor<8xf32>
  return %2, %3 : tensor<8xf32>, tensor<8xf32>
}
// -----
// RUN: simplify
// CHECK: @main
// CHECK-NEXT: %0 = stablehlo.exponential %arg0
// CHECK-NEXT: return %0, %0
func.func @main(%arg0: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = stablehlo.negate %arg0 : tensor<8xf32>
  %1 = stablehlo.negate %0 : tensor<8xf32>
  %2 = stablehlo.exponential %1 : tensor<8xf32>
  %3 = stablehlo.exponential %arg0 : tensor<8xf32>
  return %2, %3 : tensor<8xf32>, tensor<8xf32>
}
// -----
// Other attributes, other operands or another order are another call.
// RUN: simplify
// CHECK: reduce{{.*}}dimensions = [0]
// CHECK: reduce{{.*}}dimensions = [1]
// CHECK: stablehlo.subtract %arg0, %arg1
// CHECK-NEXT: stablehlo.subtract %arg1, %arg0
// CHECK-NEXT: return
func.func @main(%arg0: tensor<4x4xf32>, %arg1: tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%arg0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.reduce(%arg0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = stablehlo.subtract %arg0, %arg1 : tensor<4x4xf32>
  %3 = stablehlo.subtract %arg1, %arg0 : tensor<4x4xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
// -----
// Checks are effects: each runs.
// RUN: optimize
// CHECK: check.expect_eq
// CHECK: check.expect_eq
func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  check.expect_eq %arg0, %arg0 : tensor<4xf32>
  check.expect_eq %arg0, %arg0 : tensor<4xf32>
  return %arg0 : tensor<4xf32>
}
