// Attention as works: blocks of queries against blocks of keys with online softmax, one batch and head at a time; no
// [t, s] array exists in the forward pass, the backward pass keeps a block of rows. Products are panels of own
// contractions, so bits depend on sizes alone.
#pragma once
#include "hone/math/contraction.h"
#include "hone/math/work.h"

namespace hone::math {

struct AttentionParams {
  static constexpr int64_t kQueries = 24, kKeys = 128, kPanel = kPanelBytes / sizeof(float);
  int64_t t, s, h, d;
  float scale;
  int32_t causal, mask;           ///< mask: the operand behind the others is one
  int64_t mask_batch, mask_head;  ///< its strides

  int64_t padded_keys() const { return (s + kPanel - 1) / kPanel * kPanel; }
  /// Floats of scratch.
  int64_t forward_scratch() const {
    return padded_keys() * d + kQueries * kKeys + kQueries * d + (kKeys > d ? kKeys : d) * kPanel;
  }
  int64_t backward_scratch() const {
    return 2 * padded_keys() * d + 2 * kQueries * padded_keys() + (s > kQueries ? s : kQueries) * kPanel;
  }
};

namespace HONE_LEVEL {

namespace attention_detail {

constexpr int64_t kPanel = AttentionParams::kPanel, kQueries = AttentionParams::kQueries,
                  kKeys = AttentionParams::kKeys;

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
inline void zero(float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = 0;
}

/// A matrix with unit column stride.
struct Rows {
  const float* data;
  int64_t stride;
};

// c = a b (+ c): a [rows, k] with any strides, b [k, columns]; `edge` holds k rows of one panel.
inline void multiply(const float* a, int64_t a_row, int64_t a_k, Rows b, float* c, int64_t c_row, int64_t rows,
                     int64_t columns, int64_t k, bool accumulate, float* edge) {
  for (int64_t j = 0; j < columns; j += kPanel) {
    PanelArgs p{.a = a,
                .a_row = a_row,
                .a_k = a_k,
                .b = b.data + j,
                .b_k = b.stride,
                .c = c + j,
                .c_row = c_row,
                .rows = rows,
                .columns = least(kPanel, columns - j),
                .k = k,
                .bias = nullptr,
                .accumulate = accumulate};
    if (p.columns < kPanel) {  // a full panel would reach beyond the row
      for (int64_t i = 0; i < k; ++i) {
        for (int64_t f = 0; f < p.columns; ++f) edge[i * kPanel + f] = b.data[i * b.stride + j + f];
        zero(edge + i * kPanel + p.columns, kPanel - p.columns);
      }
      p.b = edge, p.b_k = kPanel;
    }
    panel<float>(p);
  }
}

// x [n, d] as panels of its transpose: panel j holds columns x[16 j ...] as [d, 16], zeros beyond n.
inline void pack_transposed(Rows x, int64_t n, int64_t d, float* to) {
  for (int64_t j = 0; j < n; j += kPanel, to += d * kPanel) {
    const int64_t width = least(kPanel, n - j);
    if (width < kPanel) zero(to, d * kPanel);
    for (int64_t i = 0; i < width; ++i) {
      const float* row = x.data + (j + i) * x.stride;
      for (int64_t f = 0; f < d; ++f) to[f * kPanel + i] = row[f];
    }
  }
}

// c [rows, n] = a x^T for columns [begin, begin + n) of the packed x; begin is a multiple of a panel.
inline void multiply_packed(Rows a, const float* packed, int64_t begin, float* c, int64_t c_row, int64_t rows,
                            int64_t n, int64_t d) {
  for (int64_t j = 0; j < n; j += kPanel) {
    panel<float>({.a = a.data,
                  .a_row = a.stride,
                  .a_k = 1,
                  .b = packed + (begin + j) * d,
                  .b_k = kPanel,
                  .c = c + j,
                  .c_row = c_row,
                  .rows = rows,
                  .columns = least(kPanel, n - j),
                  .k = d});
  }
}

/// One batch and head.
struct Task {
  const AttentionParams& p;
  const bool* mask;  // null: none
  int64_t task;

  int64_t row() const { return p.h * p.d; }  // distance of neighbours in time
  int64_t offset(int64_t length) const { return task / p.h * length * row() + task % p.h * p.d; }  // [b, length, h, d]
  /// Keys of [first, first + n) that a query may see by causality.
  int64_t visible(int64_t query, int64_t first, int64_t n) const {
    const int64_t seen = query + 1 - first;
    return !p.causal || seen > n ? n : seen < 0 ? 0 : seen;
  }
  // Scores of a row become weights (softmax or probability) in the first places that are visible, 0 in the rest.
  template <class F>
  void weigh_row(int64_t query, int64_t first, int64_t n, float* scores, F f) const {
    const int64_t seen = visible(query, first, n);
    const bool* const own =
        mask ? mask + task / p.h * p.mask_batch + task % p.h * p.mask_head + query * p.s + first : nullptr;
    f(AttentionRow{scores, seen, own, p.scale});
    zero(scores + seen, n - seen);
  }
};

struct Forward {
  Task z;
  const float *q, *k, *v;
  float *out, *logsumexp;

  void run(float* scratch) const {
    const AttentionParams& p = z.p;
    const int64_t row = z.row(), kv = z.offset(p.s);
    float* keys = scratch;
    float* scores = keys + p.padded_keys() * p.d;
    float* sums = scores + kQueries * kKeys;
    float* edge = sums + kQueries * p.d;
    pack_transposed({k + kv, row}, p.s, p.d, keys);
    for (int64_t begin = 0; begin < p.t; begin += kQueries) {
      const int64_t rows = least(kQueries, p.t - begin), at = z.offset(p.t) + begin * row;
      float maximum[kQueries], total[kQueries];
      for (int64_t i = 0; i < kQueries; ++i) maximum[i] = -__builtin_inff(), total[i] = 0;
      zero(sums, rows * p.d);
      const int64_t end = p.causal ? least(p.s, begin + rows) : p.s;
      for (int64_t first = 0; first < end; first += kKeys) {
        const int64_t n = least(kKeys, end - first);
        multiply_packed({q + at, row}, keys, first, scores, kKeys, rows, n, p.d);
        for (int64_t i = 0; i < rows; ++i) {
          z.weigh_row(begin + i, first, n, scores + i * kKeys, [&](const AttentionRow& each) {
            const float factor = softmax_row(each, maximum[i], total[i]);
            if (factor != 1) scale_row(sums + i * p.d, p.d, factor);
          });
        }
        multiply(scores, kKeys, 1, {v + kv + first * row, row}, sums, p.d, rows, p.d, n, true, edge);
      }
      for (int64_t i = 0; i < rows; ++i) {
        const float divisor = total[i] == 0 ? 1.0F : total[i];
        for (int64_t f = 0; f < p.d; ++f) out[at + i * row + f] = sums[i * p.d + f] / divisor;
        logsumexp[z.task * p.t + begin + i] = maximum[i] + log(Scalar<float>(total[i])).value;
      }
    }
  }
};

struct Backward {
  Task z;
  const float *q, *k, *v, *out, *logsumexp, *ct;
  float *dq, *dk, *dv;

  void run(float* scratch) const {
    const AttentionParams& p = z.p;
    const int64_t width = p.padded_keys(), row = z.row(), kv = z.offset(p.s);
    float *keys = scratch, *values = keys + width * p.d, *weights = values + width * p.d,
          *ds = weights + kQueries * width, *edge = ds + kQueries * width;
    pack_transposed({k + kv, row}, p.s, p.d, keys);
    pack_transposed({v + kv, row}, p.s, p.d, values);
    for (int64_t i = 0; i < p.s; ++i) zero(dk + kv + i * row, p.d), zero(dv + kv + i * row, p.d);
    for (int64_t begin = 0; begin < p.t; begin += kQueries) {
      const int64_t rows = least(kQueries, p.t - begin), at = z.offset(p.t) + begin * row;
      const int64_t n = p.causal ? least(p.s, begin + rows) : p.s;
      multiply_packed({q + at, row}, keys, 0, weights, width, rows, n, p.d);
      multiply_packed({ct + at, row}, values, 0, ds, width, rows, n, p.d);
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t query = begin + i;
        z.weigh_row(query, 0, n, weights + i * width,
                    [&](const AttentionRow& each) { probability_row(each, logsumexp[z.task * p.t + query]); });
        const float delta = dot_row(ct + at + i * row, out + at + i * row, p.d);
        score_gradient_row(weights + i * width, ds + i * width, n, delta, p.scale);
      }
      multiply(ds, width, 1, {k + kv, row}, dq + at, row, rows, p.d, n, false, edge);
      multiply(weights, 1, width, {ct + at, row}, dv + kv, row, n, p.d, rows, true, edge);
      multiply(ds, 1, width, {q + at, row}, dk + kv, row, n, p.d, rows, true, edge);
    }
  }
};

inline float* scratch_of(const WorkArgs& args) { return static_cast<float*>(static_cast<void*>(args.scratch)); }

}  // namespace attention_detail

/// Items are batches times heads. Memory: q, k, v, the mask if there is one; result, logsumexp.
inline void attention_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const AttentionParams*>(args.params);
  const bool* const mask = p.mask ? work_in<bool>(args, 3) : nullptr;
  const int out = p.mask ? 4 : 3;
  for (int64_t task = begin; task < end; ++task)
    attention_detail::Forward{{p, mask, task},         work_in<float>(args, 0),    work_in<float>(args, 1),
                              work_in<float>(args, 2), work_out<float>(args, out), work_out<float>(args, out + 1)}
        .run(attention_detail::scratch_of(args));
}
/// Items likewise. Memory: q, k, v, result, logsumexp, cotangent, the mask if there is one; gradients of q, k, v.
inline void attention_grad_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const AttentionParams*>(args.params);
  const bool* const mask = p.mask ? work_in<bool>(args, 6) : nullptr;
  const int out = p.mask ? 7 : 6;
  for (int64_t task = begin; task < end; ++task)
    attention_detail::Backward{{p, mask, task},
                               work_in<float>(args, 0),
                               work_in<float>(args, 1),
                               work_in<float>(args, 2),
                               work_in<float>(args, 3),
                               work_in<float>(args, 4),
                               work_in<float>(args, 5),
                               work_out<float>(args, out),
                               work_out<float>(args, out + 1),
                               work_out<float>(args, out + 2)}
        .run(attention_detail::scratch_of(args));
}

}  // namespace HONE_LEVEL
}  // namespace hone::math
