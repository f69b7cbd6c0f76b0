// What kernels share that reduce.
#pragma once
#include <cstdint>

#include "hone/tensor/dtype.h"

namespace hone {

/// n elements that change no result of math::ReduceKind `kind`: of sums -0. `accumulator` is no 16-bit float.
void fill_identity(int kind, DType accumulator, void* to, int64_t n);

}  // namespace hone
