// Tensors from nothing.
#pragma once
#include <span>
#include <utility>

#include "hone/tensor/tensor.h"

namespace hone {

/// Every element is `value` (a constant: it costs one element of memory until an op needs it whole).
Tensor full(const Shape& shape, Operand value, DType dtype);
Tensor zeros(const Shape& shape, DType dtype = f32, Location location = Location::current());
Tensor ones(const Shape& shape, DType dtype = f32, Location location = Location::current());
Tensor zeros_like(const Tensor& x, Location location = Location::current());
Tensor ones_like(const Tensor& x, Location location = Location::current());
/// The index along `axis` of each element.
Tensor iota(const Shape& shape, int axis, DType dtype = i32, Location location = Location::current());
/// start, start + step, ... below stop; f32 for fractional arguments when dtype is left out, else i32.
Tensor arange(double start, double stop, double step = 1, DType dtype = i32, Location location = Location::current());
/// `count` values from start to stop inclusive.
Tensor linspace(double start, double stop, int64_t count, DType dtype = f32, Location location = Location::current());
/// rows x columns with ones on the diagonal.
Tensor eye(int64_t rows, int64_t columns = -1, DType dtype = f32, Location location = Location::current());
/// Ones on and below the k-th diagonal, zeros above.
Tensor tri(int64_t rows, int64_t columns, int64_t k = 0, DType dtype = f32, Location location = Location::current());

/// Random numbers from a state u64[2] = {key, counter} (Philox4x32-10). Every function gives the next state and its
/// values; the same state gives the same values on every device, thread count and mode.
namespace random {
/// A state from a seed.
Tensor state(uint64_t seed);
/// {next state, bits}: dtype u32 or u64.
std::pair<Tensor, Tensor> bits(const Tensor& state, const Shape& shape, DType dtype = u32,
                               Location location = Location::current());
/// Uniform in [low, high); f32 from 24 bits.
std::pair<Tensor, Tensor> uniform(const Tensor& state, const Shape& shape, double low = 0, double high = 1,
                                  DType dtype = f32, Location location = Location::current());
/// Normal, by the inverse of the error function.
std::pair<Tensor, Tensor> normal(const Tensor& state, const Shape& shape, double mean = 0, double stddev = 1,
                                 DType dtype = f32, Location location = Location::current());
}  // namespace random

/// The value in another dtype: floats to integers truncate and saturate, NaN gives 0; to bool: x != 0.
Tensor cast(Operand x, DType dtype);
/// The same bits as another dtype; a wider or narrower one takes from or adds a last axis.
Tensor bitcast(Operand x, DType dtype);

}  // namespace hone
