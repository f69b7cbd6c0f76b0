// Batch norm in training is statistics and elementwise calls with the kernel's bits.
// RUN: expand_norm
// CHECK: @main
// CHECK-NEXT: %0:2 = stablehlo.composite "hone.batch_moments" %arg0
// CHECK-NEXT: %1 = stablehlo.constant dense<1.0e-03> : tensor<4xf32>
// CHECK-NEXT: %2 = stablehlo.add %0#1, %1
// CHECK-NEXT: %3 = stablehlo.sqrt %2
// CHECK-NEXT: %4 = stablehlo.divide %arg1, %3
// CHECK-NEXT: %5 = stablehlo.broadcast_in_dim %0#0, dims = [3]
// CHECK-NEXT: %6 = stablehlo.subtract %arg0, %5
// CHECK-NEXT: %7 = stablehlo.broadcast_in_dim %4, dims = [3]
// CHECK-NEXT: %8 = stablehlo.multiply %6, %7
// CHECK-NEXT: %9 = stablehlo.broadcast_in_dim %arg2, dims = [3]
// CHECK-NEXT: %10 = stablehlo.add %8, %9
// CHECK-NEXT: return %10, %0#0, %0#1
func.func @main(%arg0: tensor<2x8x8x4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<4xf32>) -> (tensor<2x8x8x4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = stablehlo.custom_call @hone.batch_norm_training(%arg0, %arg1, %arg2) {hone.attributes = {axis = 3, epsilon = 0.001}} : (tensor<2x8x8x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x8x8x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1, %0#2 : tensor<2x8x8x4xf32>, tensor<4xf32>, tensor<4xf32>
}
// -----
// f64 has no kernel whose bits there are to keep.
// RUN: expand_norm
// CHECK: hone.batch_norm_training
// CHECK-NEXT: return
func.func @main(%arg0: tensor<16x4xf64>, %arg1: tensor<4xf64>, %arg2: tensor<4xf64>) -> tensor<16x4xf64> {
  %0:3 = stablehlo.custom_call @hone.batch_norm_training(%arg0, %arg1, %arg2) {hone.attributes = {axis = 1, epsilon = 0.001}} : (tensor<16x4xf64>, tensor<4xf64>, tensor<4xf64>) -> (tensor<16x4xf64>, tensor<4xf64>, tensor<4xf64>)
  return %0#0 : tensor<16x4xf64>
}
// -----
// Norm and activation are one kernel over the tensor beside that of the statistics.
// RUN: expand_norm, cluster
// CHECK: %0:2 = {{.*}}"hone.batch_moments" %arg0
// CHECK: %2 = {{.*}}"hone.fusion" {{.*}} -> tensor<4xf32>
// CHECK: %6 = {{.*}}"hone.fusion" %arg0, %3, %4, %5 {{.*}} -> tensor<64x4xf32>
// CHECK-NEXT: return %6
func.func @main(%arg0: tensor<64x4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<4xf32>) -> tensor<64x4xf32> {
  %0:3 = stablehlo.custom_call @hone.batch_norm_training(%arg0, %arg1, %arg2) {hone.attributes = {axis = 1, epsilon = 0.001}} : (tensor<64x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<64x4xf32>, tensor<4xf32>, tensor<4xf32>)
  %1 = stablehlo.custom_call @hone.relu(%0#0) : (tensor<64x4xf32>) -> tensor<64x4xf32>
  return %1 : tensor<64x4xf32>
}
