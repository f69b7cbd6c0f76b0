#include "hone/nn/attention.h"

#include <fmt/format.h>

#include "hone/base/error.h"
#include "hone/nn/core.h"
#include "hone/nn/registry.h"
#include "hone/ops/attention.h"
#include "hone/ops/contraction.h"
#include "hone/ops/movement.h"

namespace hone::nn {
namespace {

class AttentionModule final : public Module {
 public:
  AttentionModule(int64_t heads, int64_t key_dim, MultiHeadAttentionOptions options)
      : heads_(heads),
        key_dim_(key_dim),
        value_dim_(options.value_dim > 0 ? options.value_dim : key_dim),
        options_(std::move(options)) {
    if (heads <= 0 || key_dim <= 0)
      throw Error(
          Code::kInvalidArgument,
          fmt::format("MultiHeadAttention needs positive num_heads and key_dim, got {} and {}", heads, key_dim));
    if (options_.dropout > 0) dropout_ = child("dropout", Dropout(options_.dropout));
  }
  std::string type() const override { return "MultiHeadAttention"; }

  void build(std::span<const TensorType> inputs) override {
    for (const TensorType& input : inputs) {
      if (input.shape.rank() == 3) continue;
      throw Error(Code::kInvalidArgument,
                  {.what = "MultiHeadAttention needs sequences [n, t, d]", .details = {"got: " + to_string(input)}});
    }
    const Dim query = inputs[0].shape[2], value = inputs[inputs.size() > 1 ? 1 : 0].shape[2],
              key = inputs.back().shape[2];
    const Dim out = options_.output_dim > 0 ? Dim(options_.output_dim) : query;
    query_ = projection("query", query, key_dim_);
    key_ = projection("key", key, key_dim_);
    value_ = projection("value", value, value_dim_);
    out_kernel_ = variable("output_kernel", {{heads_ * value_dim_, out}, options_.kernel_initializer});
    if (options_.use_bias) out_bias_ = variable("output_bias", {{out}, Zeros()});
  }

  Tensor call(const Tensor& x, const CallOptions& options) override { return call(std::span(&x, 1), options); }
  Tensor call(std::span<const Tensor> inputs, const CallOptions& options) override {
    if (inputs.empty() || inputs.size() > 3) {
      throw Error(Code::kInvalidArgument,
                  fmt::format("MultiHeadAttention takes {{query, value, key}}, got {} inputs", inputs.size()));
    }
    const Tensor q = split_heads(inputs[0], query_, key_dim_), k = split_heads(inputs.back(), key_, key_dim_);
    const Tensor v = split_heads(inputs[inputs.size() > 1 ? 1 : 0], value_, value_dim_);
    Tensor mask = options.mask;
    if (mask.defined() && mask.rank() == 3) mask = expand_dims(mask, 1);
    Tensor attended = scaled_dot_product_attention(q, k, v, {.mask = mask, .causal = options_.use_causal_mask});
    if (dropout_.defined()) attended = dropout_(attended, options);
    attended = reshape(attended, {attended.shape()[0], attended.shape()[1], heads_ * value_dim_});
    return dense(attended, out_kernel_, options_.use_bias ? out_bias_.value() : Tensor());
  }

  Config config() const override {
    return Config::Table{{"type", type()},
                         {"num_heads", heads_},
                         {"key_dim", key_dim_},
                         {"value_dim", value_dim_},
                         {"dropout", options_.dropout},
                         {"use_bias", options_.use_bias},
                         {"use_causal_mask", options_.use_causal_mask},
                         {"output_dim", options_.output_dim}};
  }

 private:
  struct Projection {
    Variable kernel, bias;
  };
  Projection projection(const std::string& name, Dim in, int64_t dim) {
    Projection made{variable(name + "_kernel", {{in, heads_ * dim}, options_.kernel_initializer}), {}};
    if (options_.use_bias) made.bias = variable(name + "_bias", {{heads_ * dim}, Zeros()});
    return made;
  }
  Tensor split_heads(const Tensor& x, const Projection& p, int64_t dim) const {
    return reshape(dense(x, p.kernel, options_.use_bias ? p.bias.value() : Tensor()),
                   {x.shape()[0], x.shape()[1], heads_, dim});
  }

  int64_t heads_, key_dim_, value_dim_;
  MultiHeadAttentionOptions options_;
  Projection query_, key_, value_;
  Variable out_kernel_, out_bias_;
  Layer dropout_;
};

}  // namespace

MultiHeadAttention::MultiHeadAttention(int64_t num_heads, int64_t key_dim, MultiHeadAttentionOptions options)
    : Layer(std::make_shared<AttentionModule>(num_heads, key_dim, options)) {
  if (!options.name.empty()) set_name(options.name);
}

}  // namespace hone::nn
