// Matrix products and sums over shared axes. Operands are promoted to one dtype (JAX's table); the result has it too.
// Integers wrap. f32 products may be served by oneDNN, whose order of accumulation depends on sizes and thread count.
#pragma once
#include <initializer_list>
#include <span>
#include <string_view>

#include "hone/tensor/tensor.h"

namespace hone {

struct DotAttrs;

struct MatmulOptions {
  bool transpose_a = false, transpose_b = false;  ///< swap the last two axes of an operand (a vector stays as it is)
};

/// NumPy's matmul: a[..., m, k] b[..., k, n] gives [..., m, n]; leading axes broadcast. A vector a[k] or b[k] loses its
/// axis in the result. Error kInvalidArgument for scalars and for sizes that do not fit.
Tensor matmul(Operand a, Operand b, MatmulOptions options = {});

/// StableHLO's dot_general: the result's axes are the batch axes, then the free axes of a, then those of b.
Tensor dot_general(Operand a, Operand b, const DotAttrs& attrs);

/// x[..., k] w[k, n] + bias[n], which may be undefined. The bias is part of the library call.
Tensor dense(Operand x, Operand w, const Tensor& bias = {});

/// Einstein's summation: a letter an axis, operands separated by commas: einsum("bij,bjk->bik", {a, b}). Letters
/// without "->": those that appear once, in alphabetical order (NumPy). A letter repeated within an operand takes its
/// diagonal; letters that the result lacks are summed. Several operands are combined from left to right. Error
/// kInvalidArgument for "..." and malformed equations.
Tensor einsum(std::string_view equation, std::span<const Tensor> operands, Location location = Location::current());
inline Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands,
                     Location location = Location::current()) {
  return einsum(equation, std::span(operands.begin(), operands.size()), location);
}

/// Sums over pairs of axes: a_axes[i] with b_axes[i]; the result has the free axes of a, then those of b.
Tensor tensordot(Operand a, Operand b, const Ints& a_axes, const Ints& b_axes);
/// Over the last `axes` axes of a and the first of b.
Tensor tensordot(Operand a, Operand b, int axes = 2);

/// result[i, j] = a[i] b[j] of the flattened operands.
Tensor outer(Operand a, Operand b);

}  // namespace hone
