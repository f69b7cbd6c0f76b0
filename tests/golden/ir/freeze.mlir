// A convolution, its norm and its activation are one call of the library.
// RUN: freeze
// CHECK: @main
// CHECK-NEXT: %0 = stablehlo.constant
// CHECK-NEXT: %1 = stablehlo.constant
// CHECK-NEXT: %2 = stablehlo.composite "hone.frozen_convolution" %arg0, %0, %1 {{.*}}activation
// CHECK-NEXT: return %2
func.func @main(%arg0: tensor<1x8x8x3xf32>) -> tensor<1x8x8x4xf32> {
  %k = stablehlo.constant dense<0.5> : tensor<1x1x3x4xf32>
  %s = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %o = stablehlo.constant dense<[0.1, 0.2, 0.3, 0.4]> : tensor<4xf32>
  %m = stablehlo.constant dense<[0.0, 0.5, 1.0, 1.5]> : tensor<4xf32>
  %v = stablehlo.constant dense<[1.0, 1.5, 2.0, 2.5]> : tensor<4xf32>
  %0 = stablehlo.convolution(%arg0, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[0, 0], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<1x1x3x4xf32>) -> tensor<1x8x8x4xf32>
  %1 = stablehlo.custom_call @hone.batch_norm_inference(%0, %s, %o, %m, %v) {hone.attributes = {axis = 3, epsilon = 0.001}} : (tensor<1x8x8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x8x8x4xf32>
  %2 = stablehlo.custom_call @hone.relu(%1) : (tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
  return %2 : tensor<1x8x8x4xf32>
}
// -----
// A value between that another reads keeps the activation apart.
// RUN: freeze
// CHECK: %2 = stablehlo.composite "hone.frozen_convolution" %arg0
// CHECK-NEXT: %3 = stablehlo.composite "hone.relu" %2
// CHECK-NEXT: return %2, %3
func.func @main(%arg0: tensor<1x8x8x3xf32>) -> (tensor<1x8x8x4xf32>, tensor<1x8x8x4xf32>) {
  %k = stablehlo.constant dense<0.5> : tensor<1x1x3x4xf32>
  %0 = stablehlo.convolution(%arg0, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[0, 0], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<1x1x3x4xf32>) -> tensor<1x8x8x4xf32>
  %1 = stablehlo.custom_call @hone.relu(%0) : (tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
  return %0, %1 : tensor<1x8x8x4xf32>, tensor<1x8x8x4xf32>
}
