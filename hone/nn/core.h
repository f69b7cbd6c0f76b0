// Layers without a spatial structure.
#pragma once
#include "hone/nn/activation.h"
#include "hone/nn/layer.h"

namespace hone::nn {

struct DenseOptions {
  Activation activation = "linear";
  bool use_bias = true;
  Initializer kernel_initializer = GlorotUniform();
  Initializer bias_initializer = Zeros();
  std::string name{};
};
/// activation(x kernel + bias) over the last axis: [..., in] -> [..., units].
class Dense : public Layer {
 public:
  explicit Dense(int64_t units, DenseOptions options = {});
};

/// A function as a layer.
class ActivationLayer : public Layer {
 public:
  explicit ActivationLayer(Activation activation, std::string name = {});
};
/// max(x, 0).
class ReLU : public ActivationLayer {
 public:
  ReLU() : ActivationLayer("relu", "relu") {}
};

/// [n, ...] -> [n, product of the rest].
class Flatten : public Layer {
 public:
  Flatten();
};

/// [n, ...] -> [n, target...]; one extent may be -1.
class Reshape : public Layer {
 public:
  explicit Reshape(Ints target);
};

struct DropoutOptions {
  int64_t seed = -1;  ///< -1: from the global stream (set_random_seed)
  std::string name{};
};
/// In training zeroes a share `rate` of the elements and scales the others by 1 / (1 - rate); else the identity.
class Dropout : public Layer {
 public:
  explicit Dropout(double rate, DropoutOptions options = {});
};

struct EmbeddingOptions {
  Initializer embeddings_initializer = RandomUniform();
  std::string name{};
};
/// Rows of a table[input_dim, output_dim] at integer ids.
class Embedding : public Layer {
 public:
  Embedding(int64_t input_dim, int64_t output_dim, EmbeddingOptions options = {});
};

/// x * scale + offset in f32: declares preprocessing inside the model.
class Rescaling : public Layer {
 public:
  explicit Rescaling(double scale, double offset = 0);
};

}  // namespace hone::nn
