// What the fused kernels of composites share: they compute in f32, 16-bit operands convert around them, f64 decomposes.
#pragma once
#include "hone/backend/cpu/in_f32.h"
#include "hone/backend/cpu/isa.h"
#include "hone/backend/cpu/scratch.h"
#include "hone/base/parallel.h"
#include "hone/compiler/works.h"
#include "hone/ops/kernel.h"
#include "hone/ops/table.h"

namespace hone {

inline const char* refuses_wide(const KernelQuery& query) {
  return query.inputs[0].dtype() == f64 ? "f64 runs as its decomposition" : nullptr;
}

/// The kernel proper, in f32.
template <void (*kRun)(const KernelCall&)>
void run_fused(const KernelCall& call) {
  for (const Tensor& input : call.inputs) {
    if (is_half(input.dtype())) return run_in_f32(call, kRun);
  }
  kRun(call);
}

/// The works proper, in f32.
template <Works (*kWorks)(const KernelQuery&)>
Works fused_works(const KernelQuery& query) {
  return works_in_f32(query, kWorks);
}

/// A kernel that is nothing but its works in f32.
template <Works (*kWorks)(const KernelQuery&)>
Kernel fused_kernel(const char* name, const char* (*refuses)(const KernelQuery&)) {
  return {.name = name,
          .refuses = refuses,
          .run = run_fused<run_works>,
          .prepare = [](const KernelQuery& query) -> std::shared_ptr<const void> {
            return std::make_shared<Works>(works_of_f32(query, kWorks));
          },
          .works = fused_works<kWorks>};
}

/// Rows that are worth a thread.
inline int64_t row_grain(int64_t n) { return n >= 16384 ? 1 : 16384 / (n > 0 ? n : 1); }

}  // namespace hone
