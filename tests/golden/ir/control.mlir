// A branch's regions stay closed programs; what both read from outside are operands.
// RUN: compile
// CHECK: "stablehlo.if"(%arg0)
// CHECK: stablehlo.tanh %arg1
// CHECK: stablehlo.negate %arg1
// CHECK: return
func.func @main(%arg0: tensor<i1>, %arg1: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "stablehlo.if"(%arg0) ({
    %1 = stablehlo.tanh %arg1 : tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }, {
    %1 = stablehlo.negate %arg1 : tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }) : (tensor<i1>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
// -----
// What does not change in a loop's body is carried as it is; equal calls in a region are one.
// RUN: optimize
// CHECK: stablehlo.while
// CHECK: stablehlo.compare LT
// CHECK: stablehlo.tanh
// CHECK-NOT: stablehlo.tanh
// CHECK: stablehlo.add
// CHECK: return
func.func @main(%arg0: tensor<i32>, %arg1: tensor<8xf32>) -> (tensor<i32>, tensor<8xf32>) {
  %0:2 = "stablehlo.while"(%arg0, %arg1) ({
  ^bb0(%i: tensor<i32>, %x: tensor<8xf32>):
    %ten = stablehlo.constant dense<10> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%i: tensor<i32>, %x: tensor<8xf32>):
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.tanh %x : tensor<8xf32>
    %3 = stablehlo.tanh %x : tensor<8xf32>
    %4 = stablehlo.add %2, %3 : tensor<8xf32>
    stablehlo.return %1, %4 : tensor<i32>, tensor<8xf32>
  }) : (tensor<i32>, tensor<8xf32>) -> (tensor<i32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<i32>, tensor<8xf32>
}
// -----
// Equal branches with equal operands are one call of the same program.
// RUN: optimize
// CHECK: "stablehlo.if"(%arg0)
// CHECK-NOT: "stablehlo.if"
// CHECK: return %1, %1
func.func @main(%arg0: tensor<i1>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = "stablehlo.if"(%arg0) ({
    %1 = stablehlo.tanh %arg1 : tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }, {
    stablehlo.return %arg1 : tensor<8xf32>
  }) : (tensor<i1>) -> tensor<8xf32>
  %2 = "stablehlo.if"(%arg0) ({
    %1 = stablehlo.tanh %arg1 : tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }, {
    stablehlo.return %arg1 : tensor<8xf32>
  }) : (tensor<i1>) -> tensor<8xf32>
  return %0, %2 : tensor<8xf32>, tensor<8xf32>
}
// -----
// A branch may return a constant, written in its region.
// RUN: optimize
// CHECK: "stablehlo.if"(%arg0)
// CHECK-NEXT: constant dense<0.0
// CHECK-NEXT: stablehlo.return %0
func.func @main(%arg0: tensor<i1>, %arg1: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "stablehlo.if"(%arg0) ({
    %zero = stablehlo.constant dense<0.0> : tensor<8xf32>
    stablehlo.return %zero : tensor<8xf32>
  }, {
    stablehlo.return %arg1 : tensor<8xf32>
  }) : (tensor<i1>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
