// cpu.sdpa: math/attention_works.h for floats of up to 32 bits.
#include <algorithm>

#include "hone/backend/cpu/fused.h"
#include "hone/backend/cpu/install.h"
#include "hone/math/attention_works.h"
#include "hone/ops/attrs.h"

namespace hone {
namespace {

const char* refuses(const KernelQuery& query) {
  const DType dtype = query.inputs[0].dtype();
  if (dtype != f32 && !is_half(dtype)) return "floats of 16 and 32 bits only";
  for (const Tensor& input : query.inputs) {
    if (input.size() == 0) return "an operand is empty";
  }
  return nullptr;
}

template <bool kBackward>
Works works(const KernelQuery& query) {
  constexpr size_t kMask = kBackward ? 6 : 3;
  const auto& attrs = query.attrs.as<SdpaAttrs>();
  const Shape& q = query.inputs[0].shape();
  math::AttentionParams p{.t = q[1].number(),
                          .s = query.inputs[1].shape()[1].number(),
                          .h = q[2].number(),
                          .d = q[3].number(),
                          .scale = static_cast<float>(attrs.scale),
                          .causal = attrs.causal,
                          .mask = query.inputs.size() > kMask,
                          .mask_batch = 0,
                          .mask_head = 0};
  if (p.mask) {
    const Shape& m = query.inputs[kMask].shape();
    p.mask_head = m[1].number() == 1 ? 0 : p.t * p.s;
    p.mask_batch = m[0].number() == 1 ? 0 : m[1].number() * p.t * p.s;
  }
  const int64_t grain = (1 << 17) / std::max<int64_t>(p.t * p.s * p.d, 1);
  Works made = one_work(query, kBackward ? math::WorkId::AttentionGrad : math::WorkId::Attention, p,
                        q[0].number() * p.h, std::max<int64_t>(grain, 1));
  made.works[0].scratch =
      (kBackward ? p.backward_scratch() : p.forward_scratch()) * static_cast<int64_t>(sizeof(float));
  return made;
}

}  // namespace

void install_cpu_attention() {
  add_kernels(ops::sdpa, {fused_kernel<works<false>>("cpu.sdpa", refuses)});
  add_kernels(ops::sdpa_grad, {fused_kernel<works<true>>("cpu.sdpa_grad", refuses)});
}

}  // namespace hone
