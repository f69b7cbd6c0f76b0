// 16-bit floats on a CPU or a library that does not compute in them: convert, compute in f32, round.
#pragma once
#include "hone/compiler/works.h"
#include "hone/math/work.h"
#include "hone/ops/kernel.h"

namespace hone {

/// Runs `run` on the call with 16-bit operands and results in f32, rounding the results at the end.
void run_in_f32(const KernelCall& call, void (*run)(const KernelCall&));
/// Works of `make` for the call that `run` gets.
Works works_of_f32(const KernelQuery& query, Works (*make)(const KernelQuery&));
/// The same with the conversions. Operands are dense.
Works works_in_f32(const KernelQuery& query, Works (*make)(const KernelQuery&));

/// Of labels, indices and bools.
inline math::IntKind int_kind(DType type) {
  return {static_cast<int32_t>(size_of(type)), type == bool_ || is_unsigned_integer(type)};
}

inline bool is_half(DType type) { return type == f16 || type == bf16; }

}  // namespace hone
