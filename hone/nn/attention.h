// Attention.
#pragma once
#include "hone/nn/layer.h"

namespace hone::nn {

struct MultiHeadAttentionOptions {
  int64_t value_dim = 0;  ///< per head; 0: key_dim
  double dropout = 0;     ///< of the attention's probabilities, in training
  bool use_bias = true;
  bool use_causal_mask = false;  ///< position t attends to positions <= t
  int64_t output_dim = 0;        ///< 0: the query's last extent
  Initializer kernel_initializer = GlorotUniform();
  std::string name{};
};
/// softmax(Q K' / sqrt(key_dim)) V over heads (Vaswani et al., 2017). Call with {query, value} or {query, value, key},
/// or with one tensor for self-attention; each [n, t, d]. CallOptions::mask [n, t, s] or [n, 1, t, s]: true = attend.
/// Variables as Keras' EinsumDense: kernels [d, heads, dim] with biases [heads, dim], output_kernel [heads, value_dim,
/// out].
class MultiHeadAttention : public Layer {
 public:
  MultiHeadAttention(int64_t num_heads, int64_t key_dim, MultiHeadAttentionOptions options = {});
};

}  // namespace hone::nn
