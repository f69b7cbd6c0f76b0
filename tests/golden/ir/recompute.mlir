// A large activation that is only kept across the peak is computed a second time from what is alive there anyway.
// RUN: recompute
// CHECK: @main
// CHECK-NEXT: %0 = stablehlo.composite "hone.relu" %arg0
// CHECK: stablehlo.dot_general %0, %arg1
// CHECK: "hone.relu" %arg0
// CHECK: stablehlo.multiply
// CHECK-NEXT: return
func.func @main(%arg0: tensor<256x256xf32>, %arg1: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %0 = stablehlo.custom_call @hone.relu(%arg0) : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = stablehlo.dot_general %0, %arg1, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %2 = stablehlo.dot_general %1, %arg1, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %3 = stablehlo.dot_general %2, %arg1, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %4 = stablehlo.multiply %3, %0 : tensor<256x256xf32>
  return %4 : tensor<256x256xf32>
}
// -----
// A small one is kept: 64 KiB are worth it.
// RUN: recompute
// CHECK: @main
// CHECK-NEXT: %0 = stablehlo.composite "hone.relu" %arg0
// CHECK-NOT: "hone.relu"
// CHECK: stablehlo.multiply %3, %0
// CHECK-NEXT: return
func.func @main(%arg0: tensor<64x64xf32>, %arg1: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = stablehlo.custom_call @hone.relu(%arg0) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.dot_general %0, %arg1, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = stablehlo.dot_general %1, %arg1, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = stablehlo.dot_general %2, %arg1, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %4 = stablehlo.multiply %3, %0 : tensor<64x64xf32>
  return %4 : tensor<64x64xf32>
}
// -----
// A matrix product is kept, as it takes time ...
// RUN: recompute
// CHECK: %0 = stablehlo.dot_general %arg0, %arg1
// CHECK: stablehlo.multiply %3, %0
// CHECK-NEXT: return
func.func @main(%arg0: tensor<256x256xf32>, %arg1: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = stablehlo.dot_general %0, %arg1, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %2 = stablehlo.dot_general %1, %arg1, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %3 = stablehlo.dot_general %2, %arg1, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %4 = stablehlo.multiply %3, %0 : tensor<256x256xf32>
  return %4 : tensor<256x256xf32>
}
// -----
// ... unless memory is what counts.
// RUN: recompute_contractions
// CHECK: %0 = stablehlo.dot_general %arg0, %arg1
// CHECK: stablehlo.dot_general %arg0, %arg1
// CHECK: stablehlo.multiply
// CHECK-NEXT: return
func.func @main(%arg0: tensor<256x256xf32>, %arg1: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = stablehlo.dot_general %0, %arg1, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %2 = stablehlo.dot_general %1, %arg1, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %3 = stablehlo.dot_general %2, %arg1, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %4 = stablehlo.multiply %3, %0 : tensor<256x256xf32>
  return %4 : tensor<256x256xf32>
}
// -----
// The second computation is on purpose: it does not become one with the first again.
// RUN: recompute, simplify
// CHECK: "hone.relu" %arg0
// CHECK: "hone.relu" %arg0
// CHECK: stablehlo.multiply
func.func @main(%arg0: tensor<256x256xf32>, %arg1: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %0 = stablehlo.custom_call @hone.relu(%arg0) : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = stablehlo.dot_general %0, %arg1, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %2 = stablehlo.dot_general %1, %arg1, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %3 = stablehlo.dot_general %2, %arg1, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %4 = stablehlo.multiply %3, %0 : tensor<256x256xf32>
  return %4 : tensor<256x256xf32>
}
