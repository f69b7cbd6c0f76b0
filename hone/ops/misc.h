// Host functions called from programs, printing, checks, and run-time extents.
#pragma once
#include <functional>
#include <span>
#include <string>

#include "hone/tensor/tensor.h"

namespace hone {

/// Computes one tensor from others on the host. Called on the thread that runs the program, in eager mode at once.
using HostFunction = std::function<Tensor(std::span<const Tensor> inputs)>;

/// The result of `function`, which must be of type `result` (Error kInvalidArgument at run time otherwise). It has no
/// gradient: wrap it in custom_gradient or stop_gradient. `effect`: it must run even if nobody needs the result, in
/// program order; without, calls may be merged or left out. Each call of host_callback registers its function for the
/// life of the process.
Tensor host_callback(HostFunction function, std::span<const Tensor> inputs, const TensorType& result,
                     bool effect = true, Location location = Location::current());

/// The index under which a function of one result type serves host_callback; register once, call often.
int64_t register_host_function(HostFunction function, const TensorType& result);
Tensor host_callback(int64_t function, std::span<const Tensor> inputs, bool effect = true,
                     Location location = Location::current());

/// x; writes "text: x" to stderr when the program runs. Gradients pass through.
Tensor print(Operand x, std::string text = {});
/// x; throws Error kFailedPrecondition with `message` when the program runs and an element of x is false (0). Gradients
/// pass through.
Tensor check(Operand x, std::string message);

/// The extent of an axis as an i32 scalar, also where it is symbolic.
Tensor dimension_size(Operand x, int axis);

}  // namespace hone
