// What a kernel serves stays whole.
// RUN: decompose
// CHECK: "hone.softmax"
// CHECK-NEXT: return
func.func @main(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.custom_call @hone.softmax(%arg0) {hone.attributes = {axis = 1}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
// -----
// What none serves becomes calls that one does: there is no f64 kernel of batch norm.
// RUN: decompose
// CHECK: @main
// CHECK-NOT: batch_norm
// CHECK: %13 = stablehlo.sqrt %12
// CHECK-NEXT: %14 = stablehlo.divide %arg1, %13
// CHECK-NEXT: %15 = stablehlo.broadcast_in_dim %14
// CHECK-NEXT: %16 = stablehlo.multiply %6, %15
// CHECK-NEXT: %17 = stablehlo.broadcast_in_dim %arg2
// CHECK-NEXT: %18 = stablehlo.add %16, %17
// CHECK-NEXT: return %18, %4, %10
func.func @main(%arg0: tensor<4x8xf64>, %arg1: tensor<8xf64>, %arg2: tensor<8xf64>) -> (tensor<4x8xf64>, tensor<8xf64>, tensor<8xf64>) {
  %0:3 = stablehlo.custom_call @hone.batch_norm_training(%arg0, %arg1, %arg2) {hone.attributes = {axis = 1, epsilon = 0.001}} : (tensor<4x8xf64>, tensor<8xf64>, tensor<8xf64>) -> (tensor<4x8xf64>, tensor<8xf64>, tensor<8xf64>)
  return %0#0, %0#1, %0#2 : tensor<4x8xf64>, tensor<8xf64>, tensor<8xf64>
}
// -----
// A composite of two calls of the library.
// RUN: decompose
// CHECK: @main
// CHECK-NEXT: %0 = "stablehlo.convolution"(%arg0, %arg1) {{.*}}feature_group_count = 4
// CHECK-NEXT: %1 = "stablehlo.convolution"(%0, %arg2) {{.*}}feature_group_count = 1
// CHECK-NEXT: return %1
func.func @main(%arg0: tensor<1x8x8x4xf32>, %arg1: tensor<3x3x1x4xf32>, %arg2: tensor<1x1x4x6xf32>) -> tensor<1x8x8x6xf32> {
  %0 = stablehlo.custom_call @hone.separable_conv(%arg0, %arg1, %arg2) {hone.attributes = {strides = [1, 1], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 4}} : (tensor<1x8x8x4xf32>, tensor<3x3x1x4xf32>, tensor<1x1x4x6xf32>) -> tensor<1x8x8x6xf32>
  return %0 : tensor<1x8x8x6xf32>
}
