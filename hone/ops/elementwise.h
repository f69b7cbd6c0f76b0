// Elementwise functions. Operands broadcast as in NumPy and are promoted by JAX's table; C++ numbers take the tensor's
// dtype. Floating-point functions of an integer tensor compute in f32. NaN propagates through max, min, clamp and relu.
#pragma once
#include "hone/tensor/tensor.h"

namespace hone {

Tensor abs(Operand x);
Tensor negate(Operand x);
/// -1, 0 or 1 (NaN for NaN).
Tensor sign(Operand x);
Tensor floor(Operand x);
Tensor ceil(Operand x);
/// To the nearest integer, ties to even.
Tensor round(Operand x);
/// To the nearest integer, ties away from zero.
Tensor round_nearest_afz(Operand x);
Tensor exp(Operand x);
/// exp(x) - 1, accurate near 0.
Tensor expm1(Operand x);
Tensor log(Operand x);
/// log(1 + x), accurate near 0.
Tensor log1p(Operand x);
/// 1 / (1 + exp(-x)).
Tensor sigmoid(Operand x);
Tensor tanh(Operand x);
Tensor tan(Operand x);
Tensor sin(Operand x);
Tensor cos(Operand x);
Tensor sqrt(Operand x);
Tensor rsqrt(Operand x);
Tensor cbrt(Operand x);
Tensor square(Operand x);
Tensor reciprocal(Operand x);
Tensor erf(Operand x);
Tensor erf_inv(Operand x);
Tensor is_finite(Operand x);
Tensor is_nan(Operand x);
Tensor is_inf(Operand x);

Tensor add(Operand a, Operand b);
Tensor subtract(Operand a, Operand b);
Tensor multiply(Operand a, Operand b);
/// Integers: rounds towards zero; division by 0 gives -1 (all bits set).
Tensor divide(Operand a, Operand b);
/// Sign of the dividend, as C's fmod; integers by 0 give the dividend.
Tensor remainder(Operand a, Operand b);
Tensor pow(Operand a, Operand b);
Tensor maximum(Operand a, Operand b);
Tensor minimum(Operand a, Operand b);
Tensor atan2(Operand y, Operand x);
Tensor bitwise_and(Operand a, Operand b);
Tensor bitwise_or(Operand a, Operand b);
Tensor bitwise_xor(Operand a, Operand b);
/// Bits flipped; for bool the logical complement.
Tensor bitwise_not(Operand x);
Tensor logical_and(Operand a, Operand b);
Tensor logical_or(Operand a, Operand b);
Tensor logical_not(Operand x);
Tensor shift_left(Operand a, Operand b);
Tensor shift_right_logical(Operand a, Operand b);
Tensor shift_right_arithmetic(Operand a, Operand b);

Tensor equal(Operand a, Operand b);
Tensor not_equal(Operand a, Operand b);
Tensor less(Operand a, Operand b);
Tensor less_equal(Operand a, Operand b);
Tensor greater(Operand a, Operand b);
Tensor greater_equal(Operand a, Operand b);

/// a where the bool tensor is true, else b.
Tensor where(Operand condition, Operand a, Operand b);
Tensor clamp(Operand low, Operand x, Operand high);
/// Rounds to a float format of this many exponent and mantissa bits (StableHLO reduce_precision).
Tensor reduce_precision(Operand x, int exponent_bits, int mantissa_bits);

Tensor relu(Operand x);
/// min(max(x, 0), 6).
Tensor relu6(Operand x);
/// x where x >= 0, else alpha * x (Keras calls it negative_slope and sets 0.3 in its layer; here 0.2 as jax.nn and
/// LiteRT's default).
Tensor leaky_relu(Operand x, double alpha = 0.2);
/// 0.5 x (1 + erf(x / sqrt 2)), or the tanh form.
Tensor gelu(Operand x, bool approximate = false);
/// x sigmoid(x).
Tensor silu(Operand x);
/// log(1 + exp(x)).
Tensor softplus(Operand x);
/// x relu6(x + 3) / 6.
Tensor hardswish(Operand x);
/// relu(x), and alpha (exp(x) - 1) below 0.
Tensor elu(Operand x, double alpha = 1);

}  // namespace hone
