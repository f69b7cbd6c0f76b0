#include "hone/nn/core.h"

#include <fmt/format.h>

#include "hone/base/error.h"
#include "hone/nn/registry.h"
#include "hone/ops/contraction.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/nn.h"

namespace hone::nn {
namespace {

class DenseModule final : public Module {
 public:
  DenseModule(int64_t units, DenseOptions options) : units_(units), options_(std::move(options)) {
    if (units_ <= 0) throw Error(Code::kInvalidArgument, fmt::format("Dense needs units >= 1, got {}", units_));
  }
  std::string type() const override { return "Dense"; }
  void build(std::span<const TensorType> inputs) override {
    if (inputs[0].shape.rank() < 1)
      throw Error(Code::kInvalidArgument, "Dense needs an input of rank 1 or more, got a scalar");
    kernel_ = variable("kernel", {{inputs[0].shape.dim(-1), units_}, options_.kernel_initializer});
    if (options_.use_bias) bias_ = variable("bias", {{units_}, options_.bias_initializer});
  }
  Tensor call(const Tensor& x, const CallOptions&) override {
    return options_.activation(dense(x, kernel_, options_.use_bias ? bias_.value() : Tensor()));
  }
  Config config() const override {
    Config config(Config::Table{{"type", type()},
                                {"units", units_},
                                {"activation", options_.activation.name()},
                                {"use_bias", options_.use_bias}});
    set_initializer(config, "kernel_initializer", options_.kernel_initializer);
    set_initializer(config, "bias_initializer", options_.bias_initializer);
    return config;
  }

 private:
  int64_t units_;
  DenseOptions options_;
  Variable kernel_, bias_;
};

class ActivationModule final : public Module {
 public:
  explicit ActivationModule(Activation activation) : activation_(std::move(activation)) {}
  std::string type() const override { return "Activation"; }
  Tensor call(const Tensor& x, const CallOptions&) override { return activation_(x); }
  Config config() const override { return Config::Table{{"type", type()}, {"activation", activation_.name()}}; }

 private:
  Activation activation_;
};

class FlattenModule final : public Module {
 public:
  std::string type() const override { return "Flatten"; }
  Tensor call(const Tensor& x, const CallOptions&) override {
    if (x.rank() == 0) throw Error(Code::kInvalidArgument, "Flatten needs a batch axis, got a scalar");
    Dim rest = 1;
    for (int i = 1; i < x.rank(); ++i) rest = rest * x.shape()[i];
    return reshape(x, {x.shape()[0], rest});
  }
};

class ReshapeModule final : public Module {
 public:
  explicit ReshapeModule(Ints target) : target_(target) {}
  std::string type() const override { return "Reshape"; }
  Tensor call(const Tensor& x, const CallOptions&) override {
    Shape shape{x.shape()[0]};
    for (int64_t extent : target_) shape.push_back(extent);
    return reshape(x, shape);
  }
  Config config() const override {
    Config::Array items;
    for (int64_t extent : target_) items.emplace_back(extent);
    return Config::Table{{"type", type()}, {"target_shape", items}};
  }

 private:
  Ints target_;
};

class DropoutModule final : public Module {
 public:
  DropoutModule(double rate, DropoutOptions options) : rate_(rate), options_(std::move(options)) {
    if (!(rate >= 0 && rate < 1))
      throw Error(Code::kInvalidArgument, fmt::format("Dropout needs 0 <= rate < 1, got {}", rate));
  }
  std::string type() const override { return "Dropout"; }
  void build(std::span<const TensorType>) override {
    const uint64_t key = options_.seed >= 0 ? static_cast<uint64_t>(options_.seed) : next_random_key();
    state_ = variable(
        "state",
        {{2}, Initializer("random_state", [key](const Shape&, DType) { return random::state(key); }), u64, false});
  }
  Tensor call(const Tensor& x, const CallOptions& options) override {
    if (!options.training || rate_ == 0) return x;
    const Tensor state = state_.value();
    const uint64_t draws[] = {0, static_cast<uint64_t>((x.size() + 3) / 4)};
    state_.assign(state + Tensor::from(std::span<const uint64_t>(draws), {2}));
    return dropout(x, state, rate_);
  }
  Config config() const override { return Config::Table{{"type", type()}, {"rate", rate_}, {"seed", options_.seed}}; }

 private:
  double rate_;
  DropoutOptions options_;
  Variable state_;
};

class EmbeddingModule final : public Module {
 public:
  EmbeddingModule(int64_t rows, int64_t columns, EmbeddingOptions options)
      : rows_(rows), columns_(columns), options_(std::move(options)) {
    if (rows <= 0 || columns <= 0)
      throw Error(Code::kInvalidArgument, fmt::format("Embedding needs positive sizes, got {} x {}", rows, columns));
  }
  std::string type() const override { return "Embedding"; }
  void build(std::span<const TensorType>) override {
    table_ = variable("embeddings", {{rows_, columns_}, options_.embeddings_initializer});
  }
  Tensor call(const Tensor& ids, const CallOptions&) override { return embedding(table_, ids); }
  Config config() const override {
    Config config(Config::Table{{"type", type()}, {"input_dim", rows_}, {"output_dim", columns_}});
    set_initializer(config, "embeddings_initializer", options_.embeddings_initializer);
    return config;
  }

 private:
  int64_t rows_, columns_;
  EmbeddingOptions options_;
  Variable table_;
};

class RescalingModule final : public Module {
 public:
  RescalingModule(double scale, double offset) : scale_(scale), offset_(offset) {}
  std::string type() const override { return "Rescaling"; }
  Tensor call(const Tensor& x, const CallOptions&) override {
    const Tensor scaled = (is_floating(x.dtype()) ? x : cast(x, f32)) * scale_;
    return offset_ == 0 ? scaled : scaled + offset_;
  }
  Config config() const override { return Config::Table{{"type", type()}, {"scale", scale_}, {"offset", offset_}}; }

 private:
  double scale_, offset_;
};

}  // namespace

Dense::Dense(int64_t units, DenseOptions options) : Layer(std::make_shared<DenseModule>(units, options)) {
  if (!options.name.empty()) set_name(options.name);
}
ActivationLayer::ActivationLayer(Activation activation, std::string name)
    : Layer(std::make_shared<ActivationModule>(std::move(activation))) {
  if (!name.empty()) set_name(std::move(name));
}
Flatten::Flatten() : Layer(std::make_shared<FlattenModule>()) {}
Reshape::Reshape(Ints target) : Layer(std::make_shared<ReshapeModule>(target)) {}
Dropout::Dropout(double rate, DropoutOptions options) : Layer(std::make_shared<DropoutModule>(rate, options)) {
  if (!options.name.empty()) set_name(options.name);
}
Embedding::Embedding(int64_t input_dim, int64_t output_dim, EmbeddingOptions options)
    : Layer(std::make_shared<EmbeddingModule>(input_dim, output_dim, options)) {
  if (!options.name.empty()) set_name(options.name);
}
Rescaling::Rescaling(double scale, double offset) : Layer(std::make_shared<RescalingModule>(scale, offset)) {}

}  // namespace hone::nn
