// Convolutions over 1 to 3 spatial axes (cross-correlations, as in every network library). Data [n, spatial...,
// channels], kernels [spatial..., in / groups, out]. Operands are promoted to one dtype.
#pragma once
#include "hone/ops/spatial.h"
#include "hone/tensor/tensor.h"

namespace hone {

struct ConvAttrs;

struct ConvOptions {
  Sizes strides = 1;
  Padding padding = "valid";
  Sizes dilation = 1;
  int64_t groups = 1;
  Tensor bias{};  ///< [out], inside the library call
};

/// result[n, i, o] = sum over j, c of x[n, i * stride + j * dilation - low, c] kernel[j, c, o] (+ bias[o]).
/// Error kInvalidArgument where channels, groups or sizes do not fit.
Tensor conv1d(Operand x, Operand kernel, const ConvOptions& options = {});
Tensor conv2d(Operand x, Operand kernel, const ConvOptions& options = {});
Tensor conv3d(Operand x, Operand kernel, const ConvOptions& options = {});

/// Each channel by itself: kernel [h, w, c, multiplier]; result channel c * multiplier + m. `options.groups` is not
/// used.
Tensor depthwise_conv2d(Operand x, Operand kernel, const ConvOptions& options = {});
/// depthwise_conv2d, then a 1x1 convolution: pointwise [1, 1, c * multiplier, out].
Tensor separable_conv2d(Operand x, Operand depthwise, Operand pointwise, const ConvOptions& options = {});

/// Keras' Conv2DTranspose: kernel [spatial..., out, in]. Result extents: "same" input * stride; "valid" input * stride
/// + max(window - stride, 0); pairs {before, after}: (input - 1) * stride + window - before - after. It is the gradient
/// of the convolution from the result to x.
Tensor conv1d_transpose(Operand x, Operand kernel, const ConvOptions& options = {});
Tensor conv2d_transpose(Operand x, Operand kernel, const ConvOptions& options = {});
Tensor conv3d_transpose(Operand x, Operand kernel, const ConvOptions& options = {});

/// The general forms: asymmetric padding (negative cuts), base dilation (zeros between the elements of x).
Tensor convolution(Operand x, Operand kernel, const ConvAttrs& attrs, const Tensor& bias = {});
/// Gradient of convolution for its input, of shape attrs.shape.
Tensor convolution_input_grad(Operand ct, Operand kernel, const ConvAttrs& attrs);
/// Gradient of convolution for its kernel, of shape attrs.shape.
Tensor convolution_kernel_grad(Operand x, Operand ct, const ConvAttrs& attrs);

}  // namespace hone
