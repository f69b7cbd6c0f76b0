// Fused kernels over rows: softmax, norms, cross entropy, dropout, recurrent cells.
#include <algorithm>

#include "hone/backend/cpu/fused.h"
#include "hone/backend/cpu/install.h"
#include "hone/math/nn_works.h"
#include "hone/ops/attrs.h"

namespace hone {
namespace {

using math::kReduceGroup;
using math::kReduceRows;

struct Rows {
  int64_t rows, n;
};
/// x as rows over the axes from `axis` on.
Rows rows_of(const Shape& shape, int64_t axis) {
  Rows r{1, 1};
  for (int i = 0; i < shape.rank(); ++i) (i < axis ? r.rows : r.n) *= shape[i].number();
  return r;
}
template <class F>
void for_rows(const Rows& r, F f) {
  if (r.n == 0) return;
  parallel_for(r.rows, row_grain(r.n), f, 1);
}

const char* refuses_softmax(const KernelQuery& query) {
  if (query.attrs.as<AxisAttrs>().axis != query.inputs[0].rank() - 1) return "not along the last axis";
  return refuses_wide(query);
}

template <void (*math::NnKernels::*kRows)(const float*, float*, int64_t, int64_t)>
void run_softmax(const KernelCall& call) {
  const Rows r = rows_of(call.in_shape(0), call.attrs.as<AxisAttrs>().axis);
  const float* x = call.in<float>(0);
  float* y = call.out<float>();
  for_rows(r, [&](int64_t begin, int64_t end) {
    (kernels().nn.*kRows)(x + begin * r.n, y + begin * r.n, end - begin, r.n);
  });
}
void run_softmax_grad(const KernelCall& call) {
  const Rows r = rows_of(call.in_shape(0), call.attrs.as<AxisAttrs>().axis);
  const float *y = call.in<float>(0), *ct = call.in<float>(1);
  float* dx = call.out<float>();
  for_rows(r, [&](int64_t begin, int64_t end) {
    kernels().nn.softmax_grad(y + begin * r.n, ct + begin * r.n, dx + begin * r.n, end - begin, r.n);
  });
}

const char* refuses_norm(const KernelQuery& query) {
  if (query.inputs[0].size() == 0) return "no elements";
  return refuses_wide(query);
}

void run_layer_norm(const KernelCall& call) {
  const auto& a = call.attrs.as<NormAttrs>();
  const Rows r = rows_of(call.in_shape(0), a.axis);
  const float *x = call.in<float>(0), *scale = call.in<float>(1), *offset = call.in<float>(2);
  float *y = call.out<float>(0), *mean = call.out<float>(1), *rstd = call.out<float>(2);
  for_rows(r, [&](int64_t begin, int64_t end) {
    kernels().nn.layer_norm(x + begin * r.n, scale, offset, y + begin * r.n, mean + begin, rstd + begin, end - begin,
                            r.n, static_cast<float>(a.epsilon));
  });
}
void run_rms_norm(const KernelCall& call) {
  const auto& a = call.attrs.as<NormAttrs>();
  const Rows r = rows_of(call.in_shape(0), a.axis);
  const float *x = call.in<float>(0), *scale = call.in<float>(1);
  float* y = call.out<float>();
  for_rows(r, [&](int64_t begin, int64_t end) {
    kernels().nn.rms_norm(x + begin * r.n, scale, y + begin * r.n, end - begin, r.n, static_cast<float>(a.epsilon));
  });
}

// Each block of rows leaves its sums of dscale and doffset, [blocks][2 n], which then fold as a tree.
void run_layer_norm_grad(const KernelCall& call) {
  const Rows r = rows_of(call.in_shape(0), call.attrs.as<NormAttrs>().axis);
  const float *x = call.in<float>(0), *scale = call.in<float>(1), *mean = call.in<float>(2), *rstd = call.in<float>(3),
              *ct = call.in<float>(4);
  float* dx = call.out<float>(0);
  const int64_t blocks = (r.rows + kReduceRows - 1) / kReduceRows, size = subtree(blocks, kReduceGroup);
  const int64_t groups = (blocks + size - 1) / size, slots = stack_levels(size), width = 2 * r.n;
  const Scratch<float> sums(groups * slots * width);
  const auto combine = kernels().reduce[math::kReduceSum][static_cast<int>(f32)].combine;
  parallel_for(
      groups, std::max<int64_t>(1, row_grain(r.n) / (kReduceRows * size)),
      [&](int64_t begin, int64_t end) {
        for (int64_t group = begin; group < end; ++group) {
          float* stack = sums.data() + group * slots * width;
          int64_t depth = 0, done = 0;
          for (int64_t block = group * size; block < std::min(blocks, (group + 1) * size); ++block) {
            const int64_t row = block * kReduceRows, rows = std::min(kReduceRows, r.rows - row);
            float* to = stack + depth++ * width;
            kernels().nn.layer_norm_grad(x + row * r.n, scale, mean + row, rstd + row, ct + row * r.n, dx + row * r.n,
                                         to, to + r.n, rows, r.n);
            for (int64_t n = ++done; n % 2 == 0; n /= 2, --depth)
              combine(stack + (depth - 2) * width, stack + (depth - 1) * width, width);
          }
          for (; depth > 1; --depth) combine(stack + (depth - 2) * width, stack + (depth - 1) * width, width);
        }
      },
      1);
  for (int64_t step = 1; step < groups; step *= 2) {
    for (int64_t i = 0; i + step < groups; i += 2 * step)
      combine(sums.data() + i * slots * width, sums.data() + (i + step) * slots * width, width);
  }
  std::copy_n(sums.data(), r.n, call.out<float>(1));
  std::copy_n(sums.data() + r.n, r.n, call.out<float>(2));
}

// --- cross entropy ---

/// Labels as i64, -1 for those out of range.
void read_labels(const Tensor& labels, int64_t classes, int64_t* to) {
  visit_dtype(labels.dtype(), [&](auto kind) {
    using T = decltype(kind);
    if constexpr (std::is_integral_v<T>) {
      const T* from = reinterpret_cast<const T*>(labels.mutable_bytes());
      for (int64_t i = 0; i < labels.size(); ++i) {
        const bool inside = std::is_unsigned_v<T>
                                ? static_cast<uint64_t>(from[i]) < static_cast<uint64_t>(classes)
                                : static_cast<int64_t>(from[i]) >= 0 && static_cast<int64_t>(from[i]) < classes;
        to[i] = inside ? static_cast<int64_t>(from[i]) : -1;
      }
    }
  });
}

void run_cross_entropy(const KernelCall& call) {
  const Rows r = rows_of(call.in_shape(0), 1);
  const Scratch<int64_t> labels(r.rows);
  read_labels(call.inputs[1], r.n, labels.data());
  const float* x = call.in<float>(0);
  float *loss = call.out<float>(0), *total = call.out<float>(1);
  for_rows(r, [&](int64_t begin, int64_t end) {
    kernels().nn.cross_entropy(x + begin * r.n, labels.data() + begin, loss + begin, total + begin, end - begin, r.n);
  });
}
void run_cross_entropy_grad(const KernelCall& call) {
  const Rows r = rows_of(call.in_shape(0), 1);
  const Scratch<int64_t> labels(r.rows);
  read_labels(call.inputs[1], r.n, labels.data());
  const float *x = call.in<float>(0), *total = call.in<float>(2), *ct = call.in<float>(3);
  float* dx = call.out<float>();
  for_rows(r, [&](int64_t begin, int64_t end) {
    kernels().nn.cross_entropy_grad(x + begin * r.n, labels.data() + begin, total + begin, ct + begin, dx + begin * r.n,
                                    end - begin, r.n);
  });
}

// --- dropout ---

void run_dropout(const KernelCall& call) {
  const double rate = call.attrs.as<DropoutAttrs>().rate;
  const uint64_t *state = call.in<uint64_t>(1), key = state[0], counter = state[1];
  const float* x = call.in<float>(0);
  float* y = call.out<float>();
  const auto threshold = static_cast<uint32_t>(rate * 0x1p32);
  const auto scale = static_cast<float>(1 / (1 - rate));
  parallel_for(call.outputs[0].size(), 4096, [&](int64_t begin, int64_t end) {
    kernels().nn.dropout(x, y, begin, end, key, counter, threshold, scale);
  });
}

// --- cells ---

constexpr int64_t kCellGrain = 1024;  // units of work: some 50 operations each

void run_lstm(const KernelCall& call) {
  const int64_t batch = call.in_shape(1)[0].number(), n = call.in_shape(1)[1].number();
  const float *gates = call.in<float>(0), *c = call.in<float>(1);
  float *h = call.out<float>(0), *next = call.out<float>(1);
  parallel_for(
      batch, std::max<int64_t>(1, kCellGrain / std::max<int64_t>(n, 1)),
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          kernels().nn.lstm_cell(gates + 4 * i * n, c + i * n, h + i * n, next + i * n, n);
      },
      1);
}
void run_lstm_grad(const KernelCall& call) {
  const int64_t batch = call.in_shape(1)[0].number(), n = call.in_shape(1)[1].number();
  const float *gates = call.in<float>(0), *c = call.in<float>(1), *ct_h = call.in<float>(2), *ct_c = call.in<float>(3);
  float *dgates = call.out<float>(0), *dc = call.out<float>(1);
  parallel_for(
      batch, std::max<int64_t>(1, kCellGrain / std::max<int64_t>(n, 1)),
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          kernels().nn.lstm_cell_grad(gates + 4 * i * n, c + i * n, ct_h + i * n, ct_c + i * n, dgates + 4 * i * n,
                                      dc + i * n, n);
        }
      },
      1);
}
void run_gru(const KernelCall& call) {
  const int64_t batch = call.in_shape(2)[0].number(), n = call.in_shape(2)[1].number();
  const float *x = call.in<float>(0), *r = call.in<float>(1), *h = call.in<float>(2);
  float* next = call.out<float>();
  parallel_for(
      batch, std::max<int64_t>(1, kCellGrain / std::max<int64_t>(n, 1)),
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          kernels().nn.gru_cell(x + 3 * i * n, r + 3 * i * n, h + i * n, next + i * n, n);
      },
      1);
}

// --- works of the above ---

int64_t items(const Rows& r) { return r.n == 0 ? 0 : r.rows; }

template <math::WorkId kId>
Works softmax_works(const KernelQuery& query) {
  const Rows r = rows_of(query.inputs[0].shape(), query.attrs.as<AxisAttrs>().axis);
  return one_work(query, kId, math::RowsParams{r.n, 0}, items(r), row_grain(r.n));
}
template <math::WorkId kId>
Works norm_works(const KernelQuery& query) {
  const auto& a = query.attrs.as<NormAttrs>();
  const Rows r = rows_of(query.inputs[0].shape(), a.axis);
  return one_work(query, kId, math::RowsParams{r.n, static_cast<float>(a.epsilon)}, items(r), row_grain(r.n));
}
Works layer_norm_grad_works(const KernelQuery& query) {
  const Rows r = rows_of(query.inputs[0].shape(), query.attrs.as<NormAttrs>().axis);
  const int64_t blocks = (r.rows + kReduceRows - 1) / kReduceRows;
  const WorkMemory sums{WorkMemory::Temporary, 0};
  Works works = one_work(query, math::WorkId::LayerNormGrad, math::NormGradParams{r.rows, r.n}, blocks,
                         std::max<int64_t>(1, row_grain(r.n) / kReduceRows));
  works.temporaries.push_back(blocks * 2 * r.n * static_cast<int64_t>(sizeof(float)));
  SmallVector<WorkMemory, 4>& memory = works.works[0].memory;
  memory[memory.size() - 2] = sums;  // instead of dscale
  memory.resize(memory.size() - 1);
  Work fold = Work::of(math::WorkId::FoldHalves, math::NormGradParams{blocks, r.n});
  fold.memory = {sums, {WorkMemory::Output, 1}, {WorkMemory::Output, 2}};
  fold.count = 2 * r.n;
  fold.grain = row_grain(blocks);
  works.works.push_back(std::move(fold));
  return works;
}
template <math::WorkId kId>
Works cross_entropy_works(const KernelQuery& query) {
  const Rows r = rows_of(query.inputs[0].shape(), 1);
  return one_work(query, kId, math::LabelParams{r.n, int_kind(query.inputs[1].dtype())}, items(r), row_grain(r.n));
}
Works dropout_works(const KernelQuery& query) {
  const double rate = query.attrs.as<DropoutAttrs>().rate;
  const int64_t size = query.outputs[0].shape.count();
  const math::DropoutParams params{size, static_cast<uint32_t>(rate * 0x1p32), static_cast<float>(1 / (1 - rate))};
  return one_work(query, math::WorkId::Dropout, params, (size + 63) / 64, 64);
}
template <math::WorkId kId, size_t kState>
Works cell_works(const KernelQuery& query) {
  const Shape& state = query.inputs[kState].shape();
  const int64_t n = state[1].number();
  return one_work(query, kId, math::RowsParams{n, 0}, state[0].number(),
                  std::max<int64_t>(1, kCellGrain / std::max<int64_t>(n, 1)));
}

}  // namespace

void install_cpu_rows() {
  add_kernels(ops::softmax, {{.name = "cpu.softmax",
                              .refuses = refuses_softmax,
                              .run = run_fused<run_softmax<&math::NnKernels::softmax>>,
                              .works = fused_works<softmax_works<math::WorkId::Softmax>>,
                              .in_place = true}});
  add_kernels(ops::log_softmax, {{.name = "cpu.log_softmax",
                                  .refuses = refuses_softmax,
                                  .run = run_fused<run_softmax<&math::NnKernels::log_softmax>>,
                                  .works = fused_works<softmax_works<math::WorkId::LogSoftmax>>,
                                  .in_place = true}});
  add_kernels(ops::softmax_grad, {{.name = "cpu.softmax_grad",
                                   .refuses = refuses_softmax,
                                   .run = run_fused<run_softmax_grad>,
                                   .works = fused_works<softmax_works<math::WorkId::SoftmaxGrad>>,
                                   .in_place = true}});
  add_kernels(ops::layer_norm, {{.name = "cpu.layer_norm",
                                 .refuses = refuses_norm,
                                 .run = run_fused<run_layer_norm>,
                                 .works = fused_works<norm_works<math::WorkId::LayerNorm>>}});
  add_kernels(ops::layer_norm_grad, {{.name = "cpu.layer_norm_grad",
                                      .refuses = refuses_norm,
                                      .run = run_fused<run_layer_norm_grad>,
                                      .works = fused_works<layer_norm_grad_works>}});
  add_kernels(ops::rms_norm, {{.name = "cpu.rms_norm",
                               .refuses = refuses_norm,
                               .run = run_fused<run_rms_norm>,
                               .works = fused_works<norm_works<math::WorkId::RmsNorm>>}});
  add_kernels(ops::cross_entropy, {{.name = "cpu.cross_entropy",
                                    .refuses = refuses_norm,
                                    .run = run_fused<run_cross_entropy>,
                                    .works = fused_works<cross_entropy_works<math::WorkId::CrossEntropy>>}});
  add_kernels(ops::cross_entropy_grad, {{.name = "cpu.cross_entropy_grad",
                                         .refuses = refuses_norm,
                                         .run = run_fused<run_cross_entropy_grad>,
                                         .works = fused_works<cross_entropy_works<math::WorkId::CrossEntropyGrad>>,
                                         .in_place = true}});
  add_kernels(ops::dropout, {{.name = "cpu.dropout",
                              .refuses = refuses_wide,
                              .run = run_fused<run_dropout>,
                              .works = fused_works<dropout_works>,
                              .in_place = true}});
  add_kernels(ops::lstm_cell, {{.name = "cpu.lstm_cell",
                                .refuses = refuses_wide,
                                .run = run_fused<run_lstm>,
                                .works = fused_works<cell_works<math::WorkId::LstmCell, 1>>,
                                .in_place = true}});
  add_kernels(ops::lstm_cell_grad, {{.name = "cpu.lstm_cell_grad",
                                     .refuses = refuses_wide,
                                     .run = run_fused<run_lstm_grad>,
                                     .works = fused_works<cell_works<math::WorkId::LstmCellGrad, 1>>,
                                     .in_place = true}});
  add_kernels(ops::gru_cell, {{.name = "cpu.gru_cell",
                               .refuses = refuses_wide,
                               .run = run_fused<run_gru>,
                               .works = fused_works<cell_works<math::WorkId::GruCell, 2>>,
                               .in_place = true}});
}

}  // namespace hone
