// The module behind Sequential. For hone/train/ only.
#pragma once
#include "hone/nn/layer.h"

namespace hone::nn {

class SequentialModule final : public Module {
 public:
  explicit SequentialModule(std::span<const Layer> layers);
  std::string type() const override { return "Sequential"; }
  Tensor call(const Tensor& x, const CallOptions& options) override;
  /// {"type": "Sequential", "layers": [...]}, with each layer's name, and "trainable" where it is frozen. A
  /// layer that stands there again is {"type": "Shared", "layer": its first name}.
  Config config() const override;
};

}  // namespace hone::nn
