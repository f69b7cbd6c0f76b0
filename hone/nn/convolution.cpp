#include "hone/nn/convolution.h"

#include <fmt/format.h>

#include "hone/base/error.h"
#include "hone/nn/registry.h"
#include "hone/ops/convolution.h"
#include "hone/ops/nn.h"
#include "hone/ops/reduction.h"

namespace hone::nn {
namespace {

// What the convolution layers share: geometry as options of the op.
struct Window {
  Ints kernel, strides, dilation;
  std::string padding;
  ConvOptions options(int64_t groups, const Tensor& bias) const {
    return {.strides = strides, .padding = padding.c_str(), .dilation = dilation, .groups = groups, .bias = bias};
  }
};

Dim channels_of(std::span<const TensorType> inputs, const char* type) {
  const Shape& shape = inputs[0].shape;
  if (shape.rank() != 4) {
    throw Error(Code::kInvalidArgument,
                {.what = fmt::format("{} needs images [n, height, width, channels]", type),
                 .details = {"got: " + to_string(inputs[0])},
                 .fix = "add the missing axis: expand_dims(x, -1) for grey images, expand_dims(x, 0) for one image"});
  }
  return shape[3];
}

void add_window(Config& config, const Window& window) {
  config.set("strides", sizes_config(window.strides));
  config.set("padding", window.padding);
  config.set("dilation_rate", sizes_config(window.dilation));
}

class Conv2DModule final : public Module {
 public:
  Conv2DModule(int64_t filters, const Sizes& kernel, Conv2DOptions options)
      : filters_(filters),
        window_{kernel.expand(2, "kernel_size"), options.strides.expand(2, "strides"),
                options.dilation_rate.expand(2, "dilation_rate"), options.padding},
        options_(std::move(options)) {
    if (filters_ <= 0) throw Error(Code::kInvalidArgument, fmt::format("Conv2D needs filters >= 1, got {}", filters_));
    (void)Padding(window_.padding);
  }
  std::string type() const override { return "Conv2D"; }
  void build(std::span<const TensorType> inputs) override {
    const Dim channels = channels_of(inputs, "Conv2D");
    if (options_.groups < 1 || channels.number() % options_.groups != 0 || filters_ % options_.groups != 0) {
      throw Error(Code::kInvalidArgument,
                  fmt::format("Conv2D: groups = {} must divide {} input channels and {} filters", options_.groups,
                              channels.number(), filters_));
    }
    kernel_ =
        variable("kernel", {{window_.kernel[0], window_.kernel[1], floor_div(channels, options_.groups), filters_},
                            options_.kernel_initializer});
    if (options_.use_bias) bias_ = variable("bias", {{filters_}, options_.bias_initializer});
  }
  Tensor call(const Tensor& x, const CallOptions&) override {
    return options_.activation(
        conv2d(x, kernel_, window_.options(options_.groups, options_.use_bias ? bias_.value() : Tensor())));
  }
  Config config() const override {
    Config config(
        Config::Table{{"type", type()}, {"filters", filters_}, {"kernel_size", sizes_config(window_.kernel)}});
    add_window(config, window_);
    config.set("groups", options_.groups);
    config.set("activation", options_.activation.name());
    config.set("use_bias", options_.use_bias);
    set_initializer(config, "kernel_initializer", options_.kernel_initializer);
    set_initializer(config, "bias_initializer", options_.bias_initializer);
    return config;
  }

 private:
  int64_t filters_;
  Window window_;
  Conv2DOptions options_;
  Variable kernel_, bias_;
};

class DepthwiseModule final : public Module {
 public:
  DepthwiseModule(const Sizes& kernel, DepthwiseConv2DOptions options)
      : window_{kernel.expand(2, "kernel_size"), options.strides.expand(2, "strides"),
                options.dilation_rate.expand(2, "dilation_rate"), options.padding},
        options_(std::move(options)) {
    (void)Padding(window_.padding);
  }
  std::string type() const override { return "DepthwiseConv2D"; }
  void build(std::span<const TensorType> inputs) override {
    const Dim channels = channels_of(inputs, "DepthwiseConv2D");
    kernel_ = variable("depthwise_kernel", {{window_.kernel[0], window_.kernel[1], channels, options_.depth_multiplier},
                                            options_.depthwise_initializer});
    if (options_.use_bias)
      bias_ = variable("bias", {{channels * options_.depth_multiplier}, options_.bias_initializer});
  }
  Tensor call(const Tensor& x, const CallOptions&) override {
    return options_.activation(
        depthwise_conv2d(x, kernel_, window_.options(1, options_.use_bias ? bias_.value() : Tensor())));
  }
  Config config() const override {
    Config config(Config::Table{{"type", type()}, {"kernel_size", sizes_config(window_.kernel)}});
    add_window(config, window_);
    config.set("depth_multiplier", options_.depth_multiplier);
    config.set("activation", options_.activation.name());
    config.set("use_bias", options_.use_bias);
    set_initializer(config, "depthwise_initializer", options_.depthwise_initializer);
    set_initializer(config, "bias_initializer", options_.bias_initializer);
    return config;
  }

 private:
  Window window_;
  DepthwiseConv2DOptions options_;
  Variable kernel_, bias_;
};

class SeparableModule final : public Module {
 public:
  SeparableModule(int64_t filters, const Sizes& kernel, SeparableConv2DOptions options)
      : filters_(filters),
        window_{kernel.expand(2, "kernel_size"), options.strides.expand(2, "strides"),
                options.dilation_rate.expand(2, "dilation_rate"), options.padding},
        options_(std::move(options)) {
    if (filters_ <= 0)
      throw Error(Code::kInvalidArgument, fmt::format("SeparableConv2D needs filters >= 1, got {}", filters_));
    (void)Padding(window_.padding);
  }
  std::string type() const override { return "SeparableConv2D"; }
  void build(std::span<const TensorType> inputs) override {
    const Dim channels = channels_of(inputs, "SeparableConv2D");
    depthwise_ = variable(
        "depthwise_kernel",
        {{window_.kernel[0], window_.kernel[1], channels, options_.depth_multiplier}, options_.depthwise_initializer});
    pointwise_ = variable("pointwise_kernel",
                          {{1, 1, channels * options_.depth_multiplier, filters_}, options_.pointwise_initializer});
    if (options_.use_bias) bias_ = variable("bias", {{filters_}, options_.bias_initializer});
  }
  Tensor call(const Tensor& x, const CallOptions&) override {
    return options_.activation(
        separable_conv2d(x, depthwise_, pointwise_, window_.options(1, options_.use_bias ? bias_.value() : Tensor())));
  }
  Config config() const override {
    Config config(
        Config::Table{{"type", type()}, {"filters", filters_}, {"kernel_size", sizes_config(window_.kernel)}});
    add_window(config, window_);
    config.set("depth_multiplier", options_.depth_multiplier);
    config.set("activation", options_.activation.name());
    config.set("use_bias", options_.use_bias);
    set_initializer(config, "depthwise_initializer", options_.depthwise_initializer);
    set_initializer(config, "pointwise_initializer", options_.pointwise_initializer);
    set_initializer(config, "bias_initializer", options_.bias_initializer);
    return config;
  }

 private:
  int64_t filters_;
  Window window_;
  SeparableConv2DOptions options_;
  Variable depthwise_, pointwise_, bias_;
};

class PoolingModule final : public Module {
 public:
  PoolingModule(bool largest, const Sizes& window, const Pooling2DOptions& options)
      : largest_(largest),
        window_(window.expand(2, "pool_size")),
        strides_(options.strides ? options.strides->expand(2, "strides") : window_),
        padding_(options.padding) {
    (void)Padding(padding_);
  }
  std::string type() const override { return largest_ ? "MaxPooling2D" : "AveragePooling2D"; }
  Tensor call(const Tensor& x, const CallOptions&) override {
    const PoolOptions options{.strides = strides_, .padding = padding_.c_str()};
    return largest_ ? max_pool(x, window_, options) : avg_pool(x, window_, options);
  }
  Config config() const override {
    return Config::Table{{"type", type()},
                         {"pool_size", sizes_config(window_)},
                         {"strides", sizes_config(strides_)},
                         {"padding", padding_}};
  }

 private:
  bool largest_;
  Ints window_, strides_;
  std::string padding_;
};

class GlobalPoolingModule final : public Module {
 public:
  explicit GlobalPoolingModule(bool largest) : largest_(largest) {}
  std::string type() const override { return largest_ ? "GlobalMaxPooling2D" : "GlobalAveragePooling2D"; }
  void build(std::span<const TensorType> inputs) override { channels_of(inputs, type().c_str()); }
  Tensor call(const Tensor& x, const CallOptions&) override { return largest_ ? max(x, {1, 2}) : mean(x, {1, 2}); }

 private:
  bool largest_;
};

}  // namespace

Conv2D::Conv2D(int64_t filters, Sizes kernel_size, Conv2DOptions options)
    : Layer(std::make_shared<Conv2DModule>(filters, kernel_size, options)) {
  if (!options.name.empty()) set_name(options.name);
}
DepthwiseConv2D::DepthwiseConv2D(Sizes kernel_size, DepthwiseConv2DOptions options)
    : Layer(std::make_shared<DepthwiseModule>(kernel_size, options)) {
  if (!options.name.empty()) set_name(options.name);
}
SeparableConv2D::SeparableConv2D(int64_t filters, Sizes kernel_size, SeparableConv2DOptions options)
    : Layer(std::make_shared<SeparableModule>(filters, kernel_size, options)) {
  if (!options.name.empty()) set_name(options.name);
}
MaxPooling2D::MaxPooling2D(Sizes pool_size, Pooling2DOptions options)
    : Layer(std::make_shared<PoolingModule>(true, pool_size, options)) {
  if (!options.name.empty()) set_name(options.name);
}
AveragePooling2D::AveragePooling2D(Sizes pool_size, Pooling2DOptions options)
    : Layer(std::make_shared<PoolingModule>(false, pool_size, options)) {
  if (!options.name.empty()) set_name(options.name);
}
GlobalAveragePooling2D::GlobalAveragePooling2D() : Layer(std::make_shared<GlobalPoolingModule>(false)) {}
GlobalMaxPooling2D::GlobalMaxPooling2D() : Layer(std::make_shared<GlobalPoolingModule>(true)) {}

}  // namespace hone::nn
