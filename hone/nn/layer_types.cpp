// Every layer type by its config.
#include "hone/base/error.h"
#include "hone/nn/attention.h"
#include "hone/nn/convolution.h"
#include "hone/nn/core.h"
#include "hone/nn/normalization.h"
#include "hone/nn/recurrent.h"
#include "hone/nn/registry.h"

namespace hone::nn {
namespace {

Activation activation(ConfigReader& r) {
  const std::string name = r.string("activation", "linear");
  if (name != "custom") return Activation(name);
  throw Error(Code::kUnsupported, r.path("activation") + " is a function of one's own, which a config cannot hold",
              "build the model in code and call load_weights, or make the function a Module and register_layer it");
}
Initializer initializer_of(ConfigReader& r, std::string_view key, const char* fallback) {
  return initializer(r.string(key, fallback));
}

constexpr LayerType kTypes[] = {
    {"Dense",
     [](ConfigReader& r) -> Layer {
       return Dense(r.required_integer("units"),
                    {.activation = activation(r),
                     .use_bias = r.boolean("use_bias", true),
                     .kernel_initializer = initializer_of(r, "kernel_initializer", "glorot_uniform"),
                     .bias_initializer = initializer_of(r, "bias_initializer", "zeros")});
     }},
    {"Activation", [](ConfigReader& r) -> Layer { return ActivationLayer(activation(r)); }},
    {"ReLU", [](ConfigReader&) -> Layer { return ReLU(); }},
    {"Flatten", [](ConfigReader&) -> Layer { return Flatten(); }},
    {"Reshape", [](ConfigReader& r) -> Layer { return Reshape(r.required_sizes("target_shape")); }},
    {"Dropout",
     [](ConfigReader& r) -> Layer { return Dropout(r.number("rate", 0.5), {.seed = r.integer("seed", -1)}); }},
    {"Embedding",
     [](ConfigReader& r) -> Layer {
       return Embedding(r.required_integer("input_dim"), r.required_integer("output_dim"),
                        {.embeddings_initializer = initializer_of(r, "embeddings_initializer", "random_uniform")});
     }},
    {"Rescaling", [](ConfigReader& r) -> Layer { return Rescaling(r.number("scale", 1), r.number("offset", 0)); }},
    {"Conv2D",
     [](ConfigReader& r) -> Layer {
       return Conv2D(r.required_integer("filters"), r.required_sizes("kernel_size"),
                     {.strides = r.sizes("strides", {1}),
                      .padding = r.string("padding", "valid"),
                      .dilation_rate = r.sizes("dilation_rate", {1}),
                      .groups = r.integer("groups", 1),
                      .activation = activation(r),
                      .use_bias = r.boolean("use_bias", true),
                      .kernel_initializer = initializer_of(r, "kernel_initializer", "glorot_uniform"),
                      .bias_initializer = initializer_of(r, "bias_initializer", "zeros")});
     }},
    {"DepthwiseConv2D",
     [](ConfigReader& r) -> Layer {
       return DepthwiseConv2D(r.required_sizes("kernel_size"),
                              {.strides = r.sizes("strides", {1}),
                               .padding = r.string("padding", "valid"),
                               .depth_multiplier = r.integer("depth_multiplier", 1),
                               .dilation_rate = r.sizes("dilation_rate", {1}),
                               .activation = activation(r),
                               .use_bias = r.boolean("use_bias", true),
                               .depthwise_initializer = initializer_of(r, "depthwise_initializer", "glorot_uniform"),
                               .bias_initializer = initializer_of(r, "bias_initializer", "zeros")});
     }},
    {"SeparableConv2D",
     [](ConfigReader& r) -> Layer {
       return SeparableConv2D(r.required_integer("filters"), r.required_sizes("kernel_size"),
                              {.strides = r.sizes("strides", {1}),
                               .padding = r.string("padding", "valid"),
                               .dilation_rate = r.sizes("dilation_rate", {1}),
                               .depth_multiplier = r.integer("depth_multiplier", 1),
                               .activation = activation(r),
                               .use_bias = r.boolean("use_bias", true),
                               .depthwise_initializer = initializer_of(r, "depthwise_initializer", "glorot_uniform"),
                               .pointwise_initializer = initializer_of(r, "pointwise_initializer", "glorot_uniform"),
                               .bias_initializer = initializer_of(r, "bias_initializer", "zeros")});
     }},
    {"MaxPooling2D",
     [](ConfigReader& r) -> Layer {
       const Ints window = r.sizes("pool_size", {2});
       return MaxPooling2D(window, {.strides = r.sizes("strides", window), .padding = r.string("padding", "valid")});
     }},
    {"AveragePooling2D",
     [](ConfigReader& r) -> Layer {
       const Ints window = r.sizes("pool_size", {2});
       return AveragePooling2D(window,
                               {.strides = r.sizes("strides", window), .padding = r.string("padding", "valid")});
     }},
    {"GlobalAveragePooling2D", [](ConfigReader&) -> Layer { return GlobalAveragePooling2D(); }},
    {"GlobalMaxPooling2D", [](ConfigReader&) -> Layer { return GlobalMaxPooling2D(); }},
    {"BatchNormalization",
     [](ConfigReader& r) -> Layer {
       return BatchNormalization({.momentum = r.number("momentum", 0.99),
                                  .epsilon = r.number("epsilon", 1e-3),
                                  .center = r.boolean("center", true),
                                  .scale = r.boolean("scale", true)});
     }},
    {"LayerNormalization",
     [](ConfigReader& r) -> Layer {
       return LayerNormalization({.axis = static_cast<int>(r.integer("axis", -1)),
                                  .epsilon = r.number("epsilon", 1e-3),
                                  .center = r.boolean("center", true),
                                  .scale = r.boolean("scale", true)});
     }},
    {"MultiHeadAttention",
     [](ConfigReader& r) -> Layer {
       return MultiHeadAttention(r.required_integer("num_heads"), r.required_integer("key_dim"),
                                 {.value_dim = r.integer("value_dim", 0),
                                  .dropout = r.number("dropout", 0),
                                  .use_bias = r.boolean("use_bias", true),
                                  .use_causal_mask = r.boolean("use_causal_mask", false),
                                  .output_dim = r.integer("output_dim", 0),
                                  .kernel_initializer = initializer_of(r, "kernel_initializer", "glorot_uniform")});
     }},
    {"LSTM",
     [](ConfigReader& r) -> Layer {
       return LSTM(r.required_integer("units"),
                   {.use_bias = r.boolean("use_bias", true),
                    .unit_forget_bias = r.boolean("unit_forget_bias", true),
                    .return_sequences = r.boolean("return_sequences", false),
                    .go_backwards = r.boolean("go_backwards", false),
                    .stateful = r.boolean("stateful", false),
                    .batch_size = r.integer("batch_size", 0),
                    .kernel_initializer = initializer_of(r, "kernel_initializer", "glorot_uniform"),
                    .recurrent_initializer = initializer_of(r, "recurrent_initializer", "orthogonal"),
                    .bias_initializer = initializer_of(r, "bias_initializer", "zeros")});
     }},
};

}  // namespace

std::span<const LayerType> layer_types() { return kTypes; }

}  // namespace hone::nn
