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
// -----
// All readers come after the peak: the first computation has none left and goes.
// RUN: recompute
// CHECK: @main
// CHECK: chlo.erf
// CHECK-NOT: chlo.erf
// CHECK: return
func.func @main(%arg0: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %0 = stablehlo.constant dense<0.75> : tensor<256x256xf32>
  %1 = stablehlo.multiply %arg0, %0 : tensor<256x256xf32>
  %2 = "chlo.erf"(%1) : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %3 = stablehlo.constant dense<1.0> : tensor<256x256xf32>
  %4 = stablehlo.add %2, %3 : tensor<256x256xf32>
  %5 = stablehlo.constant dense<0.5> : tensor<256x256xf32>
  %6 = stablehlo.multiply %arg0, %5 : tensor<256x256xf32>
  %7 = stablehlo.multiply %6, %4 : tensor<256x256xf32>
  return %7 : tensor<256x256xf32>
}
