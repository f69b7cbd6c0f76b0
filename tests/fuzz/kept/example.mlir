// The form in which programs that failed are kept; this one did not fail.
func.func @main(%arg0: tensor<1x5xf32>, %arg1: tensor<3x5xi32>) -> (tensor<3x5xf32>, tensor<5x3xf32>) {
  %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<1x5xf32>) -> tensor<3x5xf32>
  %1 = stablehlo.reverse %0, dims = [1] : tensor<3x5xf32>
  %2 = stablehlo.convert %arg1 : (tensor<3x5xi32>) -> tensor<3x5xf32>
  %3 = stablehlo.multiply %1, %2 : tensor<3x5xf32>
  %4 = stablehlo.add %3, %0 : tensor<3x5xf32>
  %5 = stablehlo.transpose %4, dims = [1, 0] : (tensor<3x5xf32>) -> tensor<5x3xf32>
  return %4, %5 : tensor<3x5xf32>, tensor<5x3xf32>
}
