// 16-bit floats on a CPU or a library that does not compute in them: convert, compute in f32, round.
#pragma once
#include "hone/ops/kernel.h"

namespace hone {

/// Runs `run` on the call with 16-bit operands and results in f32, rounding the results at the end.
void run_in_f32(const KernelCall& call, void (*run)(const KernelCall&));

inline bool is_half(DType type) { return type == f16 || type == bf16; }

}  // namespace hone
