// Batch normalisation: one pass for the statistics (blocks of rows, joined as a tree), one to normalise.
#include <algorithm>
#include <cmath>

#include "hone/backend/cpu/fused.h"
#include "hone/backend/cpu/install.h"
#include "hone/math/channel_works.h"
#include "hone/ops/attrs.h"

namespace hone {
namespace {

using math::ChannelRows;
using math::kReduceGroup;
using math::kReduceRows;

const char* refuses(const KernelQuery& query) {
  if (query.inputs[0].size() == 0) return "no elements";
  return refuses_wide(query);
}

int64_t padded(int64_t c) { return math::channel_width(c); }

/// A [c] parameter in padded memory.
void copy_padded(float* to, const float* from, int64_t c) {
  std::copy_n(from, c, to);
  std::fill(to + c, to + padded(c), 0.0F);
}

/// Two sums a channel over blocks of rows, folded as a tree: first(begin, rows, a, b) computes a block's, join(a, b,
/// rows, a2, b2, rows2) adds those of the rows behind. The result lies at the front of the scratch memory.
class ChannelTree {
 public:
  ChannelTree(int64_t rows, int64_t c)
      : rows_(rows),
        width_(padded(c)),
        blocks_((rows + kReduceRows - 1) / kReduceRows),
        size_(subtree(blocks_, kReduceGroup)),
        groups_((blocks_ + size_ - 1) / size_),
        slots_(stack_levels(size_)),
        sums_(groups_ * slots_ * 2 * width_) {}

  template <class First, class Join>
  void run(First first, Join join) {
    const int64_t grain = std::max<int64_t>(1, 16384 / (kReduceRows * size_ * width_));
    parallel_for(
        groups_, grain,
        [&](int64_t begin, int64_t end) {
          for (int64_t group = begin; group < end; ++group) one_group(group, first, join);
        },
        1);
    for (int64_t step = 1; step < groups_; step *= 2) {
      for (int64_t i = 0; i + step < groups_; i += 2 * step) {
        fold(slot(i, 0), slot(i + step, 0), i * size_, (i + step) * size_, (i + 2 * step) * size_, join);
      }
    }
  }
  float* a() { return slot(0, 0); }
  float* b() { return slot(0, 0) + width_; }

 private:
  float* slot(int64_t group, int64_t level) { return sums_.data() + (group * slots_ + level) * 2 * width_; }
  int64_t row_of(int64_t block) const { return std::min(rows_, block * kReduceRows); }

  template <class Join>
  void fold(float* into, float* with, int64_t from, int64_t middle, int64_t to, Join& join) {
    join(into, into + width_, row_of(middle) - row_of(from), with, with + width_, row_of(to) - row_of(middle));
  }

  template <class First, class Join>
  void one_group(int64_t group, First& first, Join& join) {
    int64_t starts[8];  // first block of each level
    int64_t depth = 0, done = 0;
    const int64_t end = std::min(blocks_, (group + 1) * size_);
    for (int64_t block = group * size_; block < end; ++block) {
      float* to = slot(group, depth);
      first(row_of(block), row_of(block + 1) - row_of(block), to, to + width_);
      starts[depth++] = block;
      for (int64_t n = ++done; n % 2 == 0; n /= 2, --depth) {
        fold(slot(group, depth - 2), slot(group, depth - 1), starts[depth - 2], starts[depth - 1], block + 1, join);
      }
    }
    for (; depth > 1; --depth)
      fold(slot(group, depth - 2), slot(group, depth - 1), starts[depth - 2], starts[depth - 1], end, join);
  }

  int64_t rows_, width_, blocks_, size_, groups_, slots_;
  Scratch<float> sums_;
};

struct Extents {
  int64_t rows, c, total;
  explicit Extents(const Shape& x) : c(x.dim(-1).number()), total(x.count()) { rows = total / c; }
};

/// y = (x - shift) factor + offset, parameters padded.
void normalise(const Extents& e, const float* x, const float* shift, const float* factor, const float* offset,
               float* y) {
  parallel_for(
      e.rows, row_grain(e.c),
      [&](int64_t begin, int64_t end) {
        const ChannelRows rows{x + begin * e.c, x + e.total, end - begin, e.c};
        kernels().nn.channel_affine(rows, shift, factor, offset, y + begin * e.c, y + end * e.c);
      },
      1);
}

/// Mean and sum of squared differences from it.
void run_stats(ChannelTree& stats, const Extents& e, const float* x) {
  stats.run(
      [&](int64_t row, int64_t rows, float* mean, float* m2) {
        kernels().nn.channel_stats({x + row * e.c, x + e.total, rows, e.c}, mean, m2);
      },
      [&](float* mean, float* m2, int64_t rows, const float* other_mean, const float* other_m2, int64_t other_rows) {
        kernels().nn.join_stats(mean, m2, static_cast<double>(rows), other_mean, other_m2,
                                static_cast<double>(other_rows), e.c);
      });
}

void run_moments(const KernelCall& call) {
  const Extents e(call.in_shape(0));
  ChannelTree stats(e.rows, e.c);
  run_stats(stats, e, call.in<float>(0));
  const auto count = static_cast<float>(e.rows);
  for (int64_t i = 0; i < e.c; ++i) {
    call.out<float>(0)[i] = stats.a()[i];
    call.out<float>(1)[i] = stats.b()[i] / count;
  }
}

void run_training(const KernelCall& call) {
  const Extents e(call.in_shape(0));
  const float *x = call.in<float>(0), *scale = call.in<float>(1);
  ChannelTree stats(e.rows, e.c);
  run_stats(stats, e, x);
  const int64_t width = padded(e.c);
  const Scratch<float> parameters(2 * width);
  float *factor = parameters.data(), *offset = factor + width, *mean = stats.a();
  copy_padded(offset, call.in<float>(2), e.c);
  std::fill(factor, factor + width, 0.0F);
  std::fill(mean + e.c, mean + width, 0.0F);
  const auto count = static_cast<float>(e.rows), epsilon = static_cast<float>(call.attrs.as<NormAttrs>().epsilon);
  for (int64_t i = 0; i < e.c; ++i) {
    const float variance = stats.b()[i] / count;
    factor[i] = scale[i] / std::sqrt(variance + epsilon);
    call.out<float>(1)[i] = mean[i];
    call.out<float>(2)[i] = variance;
  }
  normalise(e, x, mean, factor, offset, call.out<float>(0));
}

void run_inference(const KernelCall& call) {
  const Extents e(call.in_shape(0));
  const int64_t width = padded(e.c);
  const Scratch<float> parameters(3 * width);
  float *factor = parameters.data(), *offset = factor + width, *mean = offset + width;
  copy_padded(offset, call.in<float>(2), e.c);
  copy_padded(mean, call.in<float>(3), e.c);
  std::fill(factor, factor + width, 0.0F);
  const auto epsilon = static_cast<float>(call.attrs.as<NormAttrs>().epsilon);
  for (int64_t i = 0; i < e.c; ++i) factor[i] = call.in<float>(1)[i] / std::sqrt(call.in<float>(4)[i] + epsilon);
  normalise(e, call.in<float>(0), mean, factor, offset, call.out<float>());
}

void run_grad(const KernelCall& call) {
  const Extents e(call.in_shape(0));
  const int64_t width = padded(e.c);
  const float *x = call.in<float>(0), *scale = call.in<float>(1), *variance = call.in<float>(3),
              *ct = call.in<float>(4);
  const Scratch<float> parameters(5 * width);
  float *mean = parameters.data(), *rstd = mean + width, *a = rstd + width, *b = a + width, *factor = b + width;
  std::fill(mean, mean + 5 * width, 0.0F);
  std::copy_n(call.in<float>(2), e.c, mean);
  const auto epsilon = static_cast<float>(call.attrs.as<NormAttrs>().epsilon), count = static_cast<float>(e.rows);
  for (int64_t i = 0; i < e.c; ++i) {
    rstd[i] = 1 / std::sqrt(variance[i] + epsilon);
    factor[i] = scale[i] * rstd[i];
  }
  ChannelTree sums(e.rows, e.c);
  const auto combine = kernels().reduce[math::kReduceSum][static_cast<int>(f32)].combine;
  sums.run(
      [&](int64_t row, int64_t rows, float* dscale, float* doffset) {
        kernels().nn.channel_grad_sums({x + row * e.c, x + e.total, rows, e.c}, ct + row * e.c, ct + e.total, mean,
                                       rstd, dscale, doffset);
      },
      [&](float* dscale, float* doffset, int64_t, const float* other_dscale, const float* other_doffset, int64_t) {
        combine(dscale, other_dscale, e.c);
        combine(doffset, other_doffset, e.c);
      });
  for (int64_t i = 0; i < e.c; ++i) {
    call.out<float>(1)[i] = sums.a()[i];
    call.out<float>(2)[i] = sums.b()[i];
    a[i] = sums.b()[i] / count;
    b[i] = sums.a()[i] / count;
  }
  float* dx = call.out<float>(0);
  parallel_for(
      e.rows, row_grain(e.c),
      [&](int64_t begin, int64_t end) {
        const ChannelRows rows{x + begin * e.c, x + e.total, end - begin, e.c};
        kernels().nn.channel_grad(rows, ct + begin * e.c, ct + e.total, mean, rstd, a, b, factor, dx + begin * e.c,
                                  dx + end * e.c);
      },
      1);
}

// --- works of the above ---

using math::ChannelParams;
using math::WorkId;

constexpr WorkMemory in(int32_t index) { return {WorkMemory::Input, index}; }
constexpr WorkMemory out(int32_t index) { return {WorkMemory::Output, index}; }

// Puts loops over the channels of a call together.
class ChannelWorks {
 public:
  explicit ChannelWorks(const KernelQuery& query) : e_(query.inputs[0].shape()) {
    if (query.op.attrs == &attr_type<NormAttrs>()) epsilon_ = static_cast<float>(query.attrs.as<NormAttrs>().epsilon);
  }

  /// `numbers` a padded channel.
  WorkMemory temporary(int64_t numbers) {
    works_.temporaries.push_back(numbers * padded(e_.c) * static_cast<int64_t>(sizeof(float)));
    return {WorkMemory::Temporary, static_cast<int32_t>(works_.temporaries.size()) - 1};
  }
  int64_t blocks() const { return (e_.rows + kReduceRows - 1) / kReduceRows; }

  void over_rows(WorkId id, std::initializer_list<WorkMemory> memory) { add(id, memory, e_.rows, row_grain(e_.c)); }
  void over_blocks(WorkId id, std::initializer_list<WorkMemory> memory) {
    add(id, memory, blocks(), std::max<int64_t>(1, row_grain(e_.c) / kReduceRows));
  }
  void over_channels(WorkId id, std::initializer_list<WorkMemory> memory) {
    add(id, memory, e_.c, row_grain(blocks()));
  }
  void over_padded(WorkId id, std::initializer_list<WorkMemory> memory) { add(id, memory, padded(e_.c), 16384); }

  /// Mean and variance of x.
  void moments(WorkMemory mean, WorkMemory variance) {
    const WorkMemory stats = temporary(2 * blocks());
    over_blocks(WorkId::ChannelStats, {in(0), stats});
    over_channels(WorkId::Moments, {stats, mean, variance});
  }
  /// y of these moments, scale and offset.
  void normalise(WorkMemory mean, WorkMemory variance) {
    const WorkMemory function = temporary(3);
    over_padded(WorkId::ChannelFactors, {in(1), in(2), mean, variance, function});
    over_rows(WorkId::ChannelAffine, {in(0), function, out(0)});
  }
  Works take() { return std::move(works_); }

 private:
  void add(WorkId id, std::initializer_list<WorkMemory> memory, int64_t count, int64_t grain) {
    Work work = Work::of(id, ChannelParams{e_.rows, e_.c, epsilon_});
    work.memory = memory;
    work.count = count, work.grain = grain;
    works_.works.push_back(std::move(work));
  }

  Extents e_;
  float epsilon_ = 0;
  Works works_;
};

Works moments_works(const KernelQuery& query) {
  ChannelWorks works(query);
  works.moments(out(0), out(1));
  return works.take();
}
Works training_works(const KernelQuery& query) {
  ChannelWorks works(query);
  works.moments(out(1), out(2));
  works.normalise(out(1), out(2));
  return works.take();
}
Works inference_works(const KernelQuery& query) {
  ChannelWorks works(query);
  works.normalise(in(3), in(4));
  return works.take();
}
Works grad_works(const KernelQuery& query) {
  ChannelWorks works(query);
  const WorkMemory factors = works.temporary(5), sums = works.temporary(2 * works.blocks());
  works.over_padded(WorkId::ChannelGradFactors, {in(1), in(2), in(3), factors});
  works.over_blocks(WorkId::ChannelGradSums, {in(0), in(4), factors, sums});
  works.over_channels(WorkId::ChannelGradFold, {sums, out(1), out(2), factors});
  works.over_rows(WorkId::ChannelGrad, {in(0), in(4), factors, out(0)});
  return works.take();
}

}  // namespace

void install_cpu_batch_norm() {
  add_kernels(ops::batch_moments, {{.name = "cpu.batch_moments",
                                    .refuses = refuses,
                                    .run = run_fused<run_moments>,
                                    .works = fused_works<moments_works>}});
  add_kernels(ops::batch_norm_training, {{.name = "cpu.batch_norm",
                                          .refuses = refuses,
                                          .run = run_fused<run_training>,
                                          .works = fused_works<training_works>}});
  add_kernels(ops::batch_norm_inference, {{.name = "cpu.batch_norm",
                                           .refuses = refuses,
                                           .run = run_fused<run_inference>,
                                           .works = fused_works<inference_works>}});
  add_kernels(ops::batch_norm_grad, {{.name = "cpu.batch_norm_grad",
                                      .refuses = refuses,
                                      .run = run_fused<run_grad>,
                                      .works = fused_works<grad_works>}});
}

}  // namespace hone
