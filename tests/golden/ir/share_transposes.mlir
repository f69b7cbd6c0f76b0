// A matrix that several products of few rows read transposed is transposed once: its copy serves them all.
// RUN: share_transposes
// CHECK: %0 = stablehlo.transpose %arg2, dims = [1, 0]
// CHECK-NEXT: %1 = stablehlo.dot_general %arg0, %0, contracting_dims = [1] x [0]
// CHECK-NEXT: %2 = stablehlo.dot_general %arg1, %0, contracting_dims = [1] x [0]
// CHECK-NEXT: return %1, %2
func.func @main(%arg0: tensor<32x512xf32>, %arg1: tensor<16x512xf32>, %arg2: tensor<128x512xf32>) -> (tensor<32x128xf32>, tensor<16x128xf32>) {
  %0 = stablehlo.dot_general %arg0, %arg2, contracting_dims = [1] x [1] : (tensor<32x512xf32>, tensor<128x512xf32>) -> tensor<32x128xf32>
  %1 = stablehlo.dot_general %arg1, %arg2, contracting_dims = [1] x [1] : (tensor<16x512xf32>, tensor<128x512xf32>) -> tensor<16x128xf32>
  return %0, %1 : tensor<32x128xf32>, tensor<16x128xf32>
}
// -----
// One product makes its copy itself; the library reads a small matrix as it lies.
// RUN: share_transposes
// CHECK-NOT: transpose
// CHECK: stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [1]
// CHECK-NOT: transpose
// CHECK: return
func.func @main(%arg0: tensor<32x512xf32>, %arg1: tensor<128x512xf32>, %arg2: tensor<4x512xf32>) -> (tensor<32x128xf32>, tensor<4x128xf32>) {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [1] : (tensor<32x512xf32>, tensor<128x512xf32>) -> tensor<32x128xf32>
  %1 = stablehlo.dot_general %arg2, %arg1, contracting_dims = [1] x [1] : (tensor<4x512xf32>, tensor<128x512xf32>) -> tensor<4x128xf32>
  return %0, %1 : tensor<32x128xf32>, tensor<4x128xf32>
}
