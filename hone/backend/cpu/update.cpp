// Optimizer steps: one pass over parameter, gradient and slots.
#include <cmath>

#include "hone/backend/cpu/fused.h"
#include "hone/backend/cpu/install.h"
#include "hone/ops/attrs.h"

namespace hone {
namespace {

constexpr int64_t kGrain = 16384;

const char* refuses(const KernelQuery& query) {
  for (const Tensor& input : query.inputs) {
    if (input.dtype() == f64) return "f64 runs as its decomposition";
  }
  return nullptr;
}

void run_sgd(const KernelCall& call) {
  const auto& a = call.attrs.as<SgdAttrs>();
  const float rate = call.in<float>(3)[0];
  const math::SgdStep step{rate, static_cast<float>(a.momentum), rate * static_cast<float>(a.weight_decay), a.nesterov};
  const float *p = call.in<float>(0), *g = call.in<float>(1), *v = call.in<float>(2);
  float *next_p = call.out<float>(0), *next_v = call.out<float>(1);
  parallel_for(call.outputs[0].size(), kGrain, [&](int64_t begin, int64_t end) {
    kernels().nn.sgd(step, p + begin, g + begin, v + begin, next_p + begin, next_v + begin, end - begin);
  });
}

void run_adam(const KernelCall& call) {
  const auto& a = call.attrs.as<AdamAttrs>();
  const float rate = call.in<float>(4)[0];
  const double count = call.in<float>(5)[0];
  const auto correction_1 = static_cast<float>(1 - std::pow(a.beta_1, count)),
             correction_2 = static_cast<float>(1 - std::pow(a.beta_2, count));
  const math::AdamStep step{rate * std::sqrt(correction_2) / correction_1, static_cast<float>(1 - a.beta_1),
                            static_cast<float>(1 - a.beta_2), static_cast<float>(a.epsilon),
                            rate * static_cast<float>(a.weight_decay)};
  const float *p = call.in<float>(0), *g = call.in<float>(1), *m = call.in<float>(2), *v = call.in<float>(3);
  float *next_p = call.out<float>(0), *next_m = call.out<float>(1), *next_v = call.out<float>(2);
  parallel_for(call.outputs[0].size(), kGrain, [&](int64_t begin, int64_t end) {
    kernels().nn.adam(step, p + begin, g + begin, m + begin, v + begin, next_p + begin, next_m + begin, next_v + begin,
                      end - begin);
  });
}

}  // namespace

void install_cpu_updates() {
  add_kernels(ops::sgd_update,
              {{.name = "cpu.sgd_update", .refuses = refuses, .run = run_fused<run_sgd>, .in_place = true}});
  add_kernels(ops::adam_update,
              {{.name = "cpu.adam_update", .refuses = refuses, .run = run_fused<run_adam>, .in_place = true}});
}

}  // namespace hone
