// Normalisation layers.
#pragma once
#include "hone/nn/layer.h"

namespace hone::nn {

struct BatchNormalizationOptions {
  double momentum = 0.99;
  double epsilon = 1e-3;
  bool center = true;  ///< add beta
  bool scale = true;   ///< multiply by gamma
  std::string name{};
};
/// Over all axes but the last. In training it uses the batch's mean and (biased) variance and moves the stored ones:
/// moving = moving * momentum + batch * (1 - momentum). In inference, and when frozen, it uses the stored ones.
class BatchNormalization : public Layer {
 public:
  explicit BatchNormalization(BatchNormalizationOptions options = {});
};

struct LayerNormalizationOptions {
  int axis = -1;  ///< first of the trailing axes to normalise over
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  std::string name{};
};
class LayerNormalization : public Layer {
 public:
  explicit LayerNormalization(LayerNormalizationOptions options = {});
};

}  // namespace hone::nn
