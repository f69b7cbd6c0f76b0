// Batch normalisation as works: rows of c channels, [rows][c]. Arrays of a number a channel that loops read by whole
// vectors are `width` apart: c rounded up to kChannelPadding.
#pragma once
#include "hone/math/nn_channels.h"
#include "hone/math/reduce.h"
#include "hone/math/work.h"

namespace hone::math {

struct ChannelParams {
  int64_t rows, c;
  float epsilon;
};
inline int64_t channel_width(int64_t c) { return (c + kChannelPadding - 1) / kChannelPadding * kChannelPadding; }

namespace HONE_LEVEL {

namespace channel_detail {

/// Rows of block i.
inline ChannelRows block_rows(const ChannelParams& p, const float* x, int64_t i) {
  const int64_t row = i * kReduceRows, left = p.rows - row;
  return {x + row * p.c, x + p.rows * p.c, left < kReduceRows ? left : kReduceRows, p.c};
}
/// join(into, with) for the blocks' pairs of sums, neighbours first; arguments are blocks.
template <class F>
void fold_blocks(int64_t blocks, F join) {
  for (int64_t step = 1; step < blocks; step *= 2) {
    for (int64_t i = 0; i + step < blocks; i += 2 * step)
      join(i, i + step, i + 2 * step < blocks ? i + 2 * step : blocks);
  }
}

}  // namespace channel_detail

/// Items are blocks of kReduceRows rows. Memory: x, their means and sums of squared distances [blocks][2 width].
inline void channel_stats_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const ChannelParams*>(args.params);
  const int64_t width = channel_width(p.c);
  for (int64_t i = begin; i < end; ++i) {
    float* const to = work_out<float>(args, 1) + i * 2 * width;
    channel_stats(channel_detail::block_rows(p, work_in<float>(args, 0), i), to, to + width);
  }
}
/// Items are channels. Memory: those blocks, which are lost, mean, variance.
inline void moments_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const ChannelParams*>(args.params);
  const int64_t width = channel_width(p.c), blocks = (p.rows + kReduceRows - 1) / kReduceRows;
  float* const stats = work_out<float>(args, 0);
  const auto row_of = [&](int64_t block) { return block * kReduceRows < p.rows ? block * kReduceRows : p.rows; };
  channel_detail::fold_blocks(blocks, [&](int64_t from, int64_t middle, int64_t to) {
    float *const into = stats + from * 2 * width + begin, *const with = stats + middle * 2 * width + begin;
    join_stats(into, into + width, static_cast<double>(row_of(middle) - row_of(from)), with, with + width,
               static_cast<double>(row_of(to) - row_of(middle)), end - begin);
  });
  const auto count = static_cast<float>(p.rows);
  for (int64_t i = begin; i < end; ++i) {
    work_out<float>(args, 1)[i] = stats[i];
    work_out<float>(args, 2)[i] = stats[width + i] / count;
  }
}
/// Items are padded channels. Memory: scale, offset, mean, variance; shift, factor and offset of an affine function.
inline void channel_factors_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const ChannelParams*>(args.params);
  const int64_t width = channel_width(p.c);
  float* const to = work_out<float>(args, 4);
  for (int64_t i = begin; i < end; ++i) {
    const bool inside = i < p.c;
    to[i] = inside ? work_in<float>(args, 2)[i] : 0;
    to[width + i] = inside ? work_in<float>(args, 0)[i] / __builtin_sqrtf(work_in<float>(args, 3)[i] + p.epsilon) : 0;
    to[2 * width + i] = inside ? work_in<float>(args, 1)[i] : 0;
  }
}
/// Items are rows. Memory: x, that function, y.
inline void channel_affine_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const ChannelParams*>(args.params);
  const int64_t width = channel_width(p.c);
  const float *const x = work_in<float>(args, 0), *const f = work_in<float>(args, 1);
  float* const y = work_out<float>(args, 2);
  channel_affine({x + begin * p.c, x + p.rows * p.c, end - begin, p.c}, f, f + width, f + 2 * width, y + begin * p.c,
                 y + end * p.c);
}

/// Gradient. Items are padded channels. Memory: scale, mean, variance; padded mean, 1 / deviation, two means to come,
/// factor.
inline void channel_grad_factors_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const ChannelParams*>(args.params);
  const int64_t width = channel_width(p.c);
  float* const to = work_out<float>(args, 3);
  for (int64_t i = begin; i < end; ++i) {
    const bool inside = i < p.c;
    const float rstd = inside ? 1 / __builtin_sqrtf(work_in<float>(args, 2)[i] + p.epsilon) : 0;
    to[i] = inside ? work_in<float>(args, 1)[i] : 0;
    to[width + i] = rstd;
    to[2 * width + i] = to[3 * width + i] = 0;
    to[4 * width + i] = inside ? work_in<float>(args, 0)[i] * rstd : 0;
  }
}
/// Items are blocks of kReduceRows rows. Memory: x, ct, those factors, sums of dscale and doffset [blocks][2 width].
inline void channel_grad_sums_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const ChannelParams*>(args.params);
  const int64_t width = channel_width(p.c);
  const float *const ct = work_in<float>(args, 1), *const f = work_in<float>(args, 2);
  for (int64_t i = begin; i < end; ++i) {
    float* const to = work_out<float>(args, 3) + i * 2 * width;
    channel_grad_sums(channel_detail::block_rows(p, work_in<float>(args, 0), i), ct + i * kReduceRows * p.c,
                      ct + p.rows * p.c, f, f + width, to, to + width);
  }
}
/// Items are channels. Memory: those sums, which are lost, dscale, doffset, the factors, whose means come now.
inline void channel_grad_fold_work(const WorkArgs& args, int64_t begin, int64_t end) {
  constexpr ReduceKernels kSum = reduce_entry<SumOf, float>();
  const auto& p = *static_cast<const ChannelParams*>(args.params);
  const int64_t width = channel_width(p.c), blocks = (p.rows + kReduceRows - 1) / kReduceRows;
  float *const sums = work_out<float>(args, 0), *const factors = work_out<float>(args, 3);
  channel_detail::fold_blocks(blocks, [&](int64_t from, int64_t middle, int64_t) {
    float *const into = sums + from * 2 * width + begin, *const with = sums + middle * 2 * width + begin;
    kSum.combine(into, with, end - begin);
    kSum.combine(into + width, with + width, end - begin);
  });
  const auto count = static_cast<float>(p.rows);
  for (int64_t i = begin; i < end; ++i) {
    const float dscale = sums[i], doffset = sums[width + i];
    work_out<float>(args, 1)[i] = dscale;
    work_out<float>(args, 2)[i] = doffset;
    factors[2 * width + i] = doffset / count;
    factors[3 * width + i] = dscale / count;
  }
}
/// Items are rows. Memory: x, ct, the factors, dx.
inline void channel_grad_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const ChannelParams*>(args.params);
  const int64_t width = channel_width(p.c), total = p.rows * p.c, at = begin * p.c;
  const float *const x = work_in<float>(args, 0), *const ct = work_in<float>(args, 1),
                     *const f = work_in<float>(args, 2);
  float* const dx = work_out<float>(args, 3);
  channel_grad({x + at, x + total, end - begin, p.c}, ct + at, ct + total, f, f + width, f + 2 * width, f + 3 * width,
               f + 4 * width, dx + at, dx + end * p.c);
}

}  // namespace HONE_LEVEL
}  // namespace hone::math
