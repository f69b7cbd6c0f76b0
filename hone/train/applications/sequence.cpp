#include <fmt/format.h>

#include "hone/nn/attention.h"
#include "hone/nn/core.h"
#include "hone/nn/normalization.h"
#include "hone/nn/recurrent.h"
#include "hone/ops/attention.h"
#include "hone/ops/contraction.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/nn.h"
#include "hone/train/applications/applications.h"

namespace hone::nn::applications {
namespace {

class GptBlock final : public Module {
 public:
  GptBlock(int64_t width, int64_t heads)
      : heads_(heads),
        n1_(child("n1", LayerNormalization({.epsilon = 1e-5}))),
        qkv_(child("qkv", Dense(3 * width))),
        out_(child("out", Dense(width))),
        n2_(child("n2", LayerNormalization({.epsilon = 1e-5}))),
        up_(child("up", Dense(4 * width, {.activation = "gelu"}))),
        down_(child("down", Dense(width))) {}
  std::string type() const override { return "GptBlock"; }
  Tensor call(const Tensor& x, const CallOptions&) override {
    const Dim n = x.shape()[0], t = x.shape()[1], d = x.shape()[2];
    const std::vector<Tensor> parts = split(qkv_(n1_(x)), 3, 2);
    const auto by_head = [&](const Tensor& part) { return reshape(part, {n, t, heads_, floor_div(d, heads_)}); };
    const Tensor attended =
        scaled_dot_product_attention(by_head(parts[0]), by_head(parts[1]), by_head(parts[2]), {.causal = true});
    const Tensor y = x + out_(reshape(attended, {n, t, d}));
    return y + down_(up_(n2_(y)));
  }

 private:
  int64_t heads_;
  Layer n1_, qkv_, out_, n2_, up_, down_;
};

class Gpt final : public Module {
 public:
  explicit Gpt(const GptOptions& o) : options_(o), token_(child("token", Embedding(o.vocabulary, o.width))) {
    for (int64_t i = 0; i < o.layers; ++i)
      blocks_.push_back(child(fmt::format("block{}", i), make<GptBlock>(o.width, o.heads)));
    norm_ = child("norm", LayerNormalization({.epsilon = 1e-5}));
    head_ = child("head", Dense(o.vocabulary));
  }
  std::string type() const override { return "Gpt"; }
  void build(std::span<const TensorType>) override {
    position_ = variable("position", {{options_.context, options_.width}, RandomUniform()});
  }
  Tensor call(const Tensor& ids, const CallOptions& options) override {
    Tensor x = token_(ids) + position_.value()[slice(0, ids.dim(1))];
    for (const Layer& block : blocks_) x = block(x, options);
    return head_(norm_(x));
  }

 private:
  GptOptions options_;
  Layer token_, norm_, head_;
  std::vector<Layer> blocks_;
  Variable position_;
};

class LstmLoop final : public Module {
 public:
  LstmLoop(int64_t units, int64_t classes)
      : units_(units),
        wx_(child("wx", Dense(4 * units))),
        wh_(child("wh", Dense(4 * units, {.use_bias = false}))),
        head_(child("head", Dense(classes))) {}
  std::string type() const override { return "LstmLoop"; }
  Tensor call(const Tensor& x, const CallOptions&) override {
    Tensor h = zeros({x.shape()[0], units_}), c = h;
    for (const Tensor& step : unstack(x, 1)) {
      const std::vector<Tensor> gates = split(wx_(step) + wh_(h), 4, 1);
      c = sigmoid(gates[1]) * c + sigmoid(gates[0]) * tanh(gates[2]);
      h = sigmoid(gates[3]) * tanh(c);
    }
    return head_(h);
  }

 private:
  int64_t units_;
  Layer wx_, wh_, head_;
};

}  // namespace

Model gpt(GptOptions options) { return Model(make<Gpt>(options)); }

Sequential lstm_classifier(int64_t units, int64_t classes) { return Sequential{LSTM(units), Dense(classes)}; }

Model lstm_loop(int64_t units, int64_t classes) { return Model(make<LstmLoop>(units, classes)); }

}  // namespace hone::nn::applications
