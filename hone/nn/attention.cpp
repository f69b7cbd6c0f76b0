#include "hone/nn/attention.h"

#include <fmt/format.h>

#include <cmath>

#include "hone/base/error.h"
#include "hone/nn/core.h"
#include "hone/nn/registry.h"
#include "hone/ops/attention.h"
#include "hone/ops/contraction.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/nn.h"

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
    out_kernel_ = variable("output_kernel", {{heads_, value_dim_, out}, options_.kernel_initializer});
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
    const bool drops = dropout_.defined() && options.training;
    Tensor attended = drops || value_dim_ != key_dim_
                          ? attend_by_steps(q, k, v, mask, options)
                          : scaled_dot_product_attention(q, k, v, {.mask = mask, .causal = options_.use_causal_mask});
    attended = reshape(attended, {attended.shape()[0], attended.shape()[1], heads_ * value_dim_});
    const Tensor kernel = reshape(out_kernel_, {heads_ * value_dim_, out_kernel_.shape()[2]});
    return dense(attended, kernel, options_.use_bias ? out_bias_.value() : Tensor());
  }

  Config config() const override {
    Config config(Config::Table{{"type", type()},
                                {"num_heads", heads_},
                                {"key_dim", key_dim_},
                                {"value_dim", value_dim_},
                                {"dropout", options_.dropout},
                                {"use_bias", options_.use_bias},
                                {"use_causal_mask", options_.use_causal_mask},
                                {"output_dim", options_.output_dim}});
    set_initializer(config, "kernel_initializer", options_.kernel_initializer);
    return config;
  }

 private:
  // What the op does not serve: dropped probabilities, and values of another width than the keys. q [b, t, h, d], k [b,
  // s, h, d], v [b, s, h, e].
  Tensor attend_by_steps(const Tensor& q, const Tensor& k, const Tensor& v, Tensor mask,
                         const CallOptions& options) const {
    if (options_.use_causal_mask) {
      const Tensor causal = iota({q.shape()[1], 1}, 0) >= iota({1, k.shape()[1]}, 1);
      mask = mask.defined() ? logical_and(mask, causal) : causal;
    }
    Tensor scores = matmul(swap_axes(q, 1, 2), swap_axes(k, 1, 2), {.transpose_b = true});
    scores = scores * (1 / std::sqrt(static_cast<double>(key_dim_)));
    if (mask.defined()) scores = where(mask, scores, -1e30);
    Tensor p = softmax(scores);
    if (mask.defined()) p = where(mask, p, 0);  // a query that may attend to nothing gives 0
    return swap_axes(matmul(dropout_.defined() ? dropout_(p, options) : p, swap_axes(v, 1, 2)), 1, 2);
  }

  struct Projection {
    Variable kernel, bias;
  };
  Projection projection(const std::string& name, Dim in, int64_t dim) {
    Projection made{variable(name + "_kernel", {{in, heads_, dim}, options_.kernel_initializer}), {}};
    if (options_.use_bias) made.bias = variable(name + "_bias", {{heads_, dim}, Zeros()});
    return made;
  }
  Tensor split_heads(const Tensor& x, const Projection& p, int64_t dim) const {
    const Tensor kernel = reshape(p.kernel, {p.kernel.shape()[0], heads_ * dim});
    const Tensor bias = options_.use_bias ? reshape(p.bias, {heads_ * dim}) : Tensor();
    return reshape(dense(x, kernel, bias), {x.shape()[0], x.shape()[1], heads_, dim});
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
