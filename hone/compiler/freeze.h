// freeze: the step from training to inference, as a function from graph to graph.
#pragma once
#include <span>

#include "hone/ir/graph.h"

namespace hone::compiler {

/// What freezing did.
struct FreezeReport {
  int64_t calls_before = 0, calls_after = 0;
  int64_t folded_weights = 0;  ///< calls of weights alone, computed once
  int64_t folded_scales = 0;   ///< batch norms and per-channel arithmetic inside kernel and bias
  int64_t fused_activations = 0, fused_residuals = 0;
  int64_t frozen_convolutions = 0, frozen_dense = 0;
};

/// The program with its variables at these values (in the order of its Variable inputs). Arithmetic of weights alone is
/// computed; batch_norm_inference and per-channel multiplications and additions after a convolution or dense go into
/// its kernel and bias (computed in f64, rounded once); then bias, one residual addition and an activation become part
/// of the call, where nobody else reads the values between:
///   %1 = convolution %x, %k; %2 = batch_norm_inference %1, ...; %3 = add %2, %x; %4 = relu %3
///     =>   %4 = frozen_convolution(%x, %k', %b', %x) {activation = Relu}
/// Changes bits. f32 and f64 calls; others stay. Shapes may be symbolic. Error kFailedPrecondition where the program
/// assigns a variable.
ir::Graph freeze(const ir::Graph& graph, std::span<const Tensor> variables, FreezeReport* report = nullptr);

}  // namespace hone::compiler
