// Convolutions over images [n, height, width, channels]. Names and defaults are Keras'.
#pragma once
#include <optional>

#include "hone/nn/activation.h"
#include "hone/nn/layer.h"
#include "hone/ops/spatial.h"

namespace hone::nn {

struct Conv2DOptions {
  Sizes strides = 1;
  std::string padding = "valid";  ///< "valid" or "same"
  Sizes dilation_rate = 1;
  int64_t groups = 1;
  Activation activation = "linear";
  bool use_bias = true;
  Initializer kernel_initializer = GlorotUniform();
  Initializer bias_initializer = Zeros();
  std::string name{};
};
/// Kernel [h, w, in / groups, filters].
class Conv2D : public Layer {
 public:
  Conv2D(int64_t filters, Sizes kernel_size, Conv2DOptions options = {});
};

struct DepthwiseConv2DOptions {
  Sizes strides = 1;
  std::string padding = "valid";
  int64_t depth_multiplier = 1;
  Sizes dilation_rate = 1;
  Activation activation = "linear";
  bool use_bias = true;
  Initializer depthwise_initializer = GlorotUniform();
  Initializer bias_initializer = Zeros();
  std::string name{};
};
/// Each channel by itself; kernel [h, w, in, depth_multiplier].
class DepthwiseConv2D : public Layer {
 public:
  explicit DepthwiseConv2D(Sizes kernel_size, DepthwiseConv2DOptions options = {});
};

struct SeparableConv2DOptions {
  Sizes strides = 1;
  std::string padding = "valid";
  Sizes dilation_rate = 1;
  int64_t depth_multiplier = 1;
  Activation activation = "linear";
  bool use_bias = true;
  Initializer depthwise_initializer = GlorotUniform();
  Initializer pointwise_initializer = GlorotUniform();
  Initializer bias_initializer = Zeros();
  std::string name{};
};
/// Depthwise, then 1x1 across channels.
class SeparableConv2D : public Layer {
 public:
  SeparableConv2D(int64_t filters, Sizes kernel_size, SeparableConv2DOptions options = {});
};

struct Pooling2DOptions {
  std::optional<Sizes> strides{};  ///< default: the window
  std::string padding = "valid";
  std::string name{};
};
class MaxPooling2D : public Layer {
 public:
  explicit MaxPooling2D(Sizes pool_size = 2, Pooling2DOptions options = {});
};
/// Padding does not count.
class AveragePooling2D : public Layer {
 public:
  explicit AveragePooling2D(Sizes pool_size = 2, Pooling2DOptions options = {});
};
/// [n, h, w, c] -> [n, c].
class GlobalAveragePooling2D : public Layer {
 public:
  GlobalAveragePooling2D();
};
class GlobalMaxPooling2D : public Layer {
 public:
  GlobalMaxPooling2D();
};

}  // namespace hone::nn
