#include "hone/nn/normalization.h"

#include "hone/base/error.h"
#include "hone/function/tape.h"
#include "hone/nn/registry.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/nn.h"

namespace hone::nn {
namespace {

class BatchNormModule final : public Module {
 public:
  explicit BatchNormModule(BatchNormalizationOptions options) : options_(std::move(options)) {}
  std::string type() const override { return "BatchNormalization"; }
  void build(std::span<const TensorType> inputs) override {
    if (inputs[0].shape.rank() < 2)
      throw Error(Code::kInvalidArgument,
                  "BatchNormalization needs a batch axis and a channel axis, got " + to_string(inputs[0]));
    const Shape channels{inputs[0].shape.dim(-1)};
    if (options_.scale) gamma_ = variable("gamma", {channels, Ones()});
    if (options_.center) beta_ = variable("beta", {channels, Zeros()});
    mean_ = variable("moving_mean", {channels, Zeros(), f32, false});
    variance_ = variable("moving_variance", {channels, Ones(), f32, false});
  }
  Tensor call(const Tensor& x, const CallOptions& options) override {
    const Tensor gamma = options_.scale ? gamma_.value() : ones(mean_.shape());
    const Tensor beta = options_.center ? beta_.value() : zeros(mean_.shape());
    if (!options.training || !trainable())
      return batch_norm_inference(x, gamma, beta, mean_, variance_, options_.epsilon);
    auto [y, mean, variance] = batch_norm_training(x, gamma, beta, options_.epsilon);
    move_towards(mean_, mean);
    move_towards(variance_, variance);
    return y;
  }
  Config config() const override {
    return Config::Table{{"type", type()},
                         {"momentum", options_.momentum},
                         {"epsilon", options_.epsilon},
                         {"center", options_.center},
                         {"scale", options_.scale}};
  }

 private:
  void move_towards(const Variable& moving, const Tensor& batch) const {
    const NoGradScope quiet;
    moving.assign(moving.value() * options_.momentum + batch * (1 - options_.momentum));
  }
  BatchNormalizationOptions options_;
  Variable gamma_, beta_, mean_, variance_;
};

class LayerNormModule final : public Module {
 public:
  explicit LayerNormModule(LayerNormalizationOptions options) : options_(std::move(options)) {}
  std::string type() const override { return "LayerNormalization"; }
  void build(std::span<const TensorType> inputs) override {
    Shape trailing;
    for (int i = inputs[0].shape.normalize_axis(options_.axis); i < inputs[0].shape.rank(); ++i)
      trailing.push_back(inputs[0].shape[i]);
    if (options_.scale) gamma_ = variable("gamma", {trailing, Ones()});
    if (options_.center) beta_ = variable("beta", {trailing, Zeros()});
    shape_ = trailing;
  }
  Tensor call(const Tensor& x, const CallOptions&) override {
    return layer_norm(x, options_.scale ? gamma_.value() : ones(shape_),
                      options_.center ? beta_.value() : zeros(shape_), options_.axis, options_.epsilon);
  }
  Config config() const override {
    return Config::Table{{"type", type()},
                         {"axis", options_.axis},
                         {"epsilon", options_.epsilon},
                         {"center", options_.center},
                         {"scale", options_.scale}};
  }

 private:
  LayerNormalizationOptions options_;
  Shape shape_;
  Variable gamma_, beta_;
};

}  // namespace

BatchNormalization::BatchNormalization(BatchNormalizationOptions options)
    : Layer(std::make_shared<BatchNormModule>(options)) {
  if (!options.name.empty()) set_name(options.name);
}
LayerNormalization::LayerNormalization(LayerNormalizationOptions options)
    : Layer(std::make_shared<LayerNormModule>(options)) {
  if (!options.name.empty()) set_name(options.name);
}

}  // namespace hone::nn
