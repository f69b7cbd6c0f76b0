// Oracle: graph
// Program: inputs 0x16c0b gradients: 0x4ca3bbc0000 0xeaac81cd0001 0xf119fc180002 0xcb9480620003 0xb713a3af0004 0x86e7dff30005 0x1e3910f60006 0x6487ebbc0007 0x46dfcd370008 0xbbd9a4100009 0xe8a1ba8c000a 0x8a4e7e80000b 0xff60294000c 0xfb33dd82000d 0xfd346e25000e 0x77688236000f 0xf1f112930010 0x7d478baa0011 0x558e78730012 0x7912ae040013 0x711b2f510014 0x9d869190015 0x4288f3a50016 0x200b533f0017 0xf9859880018 0xde4d39b50019 0xa3479c53001a 0x347de3be001b 0xbe43dce1001c 0x2dab2790001d 0xa6017fd8001e 0xa69dd660001f 0x9e00c8480020 0x419da9e20021 0x5634f3540022 0xb3cbd32f0023 0xd377e0bb0024 0xeef563b0025 0x2b7accad0026 0x6f4d22340027 0x3d8c81f0028 0x83fd55310029 0x70e001fe002a 0x9af61295002b 0xd55f7e31002c 0x9bd5ff9e002d 0x1bf02468002e 0xb00d3d41002f 0x66142ddf0030 0x21ed8adc0031 0xd537fc830032 0xae39c5830033 0x11efdd690034 0x24dbf2930035 0x3649ef560036 0x8a5a0c7e0037 0x4c5c9b850038 0xc423f1670039 0xbdf16e17003a 0xcc6f3fd3003b 0xcba9653d003c 0x2848723003d 0x752aed12003e 0xf95f87c5003f 0x6fc170970040 0x6ea7dd40041
// passes '-schedule', 1 threads: call 0: result 24, element 31: 199.48350524902344 instead of 199.4834747314453
module {
  func.func public @main(%arg0: tensor<3x31xf32> {hone.name = "arg0"}, %arg1: tensor<1025xf32> {hone.name = "arg1"}, %arg2: tensor<f32> {hone.name = "variable", hone.kind = "variable"}, %arg3: tensor<2xf32> {hone.name = "variable", hone.kind = "variable"}) -> (tensor<1025xf32>, tensor<3x31xf32>, tensor<131xf32>, tensor<3x31xf32>, tensor<131xf32>, tensor<1x1xf32>, tensor<131xf32>, tensor<3x31xf32>, tensor<0x3xf32>, tensor<131xf32>, tensor<1xf32>, tensor<0x10xf32>, tensor<0x10xf32>, tensor<0x10xf32>, tensor<1025xf32>, tensor<0x10xf32>, tensor<3x31xf32>, tensor<3x61xf32>, tensor<1025xf32>, tensor<1025xf32>, tensor<3x31xf32>, tensor<2050xf32>, tensor<6x31xf32>, tensor<31x31xf32>, tensor<3x31xf32>, tensor<1025xf32>) {
    %0 = stablehlo.custom_call @hone.identity(%arg0) : (tensor<3x31xf32>) -> tensor<3x31xf32>
    %1 = stablehlo.custom_call @hone.identity(%arg1) : (tensor<1025xf32>) -> tensor<1025xf32>
    %2 = stablehlo.constant dense<1.0e+00> : tensor<1025xf32>
    %3 = stablehlo.constant dense<0.0e+00> : tensor<1025xf32>
    %4:3 = stablehlo.composite "hone.layer_norm" %1, %2, %3 {composite_attributes = {axis = 0, epsilon = 1.0e-03 : f64}, decomposition = @hone.layer_norm_0} : (tensor<1025xf32>, tensor<1025xf32>, tensor<1025xf32>) -> (tensor<1025xf32>, tensor<f32>, tensor<f32>)
    %5 = stablehlo.multiply %0, %0 : tensor<3x31xf32>
    %6 = stablehlo.exponential_minus_one %4#0 : tensor<1025xf32>
    %7 = stablehlo.maximum %0, %0 : tensor<3x31xf32>
    %8 = stablehlo.floor %4#0 : tensor<1025xf32>
    %9 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<3x31xf32>
    %10 = stablehlo.atan2 %9, %7 : tensor<3x31xf32>
    %11 = stablehlo.slice %8 [876:1007] : (tensor<1025xf32>) -> tensor<131xf32>
    %12 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<131xf32>
    %13 = stablehlo.atan2 %12, %11 : tensor<131xf32>
    %14 = stablehlo.constant dense<-0.0e+00> : tensor<f32>
    %15 = stablehlo.reduce(%10 init: %14) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x31xf32>, tensor<f32>) -> tensor<f32>
    %16 = stablehlo.reshape %15 : (tensor<f32>) -> tensor<1x1xf32>
    %17 = stablehlo.add %5, %9 : tensor<3x31xf32>
    %18 = stablehlo.add %12, %13 : tensor<131xf32>
    %19 = stablehlo.maximum %13, %18 : tensor<131xf32>
    %20 = stablehlo.constant dense<1.0e+00> : tensor<1xf32>
    %21 = stablehlo.constant dense<0.0e+00> : tensor<1xf32>
    %22:3 = stablehlo.composite "hone.layer_norm" %16, %20, %21 {composite_attributes = {axis = 1, epsilon = 1.0e-03 : f64}, decomposition = @hone.layer_norm_1} : (tensor<1x1xf32>, tensor<1xf32>, tensor<1xf32>) -> (tensor<1x1xf32>, tensor<1xf32>, tensor<1xf32>)
    %23 = stablehlo.composite "hone.silu" %17 {decomposition = @hone.silu_0} : (tensor<3x31xf32>) -> tensor<3x31xf32>
    %24 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %25 = stablehlo.pad %23, %24, low = [2, 0], high = [2, 2], interior = [0, 0] : (tensor<3x31xf32>, tensor<f32>) -> tensor<7x33xf32>
    %26 = stablehlo.sign %19 : tensor<131xf32>
    %27 = stablehlo.slice %25 [7:7, 23:26] : (tensor<7x33xf32>) -> tensor<0x3xf32>
    %28 = stablehlo.subtract %18, %26 : tensor<131xf32>
    %29 = stablehlo.constant dense<-0.0e+00> : tensor<f32>
    %30 = stablehlo.reduce(%19 init: %29) applies stablehlo.add across dimensions = [0] : (tensor<131xf32>, tensor<f32>) -> tensor<f32>
    %31 = stablehlo.reshape %30 : (tensor<f32>) -> tensor<1xf32>
    %32 = stablehlo.constant dense<1.31e+02> : tensor<f32>
    %33 = stablehlo.broadcast_in_dim %32, dims = [] : (tensor<f32>) -> tensor<1xf32>
    %34 = stablehlo.divide %31, %33 : tensor<1xf32>
    %35 = stablehlo.add %22#0, %22#0 : tensor<1x1xf32>
    %36 = stablehlo.minimum %23, %17 : tensor<3x31xf32>
    %37 = stablehlo.slice %5 [1:1, 21:31] : (tensor<3x31xf32>) -> tensor<0x10xf32>
    %38 = stablehlo.custom_call @hone.identity(%36) : (tensor<3x31xf32>) -> tensor<3x31xf32>
    %39 = stablehlo.compare GE, %36, %38 : (tensor<3x31xf32>, tensor<3x31xf32>) -> tensor<3x31xi1>
    %40 = stablehlo.constant dense<3.0e+00> : tensor<f32>
    %41 = stablehlo.broadcast_in_dim %40, dims = [] : (tensor<f32>) -> tensor<0x10xf32>
    %42 = stablehlo.divide %37, %41 : tensor<0x10xf32>
    %43 = stablehlo.convert %39 : (tensor<3x31xi1>) -> tensor<3x31xf32>
    %44 = stablehlo.composite "hone.relu6" %43 {decomposition = @hone.relu6_0} : (tensor<3x31xf32>) -> tensor<3x31xf32>
    %45 = stablehlo.broadcast_in_dim %44, dims = [1, 2] : (tensor<3x31xf32>) -> tensor<2x3x31xf32>
    %46 = stablehlo.ceil %37 : tensor<0x10xf32>
    %47 = stablehlo.maximum %42, %46 : tensor<0x10xf32>
    %48 = "chlo.erf"(%47) : (tensor<0x10xf32>) -> tensor<0x10xf32>
    %49 = stablehlo.composite "hone.softplus" %43 {decomposition = @hone.softplus_0} : (tensor<3x31xf32>) -> tensor<3x31xf32>
    %50 = stablehlo.constant dense<1.0e+00> : tensor<0x10xf32>
    %51 = stablehlo.divide %50, %48 : tensor<0x10xf32>
    %52 = stablehlo.constant dense<1.0e+00> : tensor<f32>
    %53 = stablehlo.broadcast_in_dim %52, dims = [] : (tensor<f32>) -> tensor<1025xf32>
    %54 = stablehlo.maximum %6, %53 : tensor<1025xf32>
    %55 = stablehlo.multiply %48, %48 : tensor<0x10xf32>
    %56 = stablehlo.rsqrt %49 : tensor<3x31xf32>
    %57 = stablehlo.minimum %54, %54 : tensor<1025xf32>
    %58 = stablehlo.pad %49, %24, low = [0, 0], high = [0, 0], interior = [0, 1] : (tensor<3x31xf32>, tensor<f32>) -> tensor<3x61xf32>
    %59 = stablehlo.concatenate %57, %57, dim = 0 : (tensor<1025xf32>, tensor<1025xf32>) -> tensor<2050xf32>
    %60 = stablehlo.broadcast_in_dim %24, dims = [] : (tensor<f32>) -> tensor<3x61xf32>
    %61 = stablehlo.maximum %58, %60 : tensor<3x61xf32>
    %62 = stablehlo.broadcast_in_dim %24, dims = [] : (tensor<f32>) -> tensor<1025xf32>
    %63 = stablehlo.divide %6, %62 : tensor<1025xf32>
    %64 = stablehlo.concatenate %5, %5, dim = 1 : (tensor<3x31xf32>, tensor<3x31xf32>) -> tensor<3x62xf32>
    %65 = stablehlo.broadcast_in_dim %40, dims = [] : (tensor<f32>) -> tensor<3x61xf32>
    %66 = stablehlo.add %61, %65 : tensor<3x61xf32>
    %67 = stablehlo.log_plus_one %63 : tensor<1025xf32>
    %68 = stablehlo.constant dense<5.0e-01> : tensor<f32>
    %69 = stablehlo.broadcast_in_dim %68, dims = [] : (tensor<f32>) -> tensor<1025xf32>
    %70 = stablehlo.compare NE, %67, %69 : (tensor<1025xf32>, tensor<1025xf32>) -> tensor<1025xi1>
    %71 = stablehlo.convert %70 : (tensor<1025xi1>) -> tensor<1025xf32>
    %72 = stablehlo.composite "hone.silu" %71 {decomposition = @hone.silu_1} : (tensor<1025xf32>) -> tensor<1025xf32>
    %73 = stablehlo.rsqrt %71 : tensor<1025xf32>
    %74 = stablehlo.not %70 : tensor<1025xi1>
    %75 = stablehlo.select %70, %70, %74 : tensor<1025xi1>
    %76 = stablehlo.concatenate %72, %72, dim = 0 : (tensor<1025xf32>, tensor<1025xf32>) -> tensor<2050xf32>
    %77 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %78 = stablehlo.reduce(%73 init: %77) applies stablehlo.minimum across dimensions = [0] : (tensor<1025xf32>, tensor<f32>) -> tensor<f32>
    %79 = stablehlo.broadcast_in_dim %52, dims = [] : (tensor<f32>) -> tensor<3x31xf32>
    %80 = stablehlo.multiply %7, %79 : tensor<3x31xf32>
    %81 = stablehlo.composite "hone.softplus" %76 {decomposition = @hone.softplus_1} : (tensor<2050xf32>) -> tensor<2050xf32>
    %82 = stablehlo.broadcast_in_dim %78, dims = [] : (tensor<f32>) -> tensor<3x31xf32>
    %83 = stablehlo.multiply %80, %82 : tensor<3x31xf32>
    %84 = stablehlo.composite "hone.silu" %80 {decomposition = @hone.silu_0} : (tensor<3x31xf32>) -> tensor<3x31xf32>
    %85 = stablehlo.constant dense<1.0e+00> : tensor<2050xf32>
    %86 = stablehlo.divide %85, %81 : tensor<2050xf32>
    %87 = stablehlo.concatenate %38, %38, dim = 0 : (tensor<3x31xf32>, tensor<3x31xf32>) -> tensor<6x31xf32>
    %88 = stablehlo.composite "hone.relu6" %84 {decomposition = @hone.relu6_0} : (tensor<3x31xf32>) -> tensor<3x31xf32>
    %89 = stablehlo.dot_general %87, %87, contracting_dims = [0] x [0] : (tensor<6x31xf32>, tensor<6x31xf32>) -> tensor<31x31xf32>
    %90 = stablehlo.tanh %55 : tensor<0x10xf32>
    %91 = stablehlo.sqrt %88 : tensor<3x31xf32>
    %92 = stablehlo.broadcast_in_dim %68, dims = [] : (tensor<f32>) -> tensor<31x31xf32>
    %93 = stablehlo.add %89, %92 : tensor<31x31xf32>
    %94 = stablehlo.constant dense<-0.0e+00> : tensor<f32>
    %95 = stablehlo.reduce(%6 init: %94) applies stablehlo.add across dimensions = [0] : (tensor<1025xf32>, tensor<f32>) -> tensor<f32>
    %96 = stablehlo.add %24, %95 : tensor<f32>
    %97 = stablehlo.add %96, %15 : tensor<f32>
    %98 = stablehlo.constant dense<-0.0e+00> : tensor<f32>
    %99 = stablehlo.reduce(%17 init: %98) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x31xf32>, tensor<f32>) -> tensor<f32>
    %100 = stablehlo.add %97, %99 : tensor<f32>
    %101 = stablehlo.constant dense<-0.0e+00> : tensor<f32>
    %102 = stablehlo.reduce(%23 init: %101) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x31xf32>, tensor<f32>) -> tensor<f32>
    %103 = stablehlo.add %100, %102 : tensor<f32>
    %104 = stablehlo.constant dense<-0.0e+00> : tensor<f32>
    %105 = stablehlo.reduce(%27 init: %104) applies stablehlo.add across dimensions = [0, 1] : (tensor<0x3xf32>, tensor<f32>) -> tensor<f32>
    %106 = stablehlo.add %103, %105 : tensor<f32>
    %107 = stablehlo.constant dense<-0.0e+00> : tensor<f32>
    %108 = stablehlo.reduce(%36 init: %107) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x31xf32>, tensor<f32>) -> tensor<f32>
    %109 = stablehlo.add %106, %108 : tensor<f32>
    %110 = stablehlo.constant dense<-0.0e+00> : tensor<f32>
    %111 = stablehlo.reduce(%37 init: %110) applies stablehlo.add across dimensions = [0, 1] : (tensor<0x10xf32>, tensor<f32>) -> tensor<f32>
    %112 = stablehlo.add %109, %111 : tensor<f32>
    %113 = stablehlo.constant dense<-0.0e+00> : tensor<f32>
    %114 = stablehlo.reduce(%46 init: %113) applies stablehlo.add across dimensions = [0, 1] : (tensor<0x10xf32>, tensor<f32>) -> tensor<f32>
    %115 = stablehlo.add %112, %114 : tensor<f32>
    %116 = stablehlo.constant dense<-0.0e+00> : tensor<f32>
    %117 = stablehlo.reduce(%51 init: %116) applies stablehlo.add across dimensions = [0, 1] : (tensor<0x10xf32>, tensor<f32>) -> tensor<f32>
    %118 = stablehlo.add %115, %117 : tensor<f32>
    %119 = stablehlo.constant dense<-0.0e+00> : tensor<f32>
    %120 = stablehlo.reduce(%57 init: %119) applies stablehlo.add across dimensions = [0] : (tensor<1025xf32>, tensor<f32>) -> tensor<f32>
    %121 = stablehlo.add %118, %120 : tensor<f32>
    %122 = stablehlo.constant dense<-0.0e+00> : tensor<f32>
    %123 = stablehlo.reduce(%61 init: %122) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x61xf32>, tensor<f32>) -> tensor<f32>
    %124 = stablehlo.add %121, %123 : tensor<f32>
    %125 = stablehlo.constant dense<-0.0e+00> : tensor<f32>
    %126 = stablehlo.reduce(%67 init: %125) applies stablehlo.add across dimensions = [0] : (tensor<1025xf32>, tensor<f32>) -> tensor<f32>
    %127 = stablehlo.add %124, %126 : tensor<f32>
    %128 = stablehlo.constant dense<-0.0e+00> : tensor<f32>
    %129 = stablehlo.reduce(%80 init: %128) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x31xf32>, tensor<f32>) -> tensor<f32>
    %130 = stablehlo.add %127, %129 : tensor<f32>
    %131 = stablehlo.constant dense<-0.0e+00> : tensor<f32>
    %132 = stablehlo.reduce(%84 init: %131) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x31xf32>, tensor<f32>) -> tensor<f32>
    %133 = stablehlo.add %130, %132 : tensor<f32>
    %134 = stablehlo.constant dense<-0.0e+00> : tensor<f32>
    %135 = stablehlo.reduce(%89 init: %134) applies stablehlo.add across dimensions = [0, 1] : (tensor<31x31xf32>, tensor<f32>) -> tensor<f32>
    %136 = stablehlo.add %133, %135 : tensor<f32>
    %137 = stablehlo.constant dense<-0.0e+00> : tensor<f32>
    %138 = stablehlo.reduce(%93 init: %137) applies stablehlo.add across dimensions = [0, 1] : (tensor<31x31xf32>, tensor<f32>) -> tensor<f32>
    %139 = stablehlo.add %136, %138 : tensor<f32>
    %140 = stablehlo.broadcast_in_dim %52, dims = [] : (tensor<f32>) -> tensor<31x31xf32>
    %141 = stablehlo.broadcast_in_dim %52, dims = [] : (tensor<f32>) -> tensor<0x10xf32>
    %142 = stablehlo.broadcast_in_dim %52, dims = [] : (tensor<f32>) -> tensor<0x3xf32>
    %143 = stablehlo.add %140, %140 : tensor<31x31xf32>
    %144 = stablehlo.dot_general %87, %143, contracting_dims = [1] x [1] : (tensor<6x31xf32>, tensor<31x31xf32>) -> tensor<6x31xf32>
    %145 = stablehlo.dot_general %87, %143, contracting_dims = [1] x [0] : (tensor<6x31xf32>, tensor<31x31xf32>) -> tensor<6x31xf32>
    %146 = stablehlo.add %144, %145 : tensor<6x31xf32>
    %147 = stablehlo.slice %146 [0:3, 0:31] : (tensor<6x31xf32>) -> tensor<3x31xf32>
    %148 = stablehlo.slice %146 [3:6, 0:31] : (tensor<6x31xf32>) -> tensor<3x31xf32>
    %149 = stablehlo.add %147, %148 : tensor<3x31xf32>
    %150 = stablehlo.composite "hone.silu_grad" %80, %79 {decomposition = @hone.silu_grad_0} : (tensor<3x31xf32>, tensor<3x31xf32>) -> tensor<3x31xf32>
    %151 = stablehlo.add %79, %150 : tensor<3x31xf32>
    %152 = stablehlo.multiply %151, %79 : tensor<3x31xf32>
    %153 = stablehlo.add %63, %2 : tensor<1025xf32>
    %154 = stablehlo.divide %53, %153 : tensor<1025xf32>
    %155 = stablehlo.divide %154, %62 : tensor<1025xf32>
    %156 = stablehlo.add %53, %155 : tensor<1025xf32>
    %157 = stablehlo.constant dense<5.0e-01> : tensor<1025xf32>
    %158 = stablehlo.multiply %53, %157 : tensor<1025xf32>
    %159 = stablehlo.compare EQ, %54, %54 : (tensor<1025xf32>, tensor<1025xf32>) -> tensor<1025xi1>
    %160 = stablehlo.select %159, %158, %53 : (tensor<1025xi1>, tensor<1025xf32>, tensor<1025xf32>) -> tensor<1025xf32>
    %161 = stablehlo.compare LE, %54, %54 : (tensor<1025xf32>, tensor<1025xf32>) -> tensor<1025xi1>
    %162 = stablehlo.select %161, %160, %3 : (tensor<1025xi1>, tensor<1025xf32>, tensor<1025xf32>) -> tensor<1025xf32>
    %163 = stablehlo.add %162, %162 : tensor<1025xf32>
    %164 = stablehlo.multiply %163, %157 : tensor<1025xf32>
    %165 = stablehlo.compare EQ, %6, %53 : (tensor<1025xf32>, tensor<1025xf32>) -> tensor<1025xi1>
    %166 = stablehlo.select %165, %164, %163 : (tensor<1025xi1>, tensor<1025xf32>, tensor<1025xf32>) -> tensor<1025xf32>
    %167 = stablehlo.compare GE, %6, %53 : (tensor<1025xf32>, tensor<1025xf32>) -> tensor<1025xi1>
    %168 = stablehlo.select %167, %166, %3 : (tensor<1025xi1>, tensor<1025xf32>, tensor<1025xf32>) -> tensor<1025xf32>
    %169 = stablehlo.add %156, %168 : tensor<1025xf32>
    %170 = stablehlo.multiply %141, %51 : tensor<0x10xf32>
    %171 = stablehlo.divide %170, %48 : tensor<0x10xf32>
    %172 = stablehlo.negate %171 : tensor<0x10xf32>
    %173 = stablehlo.multiply %47, %47 : tensor<0x10xf32>
    %174 = stablehlo.negate %173 : tensor<0x10xf32>
    %175 = stablehlo.exponential %174 : tensor<0x10xf32>
    %176 = stablehlo.constant dense<1.1283792e+00> : tensor<0x10xf32>
    %177 = stablehlo.multiply %172, %176 : tensor<0x10xf32>
    %178 = stablehlo.multiply %177, %175 : tensor<0x10xf32>
    %179 = stablehlo.constant dense<5.0e-01> : tensor<0x10xf32>
    %180 = stablehlo.multiply %178, %179 : tensor<0x10xf32>
    %181 = stablehlo.compare EQ, %42, %46 : (tensor<0x10xf32>, tensor<0x10xf32>) -> tensor<0x10xi1>
    %182 = stablehlo.select %181, %180, %178 : (tensor<0x10xi1>, tensor<0x10xf32>, tensor<0x10xf32>) -> tensor<0x10xf32>
    %183 = stablehlo.compare GE, %42, %46 : (tensor<0x10xf32>, tensor<0x10xf32>) -> tensor<0x10xi1>
    %184 = stablehlo.constant dense<0.0e+00> : tensor<0x10xf32>
    %185 = stablehlo.select %183, %182, %184 : (tensor<0x10xi1>, tensor<0x10xf32>, tensor<0x10xf32>) -> tensor<0x10xf32>
    %186 = stablehlo.compare GE, %46, %42 : (tensor<0x10xf32>, tensor<0x10xf32>) -> tensor<0x10xi1>
    %187 = stablehlo.select %186, %182, %184 : (tensor<0x10xi1>, tensor<0x10xf32>, tensor<0x10xf32>) -> tensor<0x10xf32>
    %188 = stablehlo.add %141, %187 : tensor<0x10xf32>
    %189 = stablehlo.divide %185, %41 : tensor<0x10xf32>
    %190 = stablehlo.add %141, %189 : tensor<0x10xf32>
    %191 = stablehlo.add %79, %149 : tensor<3x31xf32>
    %192 = stablehlo.pad %190, %24, low = [0, 21], high = [3, 0], interior = [0, 0] : (tensor<0x10xf32>, tensor<f32>) -> tensor<3x31xf32>
    %193 = stablehlo.constant dense<5.0e-01> : tensor<3x31xf32>
    %194 = stablehlo.multiply %191, %193 : tensor<3x31xf32>
    %195 = stablehlo.compare EQ, %23, %17 : (tensor<3x31xf32>, tensor<3x31xf32>) -> tensor<3x31xi1>
    %196 = stablehlo.select %195, %194, %191 : (tensor<3x31xi1>, tensor<3x31xf32>, tensor<3x31xf32>) -> tensor<3x31xf32>
    %197 = stablehlo.compare LE, %23, %17 : (tensor<3x31xf32>, tensor<3x31xf32>) -> tensor<3x31xi1>
    %198 = stablehlo.constant dense<0.0e+00> : tensor<3x31xf32>
    %199 = stablehlo.select %197, %196, %198 : (tensor<3x31xi1>, tensor<3x31xf32>, tensor<3x31xf32>) -> tensor<3x31xf32>
    %200 = stablehlo.add %79, %199 : tensor<3x31xf32>
    %201 = stablehlo.compare LE, %17, %23 : (tensor<3x31xf32>, tensor<3x31xf32>) -> tensor<3x31xi1>
    %202 = stablehlo.select %201, %196, %198 : (tensor<3x31xi1>, tensor<3x31xf32>, tensor<3x31xf32>) -> tensor<3x31xf32>
    %203 = stablehlo.add %79, %202 : tensor<3x31xf32>
    %204 = stablehlo.pad %142, %24, low = [0, 23], high = [7, 7], interior = [0, 0] : (tensor<0x3xf32>, tensor<f32>) -> tensor<7x33xf32>
    %205 = stablehlo.pad %204, %24, low = [-2, 0], high = [-2, -2], interior = [0, 0] : (tensor<7x33xf32>, tensor<f32>) -> tensor<3x31xf32>
    %206 = stablehlo.add %200, %205 : tensor<3x31xf32>
    %207 = stablehlo.composite "hone.silu_grad" %17, %206 {decomposition = @hone.silu_grad_0} : (tensor<3x31xf32>, tensor<3x31xf32>) -> tensor<3x31xf32>
    %208 = stablehlo.add %203, %207 : tensor<3x31xf32>
    %209 = stablehlo.add %192, %208 : tensor<3x31xf32>
    %210 = stablehlo.multiply %7, %7 : tensor<3x31xf32>
    %211 = stablehlo.multiply %9, %9 : tensor<3x31xf32>
    %212 = stablehlo.add %211, %210 : tensor<3x31xf32>
    %213 = stablehlo.multiply %79, %9 : tensor<3x31xf32>
    %214 = stablehlo.divide %213, %212 : tensor<3x31xf32>
    %215 = stablehlo.negate %214 : tensor<3x31xf32>
    %216 = stablehlo.add %152, %215 : tensor<3x31xf32>
    %217 = stablehlo.multiply %216, %193 : tensor<3x31xf32>
    %218 = stablehlo.compare EQ, %0, %0 : (tensor<3x31xf32>, tensor<3x31xf32>) -> tensor<3x31xi1>
    %219 = stablehlo.select %218, %217, %216 : (tensor<3x31xi1>, tensor<3x31xf32>, tensor<3x31xf32>) -> tensor<3x31xf32>
    %220 = stablehlo.compare GE, %0, %0 : (tensor<3x31xf32>, tensor<3x31xf32>) -> tensor<3x31xi1>
    %221 = stablehlo.select %220, %219, %198 : (tensor<3x31xi1>, tensor<3x31xf32>, tensor<3x31xf32>) -> tensor<3x31xf32>
    %222 = stablehlo.add %221, %221 : tensor<3x31xf32>
    %223 = stablehlo.add %6, %2 : tensor<1025xf32>
    %224 = stablehlo.multiply %169, %223 : tensor<1025xf32>
    %225 = stablehlo.multiply %209, %0 : tensor<3x31xf32>
    %226 = stablehlo.add %222, %225 : tensor<3x31xf32>
    %227 = stablehlo.add %226, %225 : tensor<3x31xf32>
    %228:3 = stablehlo.composite "hone.layer_norm_grad" %1, %2, %4#1, %4#2, %224 {composite_attributes = {axis = 0, epsilon = 1.0e-03 : f64}, decomposition = @hone.layer_norm_grad_0} : (tensor<1025xf32>, tensor<1025xf32>, tensor<f32>, tensor<f32>, tensor<1025xf32>) -> (tensor<1025xf32>, tensor<1025xf32>, tensor<1025xf32>)
    return %4#0, %5, %13, %17, %19, %22#0, %26, %23, %27, %28, %34, %42, %46, %48, %54, %55, %56, %61, %67, %72, %84, %86, %87, %93, %227, %228#0 : tensor<1025xf32>, tensor<3x31xf32>, tensor<131xf32>, tensor<3x31xf32>, tensor<131xf32>, tensor<1x1xf32>, tensor<131xf32>, tensor<3x31xf32>, tensor<0x3xf32>, tensor<131xf32>, tensor<1xf32>, tensor<0x10xf32>, tensor<0x10xf32>, tensor<0x10xf32>, tensor<1025xf32>, tensor<0x10xf32>, tensor<3x31xf32>, tensor<3x61xf32>, tensor<1025xf32>, tensor<1025xf32>, tensor<3x31xf32>, tensor<2050xf32>, tensor<6x31xf32>, tensor<31x31xf32>, tensor<3x31xf32>, tensor<1025xf32>
  }
  func.func private @hone.layer_norm_0(%arg0: tensor<1025xf32>, %arg1: tensor<1025xf32>, %arg2: tensor<1025xf32>) -> (tensor<1025xf32>, tensor<f32>, tensor<f32>) {
    %0 = stablehlo.constant dense<-0.0e+00> : tensor<f32>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.add across dimensions = [0] : (tensor<1025xf32>, tensor<f32>) -> tensor<f32>
    %2 = stablehlo.constant dense<1.025e+03> : tensor<f32>
    %3 = stablehlo.divide %1, %2 : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<1025xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<1025xf32>
    %6 = stablehlo.multiply %5, %5 : tensor<1025xf32>
    %7 = stablehlo.constant dense<-0.0e+00> : tensor<f32>
    %8 = stablehlo.reduce(%6 init: %7) applies stablehlo.add across dimensions = [0] : (tensor<1025xf32>, tensor<f32>) -> tensor<f32>
    %9 = stablehlo.divide %8, %2 : tensor<f32>
    %10 = stablehlo.constant dense<1.0e-03> : tensor<f32>
    %11 = stablehlo.add %9, %10 : tensor<f32>
    %12 = stablehlo.sqrt %11 : tensor<f32>
    %13 = stablehlo.constant dense<1.0e+00> : tensor<f32>
    %14 = stablehlo.divide %13, %12 : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [] : (tensor<f32>) -> tensor<1025xf32>
    %16 = stablehlo.multiply %5, %15 : tensor<1025xf32>
    %17 = stablehlo.multiply %16, %arg1 : tensor<1025xf32>
    %18 = stablehlo.add %17, %arg2 : tensor<1025xf32>
    return %18, %3, %14 : tensor<1025xf32>, tensor<f32>, tensor<f32>
  }
  func.func private @hone.layer_norm_1(%arg0: tensor<1x1xf32>, %arg1: tensor<1xf32>, %arg2: tensor<1xf32>) -> (tensor<1x1xf32>, tensor<1xf32>, tensor<1xf32>) {
    %0 = stablehlo.constant dense<-0.0e+00> : tensor<f32>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.add across dimensions = [1] : (tensor<1x1xf32>, tensor<f32>) -> tensor<1xf32>
    %2 = stablehlo.constant dense<1.0e+00> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<1xf32>
    %4 = stablehlo.divide %1, %3 : tensor<1xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<1xf32>) -> tensor<1x1xf32>
    %6 = stablehlo.subtract %arg0, %5 : tensor<1x1xf32>
    %7 = stablehlo.multiply %6, %6 : tensor<1x1xf32>
    %8 = stablehlo.constant dense<-0.0e+00> : tensor<f32>
    %9 = stablehlo.reduce(%7 init: %8) applies stablehlo.add across dimensions = [1] : (tensor<1x1xf32>, tensor<f32>) -> tensor<1xf32>
    %10 = stablehlo.divide %9, %3 : tensor<1xf32>
    %11 = stablehlo.constant dense<1.0e-03> : tensor<1xf32>
    %12 = stablehlo.add %10, %11 : tensor<1xf32>
    %13 = stablehlo.sqrt %12 : tensor<1xf32>
    %14 = stablehlo.constant dense<1.0e+00> : tensor<1xf32>
    %15 = stablehlo.divide %14, %13 : tensor<1xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0] : (tensor<1xf32>) -> tensor<1x1xf32>
    %17 = stablehlo.multiply %6, %16 : tensor<1x1xf32>
    %18 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<1xf32>) -> tensor<1x1xf32>
    %19 = stablehlo.multiply %17, %18 : tensor<1x1xf32>
    %20 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<1xf32>) -> tensor<1x1xf32>
    %21 = stablehlo.add %19, %20 : tensor<1x1xf32>
    return %21, %4, %15 : tensor<1x1xf32>, tensor<1xf32>, tensor<1xf32>
  }
  func.func private @hone.silu_0(%arg0: tensor<3x31xf32>) -> tensor<3x31xf32> {
    %0 = stablehlo.logistic %arg0 : tensor<3x31xf32>
    %1 = stablehlo.multiply %arg0, %0 : tensor<3x31xf32>
    return %1 : tensor<3x31xf32>
  }
  func.func private @hone.relu6_0(%arg0: tensor<3x31xf32>) -> tensor<3x31xf32> {
    %0 = stablehlo.constant dense<0.0e+00> : tensor<3x31xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<3x31xf32>
    %2 = stablehlo.constant dense<6.0e+00> : tensor<3x31xf32>
    %3 = stablehlo.minimum %1, %2 : tensor<3x31xf32>
    return %3 : tensor<3x31xf32>
  }
  func.func private @hone.softplus_0(%arg0: tensor<3x31xf32>) -> tensor<3x31xf32> {
    %0 = stablehlo.constant dense<0.0e+00> : tensor<3x31xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<3x31xf32>
    %2 = stablehlo.abs %arg0 : tensor<3x31xf32>
    %3 = stablehlo.negate %2 : tensor<3x31xf32>
    %4 = stablehlo.exponential %3 : tensor<3x31xf32>
    %5 = stablehlo.log_plus_one %4 : tensor<3x31xf32>
    %6 = stablehlo.add %5, %1 : tensor<3x31xf32>
    return %6 : tensor<3x31xf32>
  }
  func.func private @hone.silu_1(%arg0: tensor<1025xf32>) -> tensor<1025xf32> {
    %0 = stablehlo.logistic %arg0 : tensor<1025xf32>
    %1 = stablehlo.multiply %arg0, %0 : tensor<1025xf32>
    return %1 : tensor<1025xf32>
  }
  func.func private @hone.softplus_1(%arg0: tensor<2050xf32>) -> tensor<2050xf32> {
    %0 = stablehlo.constant dense<0.0e+00> : tensor<2050xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<2050xf32>
    %2 = stablehlo.abs %arg0 : tensor<2050xf32>
    %3 = stablehlo.negate %2 : tensor<2050xf32>
    %4 = stablehlo.exponential %3 : tensor<2050xf32>
    %5 = stablehlo.log_plus_one %4 : tensor<2050xf32>
    %6 = stablehlo.add %5, %1 : tensor<2050xf32>
    return %6 : tensor<2050xf32>
  }
  func.func private @hone.silu_grad_0(%arg0: tensor<3x31xf32>, %arg1: tensor<3x31xf32>) -> tensor<3x31xf32> {
    %0 = stablehlo.logistic %arg0 : tensor<3x31xf32>
    %1 = stablehlo.constant dense<1.0e+00> : tensor<3x31xf32>
    %2 = stablehlo.subtract %1, %0 : tensor<3x31xf32>
    %3 = stablehlo.multiply %arg0, %2 : tensor<3x31xf32>
    %4 = stablehlo.add %3, %1 : tensor<3x31xf32>
    %5 = stablehlo.multiply %0, %4 : tensor<3x31xf32>
    %6 = stablehlo.multiply %arg1, %5 : tensor<3x31xf32>
    return %6 : tensor<3x31xf32>
  }
  func.func private @hone.layer_norm_grad_0(%arg0: tensor<1025xf32>, %arg1: tensor<1025xf32>, %arg2: tensor<f32>, %arg3: tensor<f32>, %arg4: tensor<1025xf32>) -> (tensor<1025xf32>, tensor<1025xf32>, tensor<1025xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg3, dims = [] : (tensor<f32>) -> tensor<1025xf32>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<1025xf32>
    %2 = stablehlo.subtract %arg0, %1 : tensor<1025xf32>
    %3 = stablehlo.multiply %2, %0 : tensor<1025xf32>
    %4 = stablehlo.multiply %arg4, %arg1 : tensor<1025xf32>
    %5 = stablehlo.multiply %4, %3 : tensor<1025xf32>
    %6 = stablehlo.constant dense<-0.0e+00> : tensor<f32>
    %7 = stablehlo.reduce(%5 init: %6) applies stablehlo.add across dimensions = [0] : (tensor<1025xf32>, tensor<f32>) -> tensor<f32>
    %8 = stablehlo.constant dense<1.025e+03> : tensor<f32>
    %9 = stablehlo.divide %7, %8 : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [] : (tensor<f32>) -> tensor<1025xf32>
    %11 = stablehlo.multiply %3, %10 : tensor<1025xf32>
    %12 = stablehlo.constant dense<-0.0e+00> : tensor<f32>
    %13 = stablehlo.reduce(%4 init: %12) applies stablehlo.add across dimensions = [0] : (tensor<1025xf32>, tensor<f32>) -> tensor<f32>
    %14 = stablehlo.divide %13, %8 : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [] : (tensor<f32>) -> tensor<1025xf32>
    %16 = stablehlo.subtract %4, %15 : tensor<1025xf32>
    %17 = stablehlo.subtract %16, %11 : tensor<1025xf32>
    %18 = stablehlo.multiply %0, %17 : tensor<1025xf32>
    %19 = stablehlo.multiply %arg4, %3 : tensor<1025xf32>
    return %18, %19, %arg4 : tensor<1025xf32>, tensor<1025xf32>, tensor<1025xf32>
  }
}
