// Fused loops over rows and over flat arrays. They compute what the ops' decompositions compute, in the same order; so
// for softmax, the norms, losses and cells the bits are the same.
#pragma once
#include "hone/math/exp_log.h"
#include "hone/math/nn_access.h"

namespace hone::math::HONE_LEVEL {

inline void softmax_rows(const float* x, float* y, int64_t rows, int64_t n) {
  for (; rows > 0; --rows, x += n, y += n) {
    const F32 largest = row_max(x, n);
    const F32 total = row_sum(n, [&](int64_t i, auto access) {
      const F32 e = exp(access.load(x + i) - largest);
      access.store(e, y + i);
      return e;
    });
    walk_vectors(n, [&](int64_t i, auto access) { access.store(access.load(y + i) / total, y + i); });
  }
}

inline float log_of(float x) { return log(Scalar<float>(x)).value; }

inline void log_softmax_rows(const float* x, float* y, int64_t rows, int64_t n) {
  for (; rows > 0; --rows, x += n, y += n) {
    const F32 largest = row_max(x, n);
    const F32 total = log_of(row_sum(n, [&](int64_t i, auto access) { return exp(access.load(x + i) - largest); }));
    walk_vectors(n, [&](int64_t i, auto access) { access.store(access.load(x + i) - largest - total, y + i); });
  }
}

inline void softmax_grad_rows(const float* y, const float* ct, float* dx, int64_t rows, int64_t n) {
  for (; rows > 0; --rows, y += n, ct += n, dx += n) {
    const F32 total = row_sum(n, [&](int64_t i, auto access) { return access.load(ct + i) * access.load(y + i); });
    walk_vectors(
        n, [&](int64_t i, auto access) { access.store(access.load(y + i) * (access.load(ct + i) - total), dx + i); });
  }
}

inline float reciprocal_root(float x) { return 1 / __builtin_sqrtf(x); }

inline void layer_norm_rows(const float* x, const float* scale, const float* offset, float* y, float* mean, float* rstd,
                            int64_t rows, int64_t n, float epsilon) {
  const auto count = static_cast<float>(n);
  for (; rows > 0; --rows, x += n, y += n) {
    const float average = row_sum(n, [&](int64_t i, auto access) { return access.load(x + i); }) / count;
    const F32 shift = average;
    const float variance = row_sum(n,
                                   [&](int64_t i, auto access) {
                                     const F32 d = access.load(x + i) - shift;
                                     return d * d;
                                   }) /
                           count;
    const float r = reciprocal_root(variance + epsilon);
    const F32 factor = r;
    walk_vectors(n, [&](int64_t i, auto access) {
      access.store((access.load(x + i) - shift) * factor * access.load(scale + i) + access.load(offset + i), y + i);
    });
    *mean++ = average;
    *rstd++ = r;
  }
}

inline void rms_norm_rows(const float* x, const float* scale, float* y, int64_t rows, int64_t n, float epsilon) {
  const auto count = static_cast<float>(n);
  for (; rows > 0; --rows, x += n, y += n) {
    const float square =
        row_sum(n, [&](int64_t i, auto access) { return access.load(x + i) * access.load(x + i); }) / count;
    const F32 factor = reciprocal_root(square + epsilon);
    walk_vectors(
        n, [&](int64_t i, auto access) { access.store(access.load(x + i) * factor * access.load(scale + i), y + i); });
  }
}

inline void layer_norm_grad_rows(const float* x, const float* scale, const float* mean, const float* rstd,
                                 const float* ct, float* dx, float* dscale, float* doffset, int64_t rows, int64_t n) {
  const auto count = static_cast<float>(n);
  for (int64_t i = 0; i < n; ++i) dscale[i] = doffset[i] = -0.0F;
  for (; rows > 0; --rows, x += n, ct += n, dx += n) {
    const F32 shift = *mean++, factor = *rstd++;
    float sums[2];
    row_sums(n, sums, [&](int64_t i, auto access, F32(&values)[2]) {
      const F32 g = access.load(ct + i) * access.load(scale + i);
      values[0] = g;
      values[1] = g * ((access.load(x + i) - shift) * factor);
    });
    const F32 mean_g = sums[0] / count, mean_gx = sums[1] / count;
    walk_vectors(n, [&](int64_t i, auto access) {
      const F32 normal = (access.load(x + i) - shift) * factor, slope = access.load(ct + i),
                g = slope * access.load(scale + i);
      access.store(factor * (g - mean_g - normal * mean_gx), dx + i);
      access.store(access.load(dscale + i) + slope * normal, dscale + i);
      access.store(access.load(doffset + i) + slope, doffset + i);
    });
  }
}

inline void cross_entropy_rows(const float* logits, const int64_t* labels, float* loss, float* total, int64_t rows,
                               int64_t n) {
  for (int64_t r = 0; r < rows; ++r, logits += n) {
    const float largest = row_max(logits, n);
    const F32 shift = largest;
    total[r] =
        log_of(row_sum(n, [&](int64_t i, auto access) { return exp(access.load(logits + i) - shift); })) + largest;
    loss[r] = labels[r] < 0 ? __builtin_nanf("") : total[r] - logits[labels[r]];
  }
}

inline void cross_entropy_grad_rows(const float* logits, const int64_t* labels, const float* total, const float* ct,
                                    float* dx, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r, logits += n, dx += n) {
    const F32 shift = total[r], factor = labels[r] < 0 ? __builtin_nanf("") : ct[r];
    const float chosen = labels[r] < 0 ? 0 : logits[labels[r]];
    walk_vectors(n,
                 [&](int64_t i, auto access) { access.store(exp(access.load(logits + i) - shift) * factor, dx + i); });
    if (labels[r] >= 0) dx[labels[r]] = (exp(Scalar<float>(chosen - total[r])).value - 1) * ct[r];
  }
}

inline uint32_t high_product(uint32_t a, uint32_t b) { return static_cast<uint32_t>((uint64_t{a} * b) >> 32); }

// The words of 16 blocks at a time (base/philox.h). The inner loop in this form, not unrolled and not inlined,
// becomes vectors.
[[gnu::noinline]] inline void philox_words(uint64_t key, uint64_t counter, uint32_t* __restrict words) {
  constexpr int kBlocks = 16;
  uint32_t c[4][kBlocks];
  for (int i = 0; i < kBlocks; ++i) {
    const uint64_t at = counter + static_cast<uint64_t>(i);
    c[0][i] = static_cast<uint32_t>(at), c[1][i] = static_cast<uint32_t>(at >> 32), c[2][i] = c[3][i] = 0;
  }
  auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
#pragma GCC unroll 1
    for (int i = 0; i < kBlocks; ++i) {
      const uint32_t x = c[0][i], z = c[2][i];
      const uint32_t next_x = high_product(z, 0xCD9E8D57U) ^ c[1][i] ^ k0,
                     next_z = high_product(x, 0xD2511F53U) ^ c[3][i] ^ k1;
      c[1][i] = z * 0xCD9E8D57U, c[3][i] = x * 0xD2511F53U;
      c[0][i] = next_x, c[2][i] = next_z;
    }
    k0 += 0x9E3779B9, k1 += 0xBB67AE85;
  }
  for (int i = 0; i < kBlocks; ++i) {
    for (int word = 0; word < 4; ++word) words[4 * i + word] = c[word][i];
  }
}

inline void dropout_array(const float* x, float* y, int64_t begin, int64_t end, uint64_t key, uint64_t counter,
                          uint32_t threshold, float scale) {
  for (int64_t i = begin; i < end; i += 64) {
    uint32_t words[64];
    philox_words(key, counter + static_cast<uint64_t>(i / 4), words);
    walk_vectors(end - i < 64 ? end - i : 64, [&](int64_t k, auto access) {
      const auto kept = Vec<uint32_t>::load(words + k) >= Vec<uint32_t>(threshold);
      access.store(select(kept, access.load(x + i + k) * F32(scale), F32(0.0F)), y + i + k);
    });
  }
}

inline void lstm_row(const float* gates, const float* c, float* h, float* next, int64_t n) {
  walk_vectors(n, [&](int64_t j, auto access) {
    const F32 i = logistic(access.load(gates + j)), f = logistic(access.load(gates + n + j));
    const F32 g = tanh(access.load(gates + 2 * n + j)), o = logistic(access.load(gates + 3 * n + j));
    const F32 state = f * access.load(c + j) + i * g;
    access.store(o * tanh(state), h + j);
    access.store(state, next + j);
  });
}

inline void lstm_grad_row(const float* gates, const float* c, const float* ct_h, const float* ct_c, float* dgates,
                          float* dc, int64_t n) {
  walk_vectors(n, [&](int64_t j, auto access) {
    const F32 i = logistic(access.load(gates + j)), f = logistic(access.load(gates + n + j));
    const F32 g = tanh(access.load(gates + 2 * n + j)), o = logistic(access.load(gates + 3 * n + j));
    const F32 state = access.load(c + j), t = tanh(f * state + i * g), slope = access.load(ct_h + j), one = 1.0F;
    const F32 d = access.load(ct_c + j) + slope * o * (one - t * t);
    access.store(d * g * (i * (one - i)), dgates + j);
    access.store(d * state * (f * (one - f)), dgates + n + j);
    access.store(d * i * (one - g * g), dgates + 2 * n + j);
    access.store(slope * t * (o * (one - o)), dgates + 3 * n + j);
    access.store(d * f, dc + j);
  });
}

inline void gru_row(const float* x, const float* r, const float* h, float* next, int64_t n) {
  walk_vectors(n, [&](int64_t j, auto access) {
    const F32 update = logistic(access.load(x + j) + access.load(r + j)),
              reset = logistic(access.load(x + n + j) + access.load(r + n + j));
    const F32 candidate = tanh(access.load(x + 2 * n + j) + reset * access.load(r + 2 * n + j));
    access.store(update * access.load(h + j) + (F32(1.0F) - update) * candidate, next + j);
  });
}

/// Gradients in memory.
struct Gradients {
  const float* g;
  template <class Access>
  F32 operator()(Access access, int64_t i) const {
    return access.load(g + i);
  }
};
/// Gradients that are a row of an outer product, as `panel` (contraction.h) computes it.
struct OuterGradients {
  F32 x;
  const float* row;
  template <class Access>
  F32 operator()(Access access, int64_t i) const {
    return fma(x, access.load(row + i), F32(0.0F));
  }
};

template <class G>
void sgd_steps(const SgdStep& s, const float* p, G gradients, const float* v, float* next_p, float* next_v, int64_t n) {
  const F32 rate = s.rate, momentum = s.momentum, decay = s.decay;
  walk_vectors(n, [&](int64_t i, auto access) {
    const F32 step = gradients(access, i) * rate, velocity = access.load(v + i) * momentum - step;
    F32 param = access.load(p + i);
    if (s.decay != 0) param = param - param * decay;
    access.store(param + (s.nesterov ? velocity * momentum - step : velocity), next_p + i);
    access.store(velocity, next_v + i);
  });
}

inline void sgd_array(const SgdStep& s, const float* p, const float* g, const float* v, float* next_p, float* next_v,
                      int64_t n) {
  sgd_steps(s, p, Gradients{g}, v, next_p, next_v, n);
}
inline void sgd_outer(const SgdStep& s, const float* p, float x, const float* row, const float* v, float* next_p,
                      float* next_v, int64_t n) {
  sgd_steps(s, p, OuterGradients{x, row}, v, next_p, next_v, n);
}

template <class G>
void adam_steps(const AdamStep& s, const float* p, G gradients, const float* m, const float* v, float* next_p,
                float* next_m, float* next_v, int64_t n) {
  const F32 alpha = s.alpha, rest_1 = s.one_minus_beta_1, rest_2 = s.one_minus_beta_2, epsilon = s.epsilon,
            decay = s.decay;
  walk_vectors(n, [&](int64_t i, auto access) {
    const F32 gradient = gradients(access, i), old_m = access.load(m + i), old_v = access.load(v + i);
    const F32 first = old_m + (gradient - old_m) * rest_1, second = old_v + (gradient * gradient - old_v) * rest_2;
    F32 param = access.load(p + i);
    if (s.decay != 0) param = param - param * decay;
    access.store(param - first * alpha / (sqrt(second) + epsilon), next_p + i);
    access.store(first, next_m + i);
    access.store(second, next_v + i);
  });
}

inline void adam_array(const AdamStep& s, const float* p, const float* g, const float* m, const float* v, float* next_p,
                       float* next_m, float* next_v, int64_t n) {
  adam_steps(s, p, Gradients{g}, m, v, next_p, next_m, next_v, n);
}
inline void adam_outer(const AdamStep& s, const float* p, float x, const float* row, const float* m, const float* v,
                       float* next_p, float* next_m, float* next_v, int64_t n) {
  adam_steps(s, p, OuterGradients{x, row}, m, v, next_p, next_m, next_v, n);
}

constexpr void fill_nn_rows(NnKernels& k) {
  k.softmax = &softmax_rows;
  k.log_softmax = &log_softmax_rows;
  k.softmax_grad = &softmax_grad_rows;
  k.layer_norm = &layer_norm_rows;
  k.rms_norm = &rms_norm_rows;
  k.layer_norm_grad = &layer_norm_grad_rows;
  k.cross_entropy = &cross_entropy_rows;
  k.cross_entropy_grad = &cross_entropy_grad_rows;
  k.dropout = &dropout_array;
  k.lstm_cell = &lstm_row;
  k.lstm_cell_grad = &lstm_grad_row;
  k.gru_cell = &gru_row;
  k.sgd = &sgd_array;
  k.sgd_outer = &sgd_outer;
  k.adam = &adam_array;
  k.adam_outer = &adam_outer;
}

}  // namespace hone::math::HONE_LEVEL
