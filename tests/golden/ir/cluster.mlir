// Elementwise calls of one shape that feed each other are one kernel.
// RUN: cluster
// CHECK: @main
// CHECK-NEXT: %0 = {{.*}}hone.fusion{{.*}}%arg0
// CHECK-NEXT: return %0
func.func @main(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xf32> {
  %0 = stablehlo.multiply %arg0, %arg1 : tensor<64xf32>
  %1 = stablehlo.add %0, %arg1 : tensor<64xf32>
  %2 = stablehlo.tanh %1 : tensor<64xf32>
  return %2 : tensor<64xf32>
}
// -----
// One call alone stays as it is.
// RUN: cluster
// CHECK: @main
// CHECK-NEXT: %0 = stablehlo.tanh %arg0
// CHECK-NEXT: return %0
func.func @main(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = stablehlo.tanh %arg0 : tensor<64xf32>
  return %0 : tensor<64xf32>
}
// -----
// A value that is read outside is a result of the kernel beside the last one.
// RUN: cluster
// CHECK: @main
// CHECK-NEXT: %0:2 = {{.*}}hone.fusion
// CHECK-NEXT: return %0#0, %0#1
func.func @main(%arg0: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = stablehlo.negate %arg0 : tensor<64xf32>
  %1 = stablehlo.tanh %0 : tensor<64xf32>
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}
// -----
// What is done with each element, a reduction, and what is done with its result are one kernel over rows.
// RUN: cluster
// CHECK: @main
// CHECK-NEXT: %0 = {{.*}}hone.fusion{{.*}}%arg0
// CHECK-NEXT: return %0
func.func @main(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %zero = stablehlo.constant dense<-0.0> : tensor<f32>
  %0 = stablehlo.negate %arg0 : tensor<64xf32>
  %1 = stablehlo.exponential %0 : tensor<64xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<64xf32>
  %4 = stablehlo.divide %1, %3 : tensor<64xf32>
  %5 = stablehlo.negate %4 : tensor<64xf32>
  return %5 : tensor<64xf32>
}
// -----
// Softmax, composed, is one kernel, and gives its rows' maxima too where they are read.
// RUN: cluster
// CHECK: @main
// CHECK-NEXT: %0:2 = {{.*}}hone.fusion{{.*}}%arg0
// CHECK-NEXT: return %0#1, %0#0
func.func @main(%arg0: tensor<2x8x64xf32>) -> (tensor<2x8x64xf32>, tensor<2x8xf32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<-0.0> : tensor<f32>
  %0 = stablehlo.reduce(%arg0 init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<2x8x64xf32>, tensor<f32>) -> tensor<2x8xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x8xf32>) -> tensor<2x8x1xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2] : (tensor<2x8x1xf32>) -> tensor<2x8x64xf32>
  %3 = stablehlo.subtract %arg0, %2 : tensor<2x8x64xf32>
  %4 = stablehlo.exponential %3 : tensor<2x8x64xf32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x8x64xf32>, tensor<f32>) -> tensor<2x8xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x64xf32>
  %7 = stablehlo.divide %4, %6 : tensor<2x8x64xf32>
  return %7, %0 : tensor<2x8x64xf32>, tensor<2x8xf32>
}
// -----
// What is done with rows' results alone joins, and a broadcast that is read outside stays outside.
// RUN: cluster
// CHECK: @main
// CHECK-NEXT: %0:2 = {{.*}}hone.fusion{{.*}}%arg0
// CHECK-NEXT: %1 = stablehlo.broadcast_in_dim %0#0
// CHECK-NEXT: return %0#1, %1
func.func @main(%arg0: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %zero = stablehlo.constant dense<-0.0> : tensor<f32>
  %0 = stablehlo.reduce(%arg0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x64xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = stablehlo.rsqrt %0 : tensor<8xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<8xf32>) -> tensor<8x64xf32>
  %3 = stablehlo.multiply %arg0, %2 : tensor<8x64xf32>
  return %3, %2 : tensor<8x64xf32>, tensor<8x64xf32>
}
// -----
// Rows' results that are repeated the other way are no part of it.
// RUN: cluster
// CHECK: stablehlo.reduce(%arg0
// CHECK: stablehlo.broadcast_in_dim
// CHECK-NEXT: stablehlo.multiply
// CHECK-NEXT: return
func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %zero = stablehlo.constant dense<-0.0> : tensor<f32>
  %0 = stablehlo.reduce(%arg0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<8xf32>) -> tensor<8x8xf32>
  %2 = stablehlo.multiply %arg0, %1 : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}
// -----
// A reduction of columns is part of the kernel that makes what it reads; what reads it is another: it depends on all
// rows.
// RUN: cluster
// CHECK: @main
// CHECK-NEXT: %0:2 = {{.*}}hone.fusion{{.*}}%arg0
// CHECK-NEXT: stablehlo.broadcast_in_dim %0#1
// CHECK-NEXT: hone.fusion{{.*}}%0#0
// CHECK-NEXT: return
func.func @main(%arg0: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = stablehlo.constant dense<-0.0> : tensor<f32>
  %0 = stablehlo.negate %arg0 : tensor<8x64xf32>
  %1 = stablehlo.exponential %0 : tensor<8x64xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x64xf32>, tensor<f32>) -> tensor<64xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<64xf32>) -> tensor<8x64xf32>
  %4 = stablehlo.divide %1, %3 : tensor<8x64xf32>
  %5 = stablehlo.negate %4 : tensor<8x64xf32>
  return %5 : tensor<8x64xf32>
}
// -----
// Nor do long rows join, whose values would not stay near.
// RUN: cluster
// CHECK-NOT: fusion
// CHECK: stablehlo.reduce(%arg0
// CHECK-NOT: fusion
func.func @main(%arg0: tensor<2x16385xf32>) -> tensor<2xf32> {
  %zero = stablehlo.constant dense<-0.0> : tensor<f32>
  %0 = stablehlo.reduce(%arg0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x16385xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = stablehlo.negate %0 : tensor<2xf32>
  return %1 : tensor<2xf32>
}
// -----
// Calls of another shape do not join, though they are read by ones that do.
// RUN: cluster
// CHECK: @main
// CHECK-NEXT: %0 = stablehlo.tanh %arg1 : tensor<4xf32>
// CHECK-NEXT: %1 = stablehlo.broadcast_in_dim %0
// CHECK-NEXT: %2 = {{.*}}hone.fusion{{.*}}%arg0{{.*}}%1
// CHECK-NEXT: return %2
func.func @main(%arg0: tensor<16x4xf32>, %arg1: tensor<4xf32>) -> tensor<16x4xf32> {
  %0 = stablehlo.tanh %arg1 : tensor<4xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<4xf32>) -> tensor<16x4xf32>
  %2 = stablehlo.add %arg0, %1 : tensor<16x4xf32>
  %3 = stablehlo.negate %2 : tensor<16x4xf32>
  return %3 : tensor<16x4xf32>
}
// -----
// Two chains that meet become one kernel.
// RUN: cluster
// CHECK: @main
// CHECK-NEXT: %0 = {{.*}}hone.fusion{{.*}}%arg0, %arg1
// CHECK-NEXT: return %0
func.func @main(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xf32> {
  %0 = stablehlo.tanh %arg0 : tensor<64xf32>
  %1 = stablehlo.negate %arg1 : tensor<64xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<64xf32>
  return %2 : tensor<64xf32>
}
// -----
// Changes of type, masks and choices join.
// RUN: cluster
// CHECK: @main
// CHECK-NEXT: %0 = {{.*}}hone.fusion
// CHECK-NEXT: return %0
func.func @main(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xf32> {
  %0 = stablehlo.compare GT, %arg0, %arg1 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %1 = stablehlo.select %0, %arg0, %arg1 : tensor<64xi1>, tensor<64xf32>
  %2 = stablehlo.convert %1 : (tensor<64xf32>) -> tensor<64xbf16>
  %3 = stablehlo.convert %2 : (tensor<64xbf16>) -> tensor<64xf32>
  return %3 : tensor<64xf32>
}
// -----
// No kernel over no elements.
// RUN: cluster
// CHECK-NOT: fusion
// CHECK: stablehlo.negate
// CHECK-NEXT: stablehlo.tanh
// CHECK-NOT: fusion
func.func @main(%arg0: tensor<0x4xf32>) -> tensor<0x4xf32> {
  %0 = stablehlo.negate %arg0 : tensor<0x4xf32>
  %1 = stablehlo.tanh %0 : tensor<0x4xf32>
  return %1 : tensor<0x4xf32>
}
// -----
// A way out of a kernel and back would never end: what a call outside has read is closed.
// RUN: cluster
// CHECK: %0 = stablehlo.tanh %arg0
// CHECK: stablehlo.reverse %0
// CHECK-NEXT: stablehlo.add %0
// CHECK-NEXT: return
func.func @main(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = stablehlo.tanh %arg0 : tensor<64xf32>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<64xf32>
  %2 = stablehlo.add %0, %1 : tensor<64xf32>
  return %2 : tensor<64xf32>
}
