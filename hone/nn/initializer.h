// Initial values of variables.
#pragma once
#include <functional>
#include <string>

#include "hone/tensor/tensor.h"

namespace hone::nn {

/// A named way to fill a variable; draws from the global stream (set_random_seed) unless it has a seed of its own.
struct Initializer {
  Initializer(std::string name, std::function<Tensor(const Shape& shape, DType dtype)> make)
      : name(std::move(name)), make(std::move(make)) {}
  /// By Keras' names ("glorot_uniform", "zeros", ...). Error kInvalidArgument for others.
  Initializer(const char* name);  // NOLINT: a name is an initializer
  std::string name;
  std::function<Tensor(const Shape& shape, DType dtype)> make;
};

/// U(-limit, limit), limit = sqrt(6 / (fan_in + fan_out)). Kernels are [..., in, out]: leading axes multiply both fans
/// (Glorot and Bengio, 2010).
Initializer GlorotUniform();
/// N(0, 2 / (fan_in + fan_out)) cut at two deviations.
Initializer GlorotNormal();
/// U(-limit, limit), limit = sqrt(6 / fan_in) (He et al., 2015).
Initializer HeUniform();
/// N(0, 2 / fan_in) cut at two deviations.
Initializer HeNormal();
Initializer LecunNormal();
Initializer RandomUniform(double low = -0.05, double high = 0.05);
Initializer RandomNormal(double mean = 0, double stddev = 0.05);
/// Orthonormal rows or columns of the matrix that the leading axes flatten to (Saxe et al., 2013).
Initializer Orthogonal();
Initializer Zeros();
Initializer Ones();
Initializer Constant(double value);
/// True for names that initializer() makes again; other initialisers are left out of layer configs, and a layer from
/// such a config has its type's default.
bool has_config(const Initializer& initializer);
/// By name; the name's spelling as in Keras, with the nearest one in the error.
Initializer initializer(const std::string& name);
inline Initializer::Initializer(const char* name) : Initializer(initializer(name)) {}

/// Seeds initialisers, dropout and shuffles that have no seed of their own; the same seed gives the same run.
void set_random_seed(uint64_t seed);
/// A fresh key from the global stream.
uint64_t next_random_key();

}  // namespace hone::nn
