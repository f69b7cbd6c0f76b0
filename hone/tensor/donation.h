// Donation: a tensor whose memory was given away. Internal to functions.
#pragma once
#include "hone/tensor/tensor.h"

namespace hone {

/// Takes the elements out of `x`: the result is a handle of its own to them, and every handle that shares `x`'s value
/// (copies of it, not views) is donated from now on: it keeps its type, reading it is the error of fail_donated. `call`
/// is the line that the error names.
Tensor take_memory(const Tensor& x, Location call);

/// True for what take_memory emptied.
bool is_donated(const Tensor& x);

/// Error kFailedPrecondition: a donated tensor is used; names the line and the call that it was donated to.
[[noreturn]] void fail_donated(const Tensor& x, Location location);

}  // namespace hone
