// What adds, multiplies or divides by nothing goes, where no bit of any value changes by it.
// RUN: simplify
// CHECK: @main
// CHECK-NEXT: return %arg0
func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<-0.0> : tensor<8xf32>
  %0 = stablehlo.add %arg0, %zero : tensor<8xf32>
  return %0 : tensor<8xf32>
}
// -----
// -0 + 0 is 0, so adding +0 to floats stays.
// RUN: simplify
// CHECK: constant dense<0.0
// CHECK-NEXT: stablehlo.add %arg0
func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<8xf32>
  %0 = stablehlo.add %arg0, %zero : tensor<8xf32>
  return %0 : tensor<8xf32>
}
// -----
// RUN: simplify
// CHECK: @main
// CHECK-NEXT: return %arg0
func.func @main(%arg0: tensor<8xi32>) -> tensor<8xi32> {
  %zero = stablehlo.constant dense<0> : tensor<8xi32>
  %0 = stablehlo.add %zero, %arg0 : tensor<8xi32>
  %1 = stablehlo.subtract %0, %zero : tensor<8xi32>
  return %1 : tensor<8xi32>
}
// -----
// 0 - x is not x.
// RUN: simplify
// CHECK: constant
// CHECK-NEXT: stablehlo.subtract %0, %arg0
// CHECK-NEXT: return
func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<8xf32>
  %0 = stablehlo.subtract %zero, %arg0 : tensor<8xf32>
  return %0 : tensor<8xf32>
}
// -----
// The constant is seen through its broadcast.
// RUN: simplify
// CHECK: @main
// CHECK-NEXT: return %arg0
func.func @main(%arg0: tensor<2x8xbf16>) -> tensor<2x8xbf16> {
  %one = stablehlo.constant dense<1.0> : tensor<bf16>
  %0 = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<bf16>) -> tensor<2x8xbf16>
  %1 = stablehlo.multiply %arg0, %0 : tensor<2x8xbf16>
  %2 = stablehlo.multiply %0, %1 : tensor<2x8xbf16>
  %3 = stablehlo.divide %2, %0 : tensor<2x8xbf16>
  return %3 : tensor<2x8xbf16>
}
// -----
// Of integers x * 0 is 0; of floats it may be NaN or -0.
// RUN: simplify
// CHECK: %1 = stablehlo.multiply %arg1, %0 : tensor<8xf32>
// CHECK-NEXT: %2 = stablehlo.constant dense<0> : tensor<8xi32>
// CHECK-NEXT: return %2, %1
func.func @main(%arg0: tensor<8xi32>, %arg1: tensor<8xf32>) -> (tensor<8xi32>, tensor<8xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<8xi32>
  %nought = stablehlo.constant dense<0.0> : tensor<8xf32>
  %0 = stablehlo.multiply %arg0, %zero : tensor<8xi32>
  %1 = stablehlo.multiply %arg1, %nought : tensor<8xf32>
  return %0, %1 : tensor<8xi32>, tensor<8xf32>
}
