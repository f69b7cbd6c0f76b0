// There and back by way of a type that holds every value is nothing.
// RUN: simplify
// CHECK: @main
// CHECK-NEXT: return %arg0, %arg1
func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xi8>) -> (tensor<8xf32>, tensor<8xi8>) {
  %0 = stablehlo.convert %arg0 : (tensor<8xf32>) -> tensor<8xf64>
  %1 = stablehlo.convert %0 : (tensor<8xf64>) -> tensor<8xf32>
  %2 = stablehlo.convert %arg1 : (tensor<8xi8>) -> tensor<8xf16>
  %3 = stablehlo.convert %2 : (tensor<8xf16>) -> tensor<8xi8>
  return %1, %3 : tensor<8xf32>, tensor<8xi8>
}
// -----
// By way of a narrower one it rounds.
// RUN: simplify
// CHECK: stablehlo.convert %arg0 : (tensor<8xf32>) -> tensor<8xf16>
// CHECK-NEXT: stablehlo.convert %0 : (tensor<8xf16>) -> tensor<8xf32>
// CHECK-NEXT: stablehlo.convert %arg1 : (tensor<8xi32>) -> tensor<8xf32>
// CHECK-NEXT: stablehlo.convert %2 : (tensor<8xf32>) -> tensor<8xi32>
// CHECK-NEXT: return
func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>) {
  %0 = stablehlo.convert %arg0 : (tensor<8xf32>) -> tensor<8xf16>
  %1 = stablehlo.convert %0 : (tensor<8xf16>) -> tensor<8xf32>
  %2 = stablehlo.convert %arg1 : (tensor<8xi32>) -> tensor<8xf32>
  %3 = stablehlo.convert %2 : (tensor<8xf32>) -> tensor<8xi32>
  return %1, %3 : tensor<8xf32>, tensor<8xi32>
}
