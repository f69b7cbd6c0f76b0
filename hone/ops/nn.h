// Functions of networks, each one op with a fused kernel and a decomposition: normalisation, pooling, losses, recurrent
// cells, updates. 16-bit floats compute in f32 and are rounded once. Errors kInvalidArgument name the operands and what
// does not fit.
#pragma once
#include <optional>
#include <tuple>
#include <utility>

#include "hone/ops/spatial.h"
#include "hone/tensor/tensor.h"

namespace hone {

/// exp(x) / sum(exp(x)) along an axis; rows of -Inf alone give NaN.
Tensor softmax(Operand x, int axis = -1);
/// x - logsumexp(x) along an axis.
Tensor log_softmax(Operand x, int axis = -1);

/// (x - mean) / sqrt(variance + epsilon) * scale + offset over the axes from `axis` to the last; scale and offset have
/// their extents. Variance is biased (divides by n). Ba, Kiros, Hinton: Layer normalization, 2016.
Tensor layer_norm(Operand x, Operand scale, Operand offset, int axis = -1, double epsilon = 1e-3);
/// x / sqrt(mean(x x) + epsilon) * scale. Zhang, Sennrich: Root mean square layer normalization, 2019.
Tensor rms_norm(Operand x, Operand scale, int axis = -1, double epsilon = 1e-6);

struct BatchNormResult {
  Tensor y;
  Tensor mean, variance;  ///< of this batch, [c]; the variance is biased
};
/// Normalises x[..., c] over all axes but the last with the batch's own statistics. Ioffe, Szegedy: Batch
/// normalization, 2015.
BatchNormResult batch_norm_training(Operand x, Operand scale, Operand offset, double epsilon = 1e-3);
/// The same with given statistics.
Tensor batch_norm_inference(Operand x, Operand scale, Operand offset, Operand mean, Operand variance,
                            double epsilon = 1e-3);

struct PoolOptions {
  std::optional<Sizes> strides{};  ///< default: the window
  Padding padding = "valid";
  bool count_padding = false;  ///< avg_pool: divide by the window's size even where it reaches into padding
};
/// Largest element of each window of x[n, spatial..., c], 1 to 3 spatial axes. NaN propagates, padding is never chosen.
/// The gradient goes to the window's first NaN, else its first largest element.
Tensor max_pool(Operand x, const Sizes& window, const PoolOptions& options = {});
/// Mean of each window's elements (padding does not count unless asked).
Tensor avg_pool(Operand x, const Sizes& window, const PoolOptions& options = {});

/// Zeroes elements with probability `rate` and multiplies the others by 1 / (1 - rate). Which ones is a function of the
/// state u64[2] (random::state) and the element's index. 0 <= rate < 1.
Tensor dropout(Operand x, const Tensor& state, double rate);

/// Rows of table[v, ...] at integer ids of any shape; negative ids count from the end, ids out of range are clamped.
Tensor embedding(Operand table, Operand ids);

/// -log softmax(logits)[label] for logits[n, c] and integer labels[n]; NaN where a label is out of range. 16-bit logits
/// give f32.
Tensor sparse_softmax_cross_entropy(Operand logits, Operand labels);

/// One LSTM step from gates[b, 4 h] = x W + h U + bias in Keras' order (input, forget, cell, output) and the state c[b,
/// h]: c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c'). Returns {h', c'}.
std::pair<Tensor, Tensor> lstm_cell(Operand gates, Operand c);
struct LstmResult {
  Tensor hidden;          ///< h after each step, [t, n, u]
  Tensor last_h, last_c;  ///< the state after the last step, [n, u]; with no steps the one given
};
/// lstm_cell over the rows of gates[t, n, 4 u] = x W + bias: step i is given gates[i] + h recurrent[u, 4 u]. Where
/// mask[t, n] (bool; undefined: everywhere) is false the state stays as it is. All operands but the mask have one
/// floating dtype; 16-bit ones compute in f32. The gradient keeps the full gates and the state before each step, and
/// makes that of the recurrent weight in one product. Sepp Hochreiter, Juergen Schmidhuber, Long short-term memory,
/// 1997.
LstmResult lstm(Operand gates, Operand recurrent, Operand h, Operand c, const Tensor& mask = {});

/// One GRU step in Keras' reset_after form from x_gates[b, 3 h], h_gates[b, 3 h] (order update, reset, candidate) and
/// the state h[b, h]: z = sigmoid(xz + hz), r = sigmoid(xr + hr), h' = z h + (1 - z) tanh(xh + r hh).
Tensor gru_cell(Operand x_gates, Operand h_gates, Operand h);

struct SgdAttrs;
struct AdamAttrs;
/// {param', velocity'}: v' = momentum v - lr g; p' = p + v', or with nesterov p + momentum v' - lr g. Before that p
/// shrinks by lr weight_decay p. As Keras' SGD. `learning_rate` is a scalar tensor.
std::pair<Tensor, Tensor> sgd_update(Operand param, Operand gradient, Operand velocity, Operand learning_rate,
                                     const SgdAttrs& attrs);
/// {param', m', v'}: m' = m + (g - m)(1 - beta_1), v' = v + (g g - v)(1 - beta_2), p' = p - alpha m' / (sqrt(v') +
/// epsilon) with alpha = lr sqrt(1 - beta_2^step) / (1 - beta_1^step); before that p shrinks by lr weight_decay p
/// (AdamW). As Keras' Adam. `step` counts from 1; it and `learning_rate` are scalar tensors.
std::tuple<Tensor, Tensor, Tensor> adam_update(Operand param, Operand gradient, Operand m, Operand v,
                                               Operand learning_rate, Operand step, const AdamAttrs& attrs);

}  // namespace hone
