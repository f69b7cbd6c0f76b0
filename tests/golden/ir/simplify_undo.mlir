// Calls that undo the one before, or repeat it.
// RUN: simplify
// CHECK: @main
// CHECK-NEXT: return %arg0, %arg1
func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xi1>) -> (tensor<8xf32>, tensor<8xi1>) {
  %0 = stablehlo.negate %arg0 : tensor<8xf32>
  %1 = stablehlo.negate %0 : tensor<8xf32>
  %2 = stablehlo.not %arg1 : tensor<8xi1>
  %3 = stablehlo.not %2 : tensor<8xi1>
  return %1, %3 : tensor<8xf32>, tensor<8xi1>
}
// -----
// Of four negations none is left: rules run until none fits.
// RUN: simplify
// CHECK: @main
// CHECK-NEXT: stablehlo.exponential %arg0
// CHECK-NEXT: return
func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.negate %arg0 : tensor<8xf32>
  %1 = stablehlo.negate %0 : tensor<8xf32>
  %2 = stablehlo.negate %1 : tensor<8xf32>
  %3 = stablehlo.negate %2 : tensor<8xf32>
  %4 = stablehlo.exponential %3 : tensor<8xf32>
  return %4 : tensor<8xf32>
}
// -----
// RUN: simplify
// CHECK: @main
// CHECK-NEXT: %0 = stablehlo.abs %arg0
// CHECK-NEXT: %1 = stablehlo.floor %0
// CHECK-NEXT: return %1
func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.negate %arg0 : tensor<8xf32>
  %1 = stablehlo.abs %0 : tensor<8xf32>
  %2 = stablehlo.abs %1 : tensor<8xf32>
  %3 = stablehlo.floor %2 : tensor<8xf32>
  %4 = stablehlo.floor %3 : tensor<8xf32>
  return %4 : tensor<8xf32>
}
// -----
// What others read as well stays for them.
// RUN: simplify
// CHECK: %0 = stablehlo.negate %arg0
// CHECK-NEXT: return %0, %arg0
func.func @main(%arg0: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = stablehlo.negate %arg0 : tensor<8xf32>
  %1 = stablehlo.negate %0 : tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
// -----
// RUN: simplify
// CHECK: @main
// CHECK-NEXT: %0 = stablehlo.composite "hone.relu" %arg0
// CHECK-NEXT: return %0
func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.custom_call @hone.relu(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = stablehlo.custom_call @hone.relu(%0) : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
// -----
// RUN: simplify
// CHECK: @main
// CHECK-NEXT: return %arg0, %arg1
func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>) {
  %0 = stablehlo.maximum %arg0, %arg0 : tensor<8xf32>
  %1 = stablehlo.minimum %0, %0 : tensor<8xf32>
  %2 = stablehlo.and %arg1, %arg1 : tensor<8xi32>
  %3 = stablehlo.or %2, %2 : tensor<8xi32>
  return %1, %3 : tensor<8xf32>, tensor<8xi32>
}
// -----
// RUN: simplify
// CHECK: @main
// CHECK-NEXT: return %arg1, %arg2, %arg1
func.func @main(%arg0: tensor<8xi1>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %yes = stablehlo.constant dense<true> : tensor<8xi1>
  %no = stablehlo.constant dense<false> : tensor<8xi1>
  %0 = stablehlo.select %yes, %arg1, %arg2 : tensor<8xi1>, tensor<8xf32>
  %1 = stablehlo.select %no, %arg1, %arg2 : tensor<8xi1>, tensor<8xf32>
  %2 = stablehlo.select %arg0, %arg1, %arg1 : tensor<8xi1>, tensor<8xf32>
  return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
