// A slice of a slice is one slice; a slice of all is nothing.
// RUN: simplify
// CHECK: @main
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [3:8:4] : (tensor<20xf32>) -> tensor<2xf32>
// CHECK-NEXT: return %0, %arg0
func.func @main(%arg0: tensor<20xf32>) -> (tensor<2xf32>, tensor<20xf32>) {
  %0 = stablehlo.slice %arg0 [1:12:2] : (tensor<20xf32>) -> tensor<6xf32>
  %1 = stablehlo.slice %0 [1:5:2] : (tensor<6xf32>) -> tensor<2xf32>
  %2 = stablehlo.slice %arg0 [0:20] : (tensor<20xf32>) -> tensor<20xf32>
  return %1, %2 : tensor<2xf32>, tensor<20xf32>
}
// -----
// RUN: simplify
// CHECK: @main
// CHECK-NEXT: return %arg0, %arg0, %arg0
func.func @main(%arg0: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %arg0, %zero, low = [0, 0], high = [0, 0], interior = [0, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %1 = stablehlo.reverse %arg0, dims = [0, 1] : tensor<2x3xf32>
  %2 = stablehlo.reverse %1, dims = [0, 1] : tensor<2x3xf32>
  %3 = stablehlo.concatenate %arg0, dim = 1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0, %2, %3 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}
// -----
// Padding that cuts is kept, and so are reversals of other axes.
// RUN: simplify
// CHECK: stablehlo.pad %arg0
// CHECK-NEXT: stablehlo.reverse %arg0, dims = [0]
// CHECK-NEXT: stablehlo.reverse %2, dims = [1]
// CHECK-NEXT: return
func.func @main(%arg0: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %arg0, %zero, low = [-1, 0], high = [1, 0], interior = [0, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %1 = stablehlo.reverse %arg0, dims = [0] : tensor<2x3xf32>
  %2 = stablehlo.reverse %1, dims = [1] : tensor<2x3xf32>
  return %0, %2 : tensor<2x3xf32>, tensor<2x3xf32>
}
// -----
// Starts that are not known are clamped, each to its own operand: two such slices are not one.
// RUN: optimize
// CHECK: @main
// CHECK-NEXT: %0 = stablehlo.dynamic_slice %arg0, %arg1
// CHECK-NEXT: %1 = stablehlo.dynamic_slice %0, %arg2
// CHECK-NEXT: return %1
func.func @main(%arg0: tensor<10xf32>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<3xf32> {
  %0 = stablehlo.dynamic_slice %arg0, %arg1, sizes = [5] : (tensor<10xf32>, tensor<i32>) -> tensor<5xf32>
  %1 = stablehlo.dynamic_slice %0, %arg2, sizes = [3] : (tensor<5xf32>, tensor<i32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}
