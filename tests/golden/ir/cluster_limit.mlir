// A kernel holds 64 calls; what is longer goes on in the next.
// RUN: cluster
// CHECK: @main
// CHECK-NEXT: %0 = {{.*}}hone.fusion{{.*}}%arg0
// CHECK-NEXT: %1 = {{.*}}hone.fusion{{.*}}%0
// CHECK-NEXT: return %1
func.func @main(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = stablehlo.sine %arg0 : tensor<64xf32>
  %1 = stablehlo.tanh %0 : tensor<64xf32>
  %2 = stablehlo.sine %1 : tensor<64xf32>
  %3 = stablehlo.tanh %2 : tensor<64xf32>
  %4 = stablehlo.sine %3 : tensor<64xf32>
  %5 = stablehlo.tanh %4 : tensor<64xf32>
  %6 = stablehlo.sine %5 : tensor<64xf32>
  %7 = stablehlo.tanh %6 : tensor<64xf32>
  %8 = stablehlo.sine %7 : tensor<64xf32>
  %9 = stablehlo.tanh %8 : tensor<64xf32>
  %10 = stablehlo.sine %9 : tensor<64xf32>
  %11 = stablehlo.tanh %10 : tensor<64xf32>
  %12 = stablehlo.sine %11 : tensor<64xf32>
  %13 = stablehlo.tanh %12 : tensor<64xf32>
  %14 = stablehlo.sine %13 : tensor<64xf32>
  %15 = stablehlo.tanh %14 : tensor<64xf32>
  %16 = stablehlo.sine %15 : tensor<64xf32>
  %17 = stablehlo.tanh %16 : tensor<64xf32>
  %18 = stablehlo.sine %17 : tensor<64xf32>
  %19 = stablehlo.tanh %18 : tensor<64xf32>
  %20 = stablehlo.sine %19 : tensor<64xf32>
  %21 = stablehlo.tanh %20 : tensor<64xf32>
  %22 = stablehlo.sine %21 : tensor<64xf32>
  %23 = stablehlo.tanh %22 : tensor<64xf32>
  %24 = stablehlo.sine %23 : tensor<64xf32>
  %25 = stablehlo.tanh %24 : tensor<64xf32>
  %26 = stablehlo.sine %25 : tensor<64xf32>
  %27 = stablehlo.tanh %26 : tensor<64xf32>
  %28 = stablehlo.sine %27 : tensor<64xf32>
  %29 = stablehlo.tanh %28 : tensor<64xf32>
  %30 = stablehlo.sine %29 : tensor<64xf32>
  %31 = stablehlo.tanh %30 : tensor<64xf32>
  %32 = stablehlo.sine %31 : tensor<64xf32>
  %33 = stablehlo.tanh %32 : tensor<64xf32>
  %34 = stablehlo.sine %33 : tensor<64xf32>
  %35 = stablehlo.tanh %34 : tensor<64xf32>
  %36 = stablehlo.sine %35 : tensor<64xf32>
  %37 = stablehlo.tanh %36 : tensor<64xf32>
  %38 = stablehlo.sine %37 : tensor<64xf32>
  %39 = stablehlo.tanh %38 : tensor<64xf32>
  %40 = stablehlo.sine %39 : tensor<64xf32>
  %41 = stablehlo.tanh %40 : tensor<64xf32>
  %42 = stablehlo.sine %41 : tensor<64xf32>
  %43 = stablehlo.tanh %42 : tensor<64xf32>
  %44 = stablehlo.sine %43 : tensor<64xf32>
  %45 = stablehlo.tanh %44 : tensor<64xf32>
  %46 = stablehlo.sine %45 : tensor<64xf32>
  %47 = stablehlo.tanh %46 : tensor<64xf32>
  %48 = stablehlo.sine %47 : tensor<64xf32>
  %49 = stablehlo.tanh %48 : tensor<64xf32>
  %50 = stablehlo.sine %49 : tensor<64xf32>
  %51 = stablehlo.tanh %50 : tensor<64xf32>
  %52 = stablehlo.sine %51 : tensor<64xf32>
  %53 = stablehlo.tanh %52 : tensor<64xf32>
  %54 = stablehlo.sine %53 : tensor<64xf32>
  %55 = stablehlo.tanh %54 : tensor<64xf32>
  %56 = stablehlo.sine %55 : tensor<64xf32>
  %57 = stablehlo.tanh %56 : tensor<64xf32>
  %58 = stablehlo.sine %57 : tensor<64xf32>
  %59 = stablehlo.tanh %58 : tensor<64xf32>
  %60 = stablehlo.sine %59 : tensor<64xf32>
  %61 = stablehlo.tanh %60 : tensor<64xf32>
  %62 = stablehlo.sine %61 : tensor<64xf32>
  %63 = stablehlo.tanh %62 : tensor<64xf32>
  %64 = stablehlo.sine %63 : tensor<64xf32>
  %65 = stablehlo.tanh %64 : tensor<64xf32>
  %66 = stablehlo.sine %65 : tensor<64xf32>
  %67 = stablehlo.tanh %66 : tensor<64xf32>
  %68 = stablehlo.sine %67 : tensor<64xf32>
  %69 = stablehlo.tanh %68 : tensor<64xf32>
  return %69 : tensor<64xf32>
}
// -----
// Nor does a kernel take more than 32 operands.
// RUN: cluster
// CHECK: @main
// CHECK-NEXT: %0 = {{.*}}"hone.fusion"{{.*}}%arg31 {
// CHECK-NEXT: %1 = {{.*}}"hone.fusion" %0, %arg32{{.*}}%arg39 {
// CHECK-NEXT: return %1
func.func @main(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>, %arg2: tensor<64xf32>, %arg3: tensor<64xf32>, %arg4: tensor<64xf32>, %arg5: tensor<64xf32>, %arg6: tensor<64xf32>, %arg7: tensor<64xf32>, %arg8: tensor<64xf32>, %arg9: tensor<64xf32>, %arg10: tensor<64xf32>, %arg11: tensor<64xf32>, %arg12: tensor<64xf32>, %arg13: tensor<64xf32>, %arg14: tensor<64xf32>, %arg15: tensor<64xf32>, %arg16: tensor<64xf32>, %arg17: tensor<64xf32>, %arg18: tensor<64xf32>, %arg19: tensor<64xf32>, %arg20: tensor<64xf32>, %arg21: tensor<64xf32>, %arg22: tensor<64xf32>, %arg23: tensor<64xf32>, %arg24: tensor<64xf32>, %arg25: tensor<64xf32>, %arg26: tensor<64xf32>, %arg27: tensor<64xf32>, %arg28: tensor<64xf32>, %arg29: tensor<64xf32>, %arg30: tensor<64xf32>, %arg31: tensor<64xf32>, %arg32: tensor<64xf32>, %arg33: tensor<64xf32>, %arg34: tensor<64xf32>, %arg35: tensor<64xf32>, %arg36: tensor<64xf32>, %arg37: tensor<64xf32>, %arg38: tensor<64xf32>, %arg39: tensor<64xf32>) -> tensor<64xf32> {
  %1 = stablehlo.add %arg0, %arg1 : tensor<64xf32>
  %2 = stablehlo.add %1, %arg2 : tensor<64xf32>
  %3 = stablehlo.add %2, %arg3 : tensor<64xf32>
  %4 = stablehlo.add %3, %arg4 : tensor<64xf32>
  %5 = stablehlo.add %4, %arg5 : tensor<64xf32>
  %6 = stablehlo.add %5, %arg6 : tensor<64xf32>
  %7 = stablehlo.add %6, %arg7 : tensor<64xf32>
  %8 = stablehlo.add %7, %arg8 : tensor<64xf32>
  %9 = stablehlo.add %8, %arg9 : tensor<64xf32>
  %10 = stablehlo.add %9, %arg10 : tensor<64xf32>
  %11 = stablehlo.add %10, %arg11 : tensor<64xf32>
  %12 = stablehlo.add %11, %arg12 : tensor<64xf32>
  %13 = stablehlo.add %12, %arg13 : tensor<64xf32>
  %14 = stablehlo.add %13, %arg14 : tensor<64xf32>
  %15 = stablehlo.add %14, %arg15 : tensor<64xf32>
  %16 = stablehlo.add %15, %arg16 : tensor<64xf32>
  %17 = stablehlo.add %16, %arg17 : tensor<64xf32>
  %18 = stablehlo.add %17, %arg18 : tensor<64xf32>
  %19 = stablehlo.add %18, %arg19 : tensor<64xf32>
  %20 = stablehlo.add %19, %arg20 : tensor<64xf32>
  %21 = stablehlo.add %20, %arg21 : tensor<64xf32>
  %22 = stablehlo.add %21, %arg22 : tensor<64xf32>
  %23 = stablehlo.add %22, %arg23 : tensor<64xf32>
  %24 = stablehlo.add %23, %arg24 : tensor<64xf32>
  %25 = stablehlo.add %24, %arg25 : tensor<64xf32>
  %26 = stablehlo.add %25, %arg26 : tensor<64xf32>
  %27 = stablehlo.add %26, %arg27 : tensor<64xf32>
  %28 = stablehlo.add %27, %arg28 : tensor<64xf32>
  %29 = stablehlo.add %28, %arg29 : tensor<64xf32>
  %30 = stablehlo.add %29, %arg30 : tensor<64xf32>
  %31 = stablehlo.add %30, %arg31 : tensor<64xf32>
  %32 = stablehlo.add %31, %arg32 : tensor<64xf32>
  %33 = stablehlo.add %32, %arg33 : tensor<64xf32>
  %34 = stablehlo.add %33, %arg34 : tensor<64xf32>
  %35 = stablehlo.add %34, %arg35 : tensor<64xf32>
  %36 = stablehlo.add %35, %arg36 : tensor<64xf32>
  %37 = stablehlo.add %36, %arg37 : tensor<64xf32>
  %38 = stablehlo.add %37, %arg38 : tensor<64xf32>
  %39 = stablehlo.add %38, %arg39 : tensor<64xf32>
  return %39 : tensor<64xf32>
}
