// What the kernels of w7 are measured against: bare loops over the same memory, as few operations as keep it moving.
#include <vector>

#include "hone/cli/bench_report.h"

namespace hone::cli {
namespace {

constexpr int64_t kRows = 1024, kColumns = 4096, kElements = kRows * kColumns;

// One read, one write: gelu, and softmax and layer norm, whose rows stay in the cache.
void map(const float* __restrict x, float* __restrict y) {
  for (int64_t i = 0; i < kElements; ++i) y[i] = x[i] * 0.5F;
}
void bias_relu_residual(const float* __restrict x, const float* __restrict bias, float* __restrict y) {
  for (int64_t row = 0; row < kRows; ++row, x += kColumns, y += kColumns) {
    for (int64_t i = 0; i < kColumns; ++i) {
      const float sum = x[i] + bias[i];
      y[i] = (sum > 0 ? sum : 0) + x[i];
    }
  }
}
// Four reads, three writes.
void adam(float* __restrict p, float* __restrict m, float* __restrict v, const float* __restrict g) {
  for (int64_t i = 0; i < kElements; ++i) {
    m[i] = 0.9F * m[i] + 0.1F * g[i];
    v[i] = 0.999F * v[i] + 0.001F * g[i];
    p[i] = p[i] - m[i] * v[i];
  }
}

}  // namespace

void bench_kernel_floors(BenchReport& report) {
  const std::string map_name = "w7.floor.map", residual_name = "w7.floor.bias_relu_residual",
                    adam_name = "w7.floor.adam";
  if (!report.wants(map_name) && !report.wants(residual_name) && !report.wants(adam_name)) return;
  std::vector<float> x(kElements, 1), y(kElements), m(kElements), v(kElements);
  const std::vector<float> bias(kColumns, 1);
  report.time(map_name, [&] { map(x.data(), y.data()); });
  report.time(residual_name, [&] { bias_relu_residual(x.data(), bias.data(), y.data()); });
  report.time(adam_name, [&] { adam(y.data(), m.data(), v.data(), x.data()); });
}

}  // namespace hone::cli
