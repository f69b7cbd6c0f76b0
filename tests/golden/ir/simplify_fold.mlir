// Elementwise calls of constants are one constant, however large.
// RUN: simplify
// CHECK: @main
// CHECK-NEXT: constant dense<5.0{{.*}} : tensor<1000x1000xf32>
// CHECK-NEXT: stablehlo.add %arg0
// CHECK-NEXT: return
func.func @main(%arg0: tensor<1000x1000xf32>) -> tensor<1000x1000xf32> {
  %a = stablehlo.constant dense<2.0> : tensor<1000x1000xf32>
  %b = stablehlo.constant dense<3.0> : tensor<1000x1000xf32>
  %0 = stablehlo.add %a, %b : tensor<1000x1000xf32>
  %1 = stablehlo.add %arg0, %0 : tensor<1000x1000xf32>
  return %1 : tensor<1000x1000xf32>
}
// -----
// Other small calls of literals are computed.
// RUN: simplify
// CHECK: @main
// CHECK-NEXT: constant dense<6{{.*}}> : tensor<f32>
// CHECK-NOT: reduce
func.func @main(%arg0: tensor<f32>) -> tensor<f32> {
  %a = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  %1 = stablehlo.add %arg0, %0 : tensor<f32>
  return %1 : tensor<f32>
}
// -----
// What depends on an argument is not folded, nor is what the constant alone does not decide.
// RUN: simplify
// CHECK: stablehlo.add %arg0
// CHECK-NEXT: stablehlo.multiply
// CHECK-NEXT: return
func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.constant dense<2.0> : tensor<4xf32>
  %0 = stablehlo.add %arg0, %a : tensor<4xf32>
  %1 = stablehlo.multiply %0, %a : tensor<4xf32>
  return %1 : tensor<4xf32>
}
// -----
// The extent of a known axis is a constant; that of a symbolic one is asked when it is known.
// RUN: simplify
// CHECK: stablehlo.get_dimension_size %arg0, dim = 0
// CHECK-NEXT: constant dense<4> : tensor<i32>
// CHECK-NEXT: return %1, %0
func.func @main(%arg0: tensor<?x4xf32> {hone.shape = "[golden_rows,4]"}) -> (tensor<i32>, tensor<i32>) attributes {hone.symbols = {golden_rows = [1, 64]}} {
  %0 = stablehlo.get_dimension_size %arg0, dim = 1 : (tensor<?x4xf32>) -> tensor<i32>
  %1 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
  return %0, %1 : tensor<i32>, tensor<i32>
}
