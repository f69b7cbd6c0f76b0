// Fused f32 loops of networks of one instruction-set level. Rows are contiguous; `n` is a row's length, `c` the number
// of channels.
#pragma once
#include <cstdint>

namespace hone::math {

/// A pass over rows of channels may read up to `end` (the end of the whole array) and, in ascending order, write up to
/// `limit` (the end of its own range): narrow rows then use whole vectors.
struct ChannelRows {
  const float* x;
  const float* end;
  int64_t rows, c;
};
/// Per-channel arrays have room for kChannelPadding more elements.
inline constexpr int64_t kChannelPadding = 16;

/// Two spatial axes; one is a height of 1.
struct PoolShape {
  int64_t h, w, c;         ///< input
  int64_t oh, ow;          ///< result
  int64_t kh, kw, sh, sw;  ///< window and strides
  int64_t top, left;       ///< padding before
  bool count_padding;
};

struct SgdStep {
  float rate, momentum, decay;  ///< decay: rate * weight_decay
  bool nesterov;
};
struct AdamStep {
  float alpha, one_minus_beta_1, one_minus_beta_2, epsilon, decay;
};

/// Attributes of an update, and its step at a learning rate. Inlined: no level's code may serve another.
struct SgdParams {
  float momentum, weight_decay;
  bool nesterov;
};
[[gnu::always_inline]] inline SgdStep sgd_step(const SgdParams& p, float rate) {
  return {rate, p.momentum, rate * p.weight_decay, p.nesterov};
}
struct AdamParams {
  double beta_1, beta_2;
  float epsilon, weight_decay;
};
/// `count`: of steps, this one too.
[[gnu::always_inline]] inline AdamStep adam_step(const AdamParams& p, float rate, float count) {
  const auto correction_1 = static_cast<float>(1 - __builtin_pow(p.beta_1, count)),
             correction_2 = static_cast<float>(1 - __builtin_pow(p.beta_2, count));
  return {rate * __builtin_sqrtf(correction_2) / correction_1, static_cast<float>(1 - p.beta_1),
          static_cast<float>(1 - p.beta_2), p.epsilon, rate * p.weight_decay};
}

struct NnKernels {
  void (*softmax)(const float* x, float* y, int64_t rows, int64_t n);
  void (*log_softmax)(const float* x, float* y, int64_t rows, int64_t n);
  void (*softmax_grad)(const float* y, const float* ct, float* dx, int64_t rows, int64_t n);
  void (*layer_norm)(const float* x, const float* scale, const float* offset, float* y, float* mean, float* rstd,
                     int64_t rows, int64_t n, float epsilon);
  void (*rms_norm)(const float* x, const float* scale, float* y, int64_t rows, int64_t n, float epsilon);
  /// At most kReduceRows rows; dscale and doffset become this block's sums.
  void (*layer_norm_grad)(const float* x, const float* scale, const float* mean, const float* rstd, const float* ct,
                          float* dx, float* dscale, float* doffset, int64_t rows, int64_t n);
  /// loss and logsumexp of rows; label < 0 marks an invalid one: NaN.
  void (*cross_entropy)(const float* logits, const int64_t* labels, float* loss, float* total, int64_t rows, int64_t n);
  void (*cross_entropy_grad)(const float* logits, const int64_t* labels, const float* total, const float* ct, float* dx,
                             int64_t rows, int64_t n);

  /// Mean and sum of squared distances from it of at most kReduceRows rows.
  void (*channel_stats)(const ChannelRows& x, float* mean, float* m2);
  /// mean, m2 of `rows` rows joined with those of `other_rows` more (Chan, Golub, LeVeque 1979).
  void (*join_stats)(float* mean, float* m2, double rows, const float* other_mean, const float* other_m2,
                     double other_rows, int64_t c);
  /// y = (x - shift) factor + offset.
  void (*channel_affine)(const ChannelRows& x, const float* shift, const float* factor, const float* offset, float* y,
                         float* limit);
  /// Sums of ct normal and ct over at most kReduceRows rows, normal = (x - mean) rstd.
  void (*channel_grad_sums)(const ChannelRows& x, const float* ct, const float* ct_end, const float* mean,
                            const float* rstd, float* dscale, float* doffset);
  /// dx = (ct - a - normal b) factor.
  void (*channel_grad)(const ChannelRows& x, const float* ct, const float* ct_end, const float* mean, const float* rstd,
                       const float* a, const float* b, const float* factor, float* dx, float* limit);

  /// Result rows [begin, end) of all samples' n oh rows. x: the whole input, `x_end` its end; `limit` as above.
  void (*max_pool)(const PoolShape& s, const float* x, const float* x_end, float* y, float* limit, int64_t begin,
                   int64_t end);
  void (*avg_pool)(const PoolShape& s, const float* x, const float* x_end, float* y, float* limit, int64_t begin,
                   int64_t end);
  /// Adds ct of result rows [begin, end) of one sample to dx (zeroed before).
  void (*max_pool_grad)(const PoolShape& s, const float* x, const float* ct, float* dx, int64_t begin, int64_t end);
  /// For windows that do not overlap, s.oh > 0 and s.ow > 0: writes every element; dx may be x.
  void (*max_pool_grad_apart)(const PoolShape& s, const float* x, const float* ct, float* dx, int64_t begin,
                              int64_t end);
  /// Input rows [begin, end) of all samples' n h rows.
  void (*avg_pool_grad)(const PoolShape& s, const float* ct, const float* ct_end, float* dx, float* limit,
                        int64_t begin, int64_t end);

  /// Elements [begin, end), begin a multiple of 64: x scale where the element's random word reaches threshold, else 0.
  void (*dropout)(const float* x, float* y, int64_t begin, int64_t end, uint64_t key, uint64_t counter,
                  uint32_t threshold, float scale);
  /// One row: gates[4 n].
  void (*lstm_cell)(const float* gates, const float* c, float* h, float* next, int64_t n);
  void (*lstm_cell_grad)(const float* gates, const float* c, const float* ct_h, const float* ct_c, float* dgates,
                         float* dc, int64_t n);
  void (*gru_cell)(const float* x, const float* r, const float* h, float* next, int64_t n);
  void (*sgd)(const SgdStep& s, const float* p, const float* g, const float* v, float* next_p, float* next_v,
              int64_t n);
  /// The gradient is a row of an outer product of f32: x row[i].
  void (*sgd_outer)(const SgdStep& s, const float* p, float x, const float* row, const float* v, float* next_p,
                    float* next_v, int64_t n);
  void (*adam)(const AdamStep& s, const float* p, const float* g, const float* m, const float* v, float* next_p,
               float* next_m, float* next_v, int64_t n);
  void (*adam_outer)(const AdamStep& s, const float* p, float x, const float* row, const float* m, const float* v,
                     float* next_p, float* next_m, float* next_v, int64_t n);
};

}  // namespace hone::math
