// Softmax is one kernel.
// RUN: compile
// CHECK: @main
// CHECK-NEXT: stablehlo.composite "hone.softmax" %arg0
// CHECK-NEXT: return
func.func @main(%arg0: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %0 = stablehlo.custom_call @hone.softmax(%arg0) {hone.attributes = {axis = 1}} : (tensor<32x64xf32>) -> tensor<32x64xf32>
  return %0 : tensor<32x64xf32>
}
// -----
// What is written out in elementwise calls is one kernel too: x * sigmoid(1.702 x).
// RUN: compile
// CHECK: @main
// CHECK-NOT: stablehlo.{{(multiply|negate|exponential|add|divide)}}
// CHECK: hone.fusion
// CHECK-NEXT: return
func.func @main(%arg0: tensor<1024xf32>) -> tensor<1024xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<1024xf32>
  %c = stablehlo.constant dense<1.702> : tensor<1024xf32>
  %0 = stablehlo.multiply %arg0, %c : tensor<1024xf32>
  %1 = stablehlo.negate %0 : tensor<1024xf32>
  %2 = stablehlo.exponential %1 : tensor<1024xf32>
  %3 = stablehlo.add %one, %2 : tensor<1024xf32>
  %4 = stablehlo.divide %arg0, %3 : tensor<1024xf32>
  return %4 : tensor<1024xf32>
}
// -----
// Barriers keep calls apart that would be one.
// RUN: compile
// CHECK: stablehlo.negate %arg0
// CHECK-NEXT: "stablehlo.optimization_barrier"(%0)
// CHECK-NEXT: stablehlo.negate %1
// CHECK-NEXT: return %2
func.func @main(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = stablehlo.negate %arg0 : tensor<64xf32>
  %1 = stablehlo.optimization_barrier %0 : tensor<64xf32>
  %2 = stablehlo.negate %1 : tensor<64xf32>
  return %2 : tensor<64xf32>
}
// -----
// A function that is called twice with the same arguments runs once.
// RUN: compile
// CHECK: "stablehlo.reduce_window"(%arg0
// CHECK-NOT: "stablehlo.reduce_window"
// CHECK: return %2, %2
func.func @main(%arg0: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = func.call @f(%arg0) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = func.call @f(%arg0) : (tensor<64xf32>) -> tensor<64xf32>
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}
func.func private @f(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = stablehlo.custom_call @hone.cumulative(%arg0) {hone.attributes = {axis = 0}} : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
