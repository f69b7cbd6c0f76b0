// cpu.attention: blocks of queries against blocks of keys with online softmax, one batch and head at a time; no [t, s]
// array exists in the forward pass, the backward pass keeps a block of rows. Products are panels of own contractions,
// so bits depend on sizes alone.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "hone/backend/cpu/in_f32.h"
#include "hone/backend/cpu/install.h"
#include "hone/backend/cpu/isa.h"
#include "hone/base/parallel.h"
#include "hone/ops/attrs.h"
#include "hone/ops/kernel.h"
#include "hone/ops/table.h"

namespace hone {
namespace {

constexpr int64_t kQueries = 24, kKeys = 128, kPanel = math::kPanelBytes / sizeof(float);

const char* refuses(const KernelQuery& query) {
  const DType dtype = query.inputs[0].dtype();
  if (dtype != f32 && !is_half(dtype)) return "floats of 16 and 32 bits only";
  for (const Tensor& input : query.inputs) {
    if (input.size() == 0) return "an operand is empty";
  }
  return nullptr;
}

/// A matrix with unit column stride.
struct Rows {
  const float* data;
  int64_t stride;
};

// c = a b (+ c): a [rows, k] with any strides, b [k, columns]; `edge` holds k rows of one panel.
void multiply(const float* a, int64_t a_row, int64_t a_k, Rows b, float* c, int64_t c_row, int64_t rows,
              int64_t columns, int64_t k, bool accumulate, float* edge) {
  for (int64_t j = 0; j < columns; j += kPanel) {
    math::PanelArgs p{.a = a,
                      .a_row = a_row,
                      .a_k = a_k,
                      .b = b.data + j,
                      .b_k = b.stride,
                      .c = c + j,
                      .c_row = c_row,
                      .rows = rows,
                      .columns = std::min(kPanel, columns - j),
                      .k = k,
                      .bias = nullptr,
                      .accumulate = accumulate};
    if (p.columns < kPanel) {  // a full panel would reach beyond the row
      for (int64_t i = 0; i < k; ++i) {
        std::memcpy(edge + i * kPanel, b.data + i * b.stride + j, static_cast<size_t>(p.columns) * sizeof(float));
        std::memset(edge + i * kPanel + p.columns, 0, static_cast<size_t>(kPanel - p.columns) * sizeof(float));
      }
      p.b = edge, p.b_k = kPanel;
    }
    kernels().contraction.panel[0](p);
  }
}

// x [n, d] as panels of its transpose: panel j holds columns x[16 j ...] as [d, 16], zeros beyond n.
void pack_transposed(Rows x, int64_t n, int64_t d, float* to) {
  for (int64_t j = 0; j < n; j += kPanel, to += d * kPanel) {
    const int64_t width = std::min(kPanel, n - j);
    if (width < kPanel) std::memset(to, 0, static_cast<size_t>(d * kPanel) * sizeof(float));
    for (int64_t i = 0; i < width; ++i) {
      const float* row = x.data + (j + i) * x.stride;
      for (int64_t f = 0; f < d; ++f) to[f * kPanel + i] = row[f];
    }
  }
}

// c [rows, n] = a x^T for columns [begin, begin + n) of the packed x; begin is a multiple of a panel.
void multiply_packed(Rows a, const float* packed, int64_t begin, float* c, int64_t c_row, int64_t rows, int64_t n,
                     int64_t d) {
  for (int64_t j = 0; j < n; j += kPanel) {
    kernels().contraction.panel[0]({.a = a.data,
                                    .a_row = a.stride,
                                    .a_k = 1,
                                    .b = packed + (begin + j) * d,
                                    .b_k = kPanel,
                                    .c = c + j,
                                    .c_row = c_row,
                                    .rows = rows,
                                    .columns = std::min(kPanel, n - j),
                                    .k = d});
  }
}

struct Sizes {
  int64_t b, t, s, h, d;
  int64_t row;  // distance of neighbours in time
  float scale;
  bool causal;
  const bool* mask;
  int64_t mask_batch, mask_head;  // strides

  explicit Sizes(const KernelCall& call, size_t mask_at) {
    const Shape& q = call.in_shape(0);
    b = q[0].number(), t = q[1].number(), s = call.in_shape(1)[1].number(), h = q[2].number(), d = q[3].number();
    row = h * d;
    scale = static_cast<float>(call.attrs.as<SdpaAttrs>().scale);
    causal = call.attrs.as<SdpaAttrs>().causal;
    mask = nullptr, mask_batch = mask_head = 0;
    if (call.inputs.size() > mask_at) {
      mask = call.in<bool>(static_cast<int>(mask_at));
      const Shape& m = call.in_shape(static_cast<int>(mask_at));
      mask_head = m[1].number() == 1 ? 0 : t * s;
      mask_batch = m[0].number() == 1 ? 0 : m[1].number() * t * s;
    }
  }
  int64_t padded_keys() const { return (s + kPanel - 1) / kPanel * kPanel; }
  int64_t offset(int64_t task, int64_t length) const {
    return task / h * length * row + task % h * d;
  }  // of [b, length, h, d]
  const bool* mask_row(int64_t task, int64_t query) const {
    return mask ? mask + task / h * mask_batch + task % h * mask_head + query * s : nullptr;
  }
  /// Keys of [first, first + n) that query i may see by causality.
  int64_t visible(int64_t query, int64_t first, int64_t n) const {
    return causal ? std::clamp<int64_t>(query + 1 - first, 0, n) : n;
  }
};

// Scores of a row become weights (softmax or probability) in the first `visible` places, 0 in the rest.
template <class F>
void weigh_row(const Sizes& z, int64_t task, int64_t query, int64_t first, int64_t n, float* row, F&& f) {
  const int64_t visible = z.visible(query, first, n);
  const bool* mask = z.mask_row(task, query);
  f(math::AttentionRow{row, visible, mask ? mask + first : nullptr, z.scale});
  std::fill(row + visible, row + n, 0.0F);
}

struct Forward {
  const Sizes& z;
  const float *q, *k, *v;
  float *out, *logsumexp;

  int64_t scratch() const {
    return z.padded_keys() * z.d + kQueries * kKeys + kQueries * z.d + std::max(kKeys, z.d) * kPanel;
  }

  void run(int64_t task, float* scratch) const {
    float* keys = scratch;
    float* scores = keys + z.padded_keys() * z.d;
    float* sums = scores + kQueries * kKeys;
    float* edge = sums + kQueries * z.d;
    const int64_t kv = z.offset(task, z.s);
    pack_transposed({k + kv, z.row}, z.s, z.d, keys);
    for (int64_t begin = 0; begin < z.t; begin += kQueries) {
      const int64_t rows = std::min(kQueries, z.t - begin), at = z.offset(task, z.t) + begin * z.row;
      float maximum[kQueries], total[kQueries] = {};
      std::fill(maximum, maximum + kQueries, -std::numeric_limits<float>::infinity());
      std::fill(sums, sums + rows * z.d, 0.0F);
      const int64_t end = z.causal ? std::min(z.s, begin + rows) : z.s;
      for (int64_t first = 0; first < end; first += kKeys) {
        const int64_t n = std::min(kKeys, end - first);
        multiply_packed({q + at, z.row}, keys, first, scores, kKeys, rows, n, z.d);
        for (int64_t i = 0; i < rows; ++i) {
          weigh_row(z, task, begin + i, first, n, scores + i * kKeys, [&](const math::AttentionRow& row) {
            const float factor = kernels().contraction.softmax_row(row, maximum[i], total[i]);
            if (factor != 1) kernels().contraction.scale_row(sums + i * z.d, z.d, factor);
          });
        }
        multiply(scores, kKeys, 1, {v + kv + first * z.row, z.row}, sums, z.d, rows, z.d, n, true, edge);
      }
      for (int64_t i = 0; i < rows; ++i) {
        const float divisor = total[i] == 0 ? 1.0F : total[i];
        for (int64_t f = 0; f < z.d; ++f) out[at + i * z.row + f] = sums[i * z.d + f] / divisor;
        logsumexp[task * z.t + begin + i] = maximum[i] + std::log(total[i]);
      }
    }
  }
};

struct Backward {
  const Sizes& z;
  const float *q, *k, *v, *out, *logsumexp, *ct;
  float *dq, *dk, *dv;

  int64_t scratch() const {
    return 2 * z.padded_keys() * z.d + 2 * kQueries * z.padded_keys() + std::max(z.s, kQueries) * kPanel;
  }

  void run(int64_t task, float* scratch) const {
    const int64_t width = z.padded_keys(), kv = z.offset(task, z.s);
    float *keys = scratch, *values = keys + width * z.d, *p = values + width * z.d, *ds = p + kQueries * width,
          *edge = ds + kQueries * width;
    pack_transposed({k + kv, z.row}, z.s, z.d, keys);
    pack_transposed({v + kv, z.row}, z.s, z.d, values);
    for (float* gradient : {dk, dv}) {
      for (int64_t i = 0; i < z.s; ++i) std::fill_n(gradient + kv + i * z.row, z.d, 0.0F);
    }
    const math::ContractionKernels& level = kernels().contraction;
    for (int64_t begin = 0; begin < z.t; begin += kQueries) {
      const int64_t rows = std::min(kQueries, z.t - begin), at = z.offset(task, z.t) + begin * z.row;
      const int64_t n = z.causal ? std::min(z.s, begin + rows) : z.s;
      multiply_packed({q + at, z.row}, keys, 0, p, width, rows, n, z.d);
      multiply_packed({ct + at, z.row}, values, 0, ds, width, rows, n, z.d);
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t query = begin + i;
        weigh_row(z, task, query, 0, n, p + i * width,
                  [&](const math::AttentionRow& row) { level.probability_row(row, logsumexp[task * z.t + query]); });
        const float delta = level.dot(ct + at + i * z.row, out + at + i * z.row, z.d);
        level.score_gradient_row(p + i * width, ds + i * width, n, delta, z.scale);
      }
      multiply(ds, width, 1, {k + kv, z.row}, dq + at, z.row, rows, z.d, n, false, edge);
      multiply(p, 1, width, {ct + at, z.row}, dv + kv, z.row, n, z.d, rows, true, edge);
      multiply(ds, 1, width, {q + at, z.row}, dk + kv, z.row, n, z.d, rows, true, edge);
    }
  }
};

template <class Pass>
void run_tasks(const Sizes& z, const Pass& pass) {
  const int64_t work = std::max<int64_t>(z.t * z.s * z.d, 1);
  parallel_for(
      z.b * z.h, std::max<int64_t>((1 << 17) / work, 1),
      [&](int64_t begin, int64_t end) {
        const Ref<Buffer> scratch = cpu().allocate(static_cast<size_t>(pass.scratch()) * sizeof(float));
        for (int64_t task = begin; task < end; ++task)
          pass.run(task, static_cast<float*>(static_cast<void*>(scratch->data())));
      },
      1);
}

void run_forward(const KernelCall& call) {
  if (is_half(call.dtype())) return run_in_f32(call, run_forward);
  const Sizes z(call, 3);
  run_tasks(
      z, Forward{z, call.in<float>(0), call.in<float>(1), call.in<float>(2), call.out<float>(0), call.out<float>(1)});
}

void run_backward(const KernelCall& call) {
  if (is_half(call.dtype())) return run_in_f32(call, run_backward);
  const Sizes z(call, 6);
  run_tasks(z,
            Backward{z, call.in<float>(0), call.in<float>(1), call.in<float>(2), call.in<float>(3), call.in<float>(4),
                     call.in<float>(5), call.out<float>(0), call.out<float>(1), call.out<float>(2)});
}

}  // namespace

void install_cpu_attention() {
  add_kernels(ops::sdpa, {{.name = "cpu.sdpa", .refuses = refuses, .run = run_forward}});
  add_kernels(ops::sdpa_grad, {{.name = "cpu.sdpa_grad", .refuses = refuses, .run = run_backward}});
}

}  // namespace hone
