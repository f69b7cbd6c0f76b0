// Fused loops of networks as works: memory is the operands and results of the call in its order, items as each says.
#pragma once
#include "hone/math/index_works.h"
#include "hone/math/nn_channels.h"
#include "hone/math/nn_rows.h"
#include "hone/math/reduce.h"
#include "hone/math/work.h"

namespace hone::math {

/// Rows of n elements.
struct RowsParams {
  int64_t n;
  float epsilon;
};
struct LabelParams {
  int64_t n;
  IntKind labels;
};
/// Items are rows of the result (`row` elements); `size` elements of the operand that is read.
struct PoolParams {
  PoolShape shape;
  int64_t size, row;
};
struct NormGradParams {
  int64_t rows, n;
};
struct DropoutParams {
  int64_t size;
  uint32_t threshold;
  float scale;
};
/// `columns`: of a gradient that is an outer product.
struct SgdWork {
  SgdParams sgd;
  int64_t columns;
};
struct AdamWork {
  AdamParams adam;
  int64_t columns;
};

namespace HONE_LEVEL {

template <class Params>
const Params& work_params(const WorkArgs& args) {
  return *static_cast<const Params*>(args.params);
}

// --- items are rows ---

template <auto kRows>
void softmax_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const int64_t n = work_params<RowsParams>(args).n;
  kRows(work_in<float>(args, 0) + begin * n, work_out<float>(args, 1) + begin * n, end - begin, n);
}
inline void softmax_grad_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const int64_t n = work_params<RowsParams>(args).n, at = begin * n;
  softmax_grad_rows(work_in<float>(args, 0) + at, work_in<float>(args, 1) + at, work_out<float>(args, 2) + at,
                    end - begin, n);
}
inline void layer_norm_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = work_params<RowsParams>(args);
  layer_norm_rows(work_in<float>(args, 0) + begin * p.n, work_in<float>(args, 1), work_in<float>(args, 2),
                  work_out<float>(args, 3) + begin * p.n, work_out<float>(args, 4) + begin,
                  work_out<float>(args, 5) + begin, end - begin, p.n, p.epsilon);
}
inline void rms_norm_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = work_params<RowsParams>(args);
  rms_norm_rows(work_in<float>(args, 0) + begin * p.n, work_in<float>(args, 1), work_out<float>(args, 2) + begin * p.n,
                end - begin, p.n, p.epsilon);
}

/// f(row, rows, labels) for blocks of rows; labels out of range are -1.
template <class F>
void with_labels(const LabelParams& p, const std::byte* data, int64_t begin, int64_t end, F f) {
  constexpr int64_t kBlock = 64;
  int64_t labels[kBlock];
  for (int64_t row = begin; row < end; row += kBlock) {
    const int64_t rows = end - row < kBlock ? end - row : kBlock;
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t label = read_int(data, row + i, p.labels);
      labels[i] = label >= 0 && label < p.n ? label : -1;
    }
    f(row, rows, labels);
  }
}
inline void cross_entropy_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = work_params<LabelParams>(args);
  with_labels(p, args.memory[1], begin, end, [&](int64_t row, int64_t rows, const int64_t* labels) {
    cross_entropy_rows(work_in<float>(args, 0) + row * p.n, labels, work_out<float>(args, 2) + row,
                       work_out<float>(args, 3) + row, rows, p.n);
  });
}
inline void cross_entropy_grad_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = work_params<LabelParams>(args);
  with_labels(p, args.memory[1], begin, end, [&](int64_t row, int64_t rows, const int64_t* labels) {
    cross_entropy_grad_rows(work_in<float>(args, 0) + row * p.n, labels, work_in<float>(args, 2) + row,
                            work_in<float>(args, 3) + row, work_out<float>(args, 4) + row * p.n, rows, p.n);
  });
}

inline void lstm_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const int64_t n = work_params<RowsParams>(args).n;
  for (int64_t at = begin * n; at < end * n; at += n)
    lstm_row(work_in<float>(args, 0) + 4 * at, work_in<float>(args, 1) + at, work_out<float>(args, 2) + at,
             work_out<float>(args, 3) + at, n);
}
inline void lstm_grad_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const int64_t n = work_params<RowsParams>(args).n;
  for (int64_t at = begin * n; at < end * n; at += n)
    lstm_grad_row(work_in<float>(args, 0) + 4 * at, work_in<float>(args, 1) + at, work_in<float>(args, 2) + at,
                  work_in<float>(args, 3) + at, work_out<float>(args, 4) + 4 * at, work_out<float>(args, 5) + at, n);
}
inline void gru_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const int64_t n = work_params<RowsParams>(args).n;
  for (int64_t at = begin * n; at < end * n; at += n)
    gru_row(work_in<float>(args, 0) + 3 * at, work_in<float>(args, 1) + 3 * at, work_in<float>(args, 2) + at,
            work_out<float>(args, 3) + at, n);
}

/// Items are blocks of kReduceRows of the `rows` rows; their sums of dscale and doffset go behind dx, [blocks][2 n].
inline void layer_norm_grad_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = work_params<NormGradParams>(args);
  for (int64_t block = begin; block < end; ++block) {
    const int64_t row = block * kReduceRows, left = p.rows - row, at = row * p.n;
    float* const sums = work_out<float>(args, 6) + block * 2 * p.n;
    layer_norm_grad_rows(work_in<float>(args, 0) + at, work_in<float>(args, 1), work_in<float>(args, 2) + row,
                         work_in<float>(args, 3) + row, work_in<float>(args, 4) + at, work_out<float>(args, 5) + at,
                         sums, sums + p.n, left < kReduceRows ? left : kReduceRows, p.n);
  }
}
/// Memory is [rows][2 n], which is lost, and the sums' halves; items are columns. Neighbours first.
inline void fold_halves(const WorkArgs& args, int64_t begin, int64_t end) {
  constexpr ReduceKernels kSum = reduce_entry<SumOf, float>();
  const auto& p = work_params<NormGradParams>(args);
  float* const sums = work_out<float>(args, 0);
  for (int64_t step = 1; step < p.rows; step *= 2) {
    for (int64_t i = 0; i + step < p.rows; i += 2 * step)
      kSum.combine(sums + i * 2 * p.n + begin, sums + (i + step) * 2 * p.n + begin, end - begin);
  }
  for (int64_t i = begin; i < end; ++i) work_out<float>(args, i < p.n ? 1 : 2)[i % p.n] = sums[i];
}

// --- pooling ---

template <auto kRows>
void pool_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = work_params<PoolParams>(args);
  const float* const x = work_in<float>(args, 0);
  float* const y = work_out<float>(args, 1);
  kRows(p.shape, x, x + p.size, y, y + end * p.row, begin, end);
}
/// Items are samples.
inline void max_pool_grad_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const PoolShape& s = work_params<PoolParams>(args).shape;
  const int64_t in = s.h * s.w * s.c, out = s.oh * s.ow * s.c;
  for (int64_t i = begin; i < end; ++i) {
    float* const dx = work_out<float>(args, 2) + i * in;
    for (int64_t k = 0; k < in; ++k) dx[k] = 0;
    max_pool_grad_rows(s, work_in<float>(args, 0) + i * in, work_in<float>(args, 1) + i * out, dx, 0, s.oh);
  }
}
/// Items are rows of windows, which do not overlap.
inline void max_pool_grad_apart_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const PoolShape& s = work_params<PoolParams>(args).shape;
  const int64_t in = s.h * s.w * s.c, out = s.oh * s.ow * s.c;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t sample = i / s.oh, row = i % s.oh;
    max_pool_grad_apart_rows(s, work_in<float>(args, 0) + sample * in, work_in<float>(args, 1) + sample * out,
                             work_out<float>(args, 2) + sample * in, row, row + 1);
  }
}

// --- random bits ---

/// Items are blocks of 64 elements.
inline void dropout_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = work_params<DropoutParams>(args);
  const uint64_t* const state = work_in<uint64_t>(args, 1);
  dropout_array(work_in<float>(args, 0), work_out<float>(args, 2), begin * 64, end * 64 < p.size ? end * 64 : p.size,
                state[0], state[1], p.threshold, p.scale);
}
/// Params: int64_t, the words of 32 bits. Items are blocks of 64 of them.
inline void random_bits_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const int64_t count = work_params<int64_t>(args);
  const uint64_t* const state = work_in<uint64_t>(args, 0);
  for (int64_t block = begin; block < end; ++block) {
    uint32_t words[64];
    philox_words(state[0], state[1] + static_cast<uint64_t>(block) * 16, words);
    const int64_t left = count - block * 64, n = left < 64 ? left : 64;
    __builtin_memcpy(work_out<uint32_t>(args, 2) + block * 64, words, static_cast<size_t>(n) * sizeof(uint32_t));
  }
  if (begin > 0) return;
  work_out<uint64_t>(args, 1)[0] = state[0];
  work_out<uint64_t>(args, 1)[1] = state[1] + static_cast<uint64_t>((count + 3) / 4);
}

// --- updates ---

/// Items are elements of parameter, gradient, slots.
inline void sgd_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const SgdStep step = sgd_step(work_params<SgdWork>(args).sgd, *work_in<float>(args, 3));
  sgd_array(step, work_in<float>(args, 0) + begin, work_in<float>(args, 1) + begin, work_in<float>(args, 2) + begin,
            work_out<float>(args, 4) + begin, work_out<float>(args, 5) + begin, end - begin);
}
inline void adam_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const AdamStep step = adam_step(work_params<AdamWork>(args).adam, *work_in<float>(args, 4), *work_in<float>(args, 5));
  adam_array(step, work_in<float>(args, 0) + begin, work_in<float>(args, 1) + begin, work_in<float>(args, 2) + begin,
             work_in<float>(args, 3) + begin, work_out<float>(args, 6) + begin, work_out<float>(args, 7) + begin,
             work_out<float>(args, 8) + begin, end - begin);
}
/// Items are rows of an outer product of the first two operands; parameter and slots follow.
inline void sgd_outer_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = work_params<SgdWork>(args);
  const SgdStep step = sgd_step(p.sgd, *work_in<float>(args, 4));
  for (int64_t i = begin, at = begin * p.columns; i < end; ++i, at += p.columns)
    sgd_outer(step, work_in<float>(args, 2) + at, work_in<float>(args, 0)[i], work_in<float>(args, 1),
              work_in<float>(args, 3) + at, work_out<float>(args, 5) + at, work_out<float>(args, 6) + at, p.columns);
}
inline void adam_outer_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = work_params<AdamWork>(args);
  const AdamStep step = adam_step(p.adam, *work_in<float>(args, 5), *work_in<float>(args, 6));
  for (int64_t i = begin, at = begin * p.columns; i < end; ++i, at += p.columns)
    adam_outer(step, work_in<float>(args, 2) + at, work_in<float>(args, 0)[i], work_in<float>(args, 1),
               work_in<float>(args, 3) + at, work_in<float>(args, 4) + at, work_out<float>(args, 7) + at,
               work_out<float>(args, 8) + at, work_out<float>(args, 9) + at, p.columns);
}

}  // namespace HONE_LEVEL
}  // namespace hone::math
