// A sum that frees a large value runs as soon as it can, before the next large value is made.
// RUN: schedule
// CHECK: %0 = stablehlo.tanh %arg0
// CHECK: %2 = stablehlo.reduce(%0
// CHECK-NEXT: %3 = stablehlo.exponential %arg0
// CHECK: stablehlo.reduce(%3
// CHECK: return
func.func @main(%arg0: tensor<1024xf32>) -> (tensor<f32>, tensor<f32>) {
  %zero = stablehlo.constant dense<-0.0> : tensor<f32>
  %0 = stablehlo.tanh %arg0 : tensor<1024xf32>
  %1 = stablehlo.exponential %arg0 : tensor<1024xf32>
  %2 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1024xf32>, tensor<f32>) -> tensor<f32>
  %3 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1024xf32>, tensor<f32>) -> tensor<f32>
  return %2, %3 : tensor<f32>, tensor<f32>
}
// -----
// Effects keep their order.
// RUN: schedule
// CHECK: at line 25
// CHECK: at line 26
// CHECK: at line 27
func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<1024xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %arg0 : tensor<4xf32>
  %1 = stablehlo.exponential %arg1 : tensor<1024xf32>
  check.expect_eq %1, %1 : tensor<1024xf32>
  check.expect_eq %arg0, %arg0 : tensor<4xf32>
  check.expect_eq %0, %0 : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
// A cell's new value could be written as soon as the gradient is there, which would free it; who reads the old value
// before it in the program still reads it first.
// RUN: schedule
// CHECK: %0 = stablehlo.tanh %arg1
// CHECK-NEXT: %1 = stablehlo.reverse %arg0
// CHECK-NEXT: %2 = stablehlo.add %arg0, %0
// CHECK-NEXT: return %1, %2
func.func @main(%arg0: tensor<8xf32> {hone.kind = "variable", hone.name = "w", hone.new_value = 1 : i64}, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = stablehlo.tanh %arg1 : tensor<8xf32>
  %1 = stablehlo.reverse %arg0, dims = [0] : tensor<8xf32>
  %2 = stablehlo.add %arg0, %0 : tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}
// -----
// Of an argument that is no cell the sum may run first.
// RUN: schedule
// CHECK: %0 = stablehlo.tanh %arg1
// CHECK-NEXT: %1 = stablehlo.add %arg0, %0
// CHECK-NEXT: %2 = stablehlo.reverse %arg0
// CHECK-NEXT: return %2, %1
func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = stablehlo.tanh %arg1 : tensor<8xf32>
  %1 = stablehlo.reverse %arg0, dims = [0] : tensor<8xf32>
  %2 = stablehlo.add %arg0, %0 : tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}
