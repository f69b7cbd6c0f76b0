// What only tapes see is nothing in a graph; a barrier stays.
// RUN: simplify
// CHECK: @main
// CHECK-NEXT: %0 = "stablehlo.optimization_barrier"(%arg0)
// CHECK-NEXT: %1 = stablehlo.tanh %0
// CHECK-NEXT: return %1
func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.custom_call @hone.stop_gradient(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = stablehlo.custom_call @hone.identity(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = stablehlo.optimization_barrier %1 : tensor<8xf32>
  %3 = stablehlo.tanh %2 : tensor<8xf32>
  return %3 : tensor<8xf32>
}
