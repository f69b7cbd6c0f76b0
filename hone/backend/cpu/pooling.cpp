// Pooling over one or two spatial axes, vectorised over channels.
#include <algorithm>

#include "hone/backend/cpu/fused.h"
#include "hone/backend/cpu/install.h"
#include "hone/math/nn_works.h"
#include "hone/ops/attrs.h"

namespace hone {
namespace {

using math::PoolShape;

const char* refuses(const KernelQuery& query) {
  const DType dtype = query.inputs[0].dtype();
  if (!is_floating(dtype)) return "integers run as their decomposition";
  if (query.inputs[0].rank() > 4) return "three spatial axes run as their decomposition";
  return refuses_wide(query);
}

/// A single spatial axis is a width.
PoolShape pool_shape(const PoolAttrs& a, const Shape& x, const Shape& y) {
  const bool flat = x.rank() == 3;
  const size_t last = a.window.size() - 1;
  PoolShape s{};
  s.h = flat ? 1 : x[1].number(), s.w = x[last + 1].number(), s.c = x.dim(-1).number();
  s.oh = flat ? 1 : y[1].number(), s.ow = y[last + 1].number();
  s.kh = flat ? 1 : a.window[0], s.kw = a.window[last], s.sh = flat ? 1 : a.strides[0], s.sw = a.strides[last];
  s.top = flat ? 0 : a.low[0], s.left = a.low[last], s.count_padding = a.count_padding;
  return s;
}

int64_t grain(int64_t row_elements) { return std::max<int64_t>(1, 8192 / std::max<int64_t>(row_elements, 1)); }

template <auto kRows>
void run_pool(const KernelCall& call) {
  const PoolShape s = pool_shape(call.attrs.as<PoolAttrs>(), call.in_shape(0), call.out_shape());
  const float *x = call.in<float>(0), *x_end = x + call.inputs[0].size();
  float* y = call.out<float>();
  const int64_t row = s.ow * s.c;
  if (row == 0) return;
  parallel_for(
      call.out_shape()[0].number() * s.oh, grain(row * s.kh * s.kw),
      [&](int64_t begin, int64_t end) { (kernels().nn.*kRows)(s, x, x_end, y, y + end * row, begin, end); }, 1);
}

template <math::WorkId kId>
Works pool_works(const KernelQuery& query) {
  const PoolShape s = pool_shape(query.attrs.as<PoolAttrs>(), query.inputs[0].shape(), query.outputs[0].shape);
  const int64_t row = s.ow * s.c;
  const math::PoolParams params{s, query.inputs[0].size(), row};
  return one_work(query, kId, params, row == 0 ? 0 : query.outputs[0].shape[0].number() * s.oh,
                  grain(row * s.kh * s.kw));
}

const char* refuses_overlap(const KernelQuery& query) {
  if (const char* why = refuses(query)) return why;
  const PoolAttrs& a = query.attrs.as<PoolAttrs>();
  for (size_t i = 0; i < a.window.size(); ++i) {
    if (a.window[i] > a.strides[i]) return "windows overlap";
  }
  return nullptr;
}

template <bool kApart>
void run_max_pool_grad(const KernelCall& call) {
  const PoolShape s = pool_shape(call.attrs.as<PoolAttrs>(), call.in_shape(0), call.in_shape(1));
  const float *x = call.in<float>(0), *ct = call.in<float>(1);
  float* dx = call.out<float>();
  const int64_t samples = call.in_shape(0)[0].number(), in = s.h * s.w * s.c, out = s.oh * s.ow * s.c;
  if (in == 0) return;
  if (out == 0) return static_cast<void>(std::fill_n(dx, samples * in, 0.0F));
  // Rows of windows that do not overlap can be split too.
  const int64_t rows = kApart ? s.oh : 1;
  parallel_for(
      samples * rows, grain(in / rows),
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t sample = i / rows, row = i % rows;
          const float *image = x + sample * in, *slopes = ct + sample * out;
          if (kApart) {
            kernels().nn.max_pool_grad_apart(s, image, slopes, dx + sample * in, row, row + 1);
          } else {
            std::fill_n(dx + sample * in, in, 0.0F);
            kernels().nn.max_pool_grad(s, image, slopes, dx + sample * in, 0, s.oh);
          }
        }
      },
      1);
}

template <bool kApart>
Works max_pool_grad_works(const KernelQuery& query) {
  const PoolShape s = pool_shape(query.attrs.as<PoolAttrs>(), query.inputs[0].shape(), query.inputs[1].shape());
  const int64_t samples = query.inputs[0].shape()[0].number(), in = s.h * s.w * s.c;
  const bool apart = kApart && s.oh * s.ow * s.c > 0;
  const int64_t rows = apart ? s.oh : 1;
  return one_work(query, apart ? math::WorkId::MaxPoolGradApart : math::WorkId::MaxPoolGrad, math::PoolParams{s, in, 0},
                  in == 0 ? 0 : samples * rows, grain(in / rows));
}

const char* refuses_avg_grad(const KernelQuery& query) {
  return query.attrs.as<PoolAttrs>().shape.rank() > 4 ? "three spatial axes run as their decomposition"
                                                      : refuses_wide(query);
}

void run_avg_pool_grad(const KernelCall& call) {
  const PoolShape s = pool_shape(call.attrs.as<PoolAttrs>(), call.out_shape(), call.in_shape(0));
  const float *ct = call.in<float>(0), *ct_end = ct + call.inputs[0].size();
  float* dx = call.out<float>();
  const int64_t row = s.w * s.c;
  if (row == 0) return;
  parallel_for(
      call.out_shape()[0].number() * s.h, grain(row),
      [&](int64_t begin, int64_t end) { kernels().nn.avg_pool_grad(s, ct, ct_end, dx, dx + end * row, begin, end); },
      1);
}

Works avg_pool_grad_works(const KernelQuery& query) {
  const PoolShape s = pool_shape(query.attrs.as<PoolAttrs>(), query.outputs[0].shape, query.inputs[0].shape());
  const int64_t row = s.w * s.c;
  return one_work(query, math::WorkId::AvgPoolGrad, math::PoolParams{s, query.inputs[0].size(), row},
                  row == 0 ? 0 : query.outputs[0].shape[0].number() * s.h, grain(row));
}

}  // namespace

void install_cpu_pooling() {
  add_kernels(ops::max_pool, {{.name = "cpu.max_pool",
                               .refuses = refuses,
                               .run = run_fused<run_pool<&math::NnKernels::max_pool>>,
                               .works = fused_works<pool_works<math::WorkId::MaxPool>>}});
  add_kernels(ops::avg_pool, {{.name = "cpu.avg_pool",
                               .refuses = refuses,
                               .run = run_fused<run_pool<&math::NnKernels::avg_pool>>,
                               .works = fused_works<pool_works<math::WorkId::AvgPool>>}});
  add_kernels(ops::max_pool_grad, {{.name = "cpu.max_pool_grad.apart",
                                    .refuses = refuses_overlap,
                                    .run = run_fused<run_max_pool_grad<true>>,
                                    .works = fused_works<max_pool_grad_works<true>>,
                                    .in_place = true},
                                   {.name = "cpu.max_pool_grad",
                                    .refuses = refuses,
                                    .run = run_fused<run_max_pool_grad<false>>,
                                    .works = fused_works<max_pool_grad_works<false>>}});
  add_kernels(ops::avg_pool_grad, {{.name = "cpu.avg_pool_grad",
                                    .refuses = refuses_avg_grad,
                                    .run = run_fused<run_avg_pool_grad>,
                                    .works = fused_works<avg_pool_grad_works>}});
}

}  // namespace hone
