// Layers: shapes they take, configs, names, state.
#include "hone/nn/layer.h"

#include <gtest/gtest.h>

#include <set>

#include "hone/base/error.h"
#include "hone/function/function.h"
#include "hone/function/tape.h"
#include "hone/nn/attention.h"
#include "hone/nn/convolution.h"
#include "hone/nn/core.h"
#include "hone/nn/normalization.h"
#include "hone/nn/recurrent.h"
#include "hone/nn/registry.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/reduction.h"

namespace hone::nn {
namespace {

using Names = std::vector<std::string>;

std::string message_of(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_NE(error.code(), Code::kInternal) << error.what();
    return error.what();
  }
  return "no error";
}

// --- shapes ---

TEST(Layer, WrongShapesNameTheLayer) {
  const struct {
    Layer layer;
    Shape built, wrong;
    std::string says;
  } cases[] = {
      {Dense(2, {.name = "head"}), {1, 3}, {1, 4}, "in layer head"},
      {Conv2D(2, 3, {.name = "stem"}), {1, 5, 5, 3}, {1, 5, 5, 2}, "in layer stem"},
      {DepthwiseConv2D(3, {.name = "wise"}), {1, 5, 5, 3}, {1, 5, 5, 2}, "in layer wise"},
      {SeparableConv2D(2, 3, {.name = "apart"}), {1, 5, 5, 3}, {1, 5, 5, 2}, "in layer apart"},
      {BatchNormalization({.name = "norm"}), {2, 3}, {2, 4}, "in layer norm"},
      {LayerNormalization({.name = "rows"}), {2, 3}, {2, 4}, "in layer rows"},
      {LSTM(2, {.name = "memory"}), {1, 2, 3}, {1, 2, 4}, "in layer memory"},
      {MultiHeadAttention(1, 2, {.name = "look"}), {1, 2, 3}, {1, 2, 4}, "in layer look"},
      {MaxPooling2D(2), {1, 4, 4, 1}, {4, 4}, "in layer max_pooling2d"},
      {Reshape({5}), {1, 5}, {1, 6}, "in layer reshape"},
  };
  for (const auto& each : cases) {
    each.layer(zeros(each.built));
    const std::string message = message_of([&] { each.layer(zeros(each.wrong)); });
    EXPECT_NE(message.find(each.says), std::string::npos) << each.says << "\n" << message;
    EXPECT_NE(message.find("layer_test.cpp:"), std::string::npos) << message;
  }
}

TEST(Layer, RanksThatALayerCannotTakeAreNamed) {
  const struct {
    Layer layer;
    Shape shape;
    std::string says;
  } cases[] = {
      {Conv2D(2, 3), {28, 28}, "Conv2D needs images"},
      {DepthwiseConv2D(3), {2, 28, 28}, "DepthwiseConv2D needs images"},
      {SeparableConv2D(2, 3), {28}, "SeparableConv2D needs images"},
      {GlobalAveragePooling2D(), {2, 3}, "GlobalAveragePooling2D needs images"},
      {LSTM(2), {2, 3}, "LSTM needs sequences"},
      {MultiHeadAttention(1, 1), {2, 3}, "MultiHeadAttention needs sequences"},
      {BatchNormalization(), {3}, "BatchNormalization needs"},
      {Dense(2), {}, "Dense needs"},
      {Flatten(), {}, "Flatten needs"},
  };
  for (const auto& each : cases) {
    const std::string message = message_of([&] { each.layer(zeros(each.shape)); });
    EXPECT_NE(message.find(each.says), std::string::npos) << each.says << "\n" << message;
  }
}

TEST(Layer, SenselessOptionsAreRefused) {
  EXPECT_NE(message_of([] { Dense(0); }), "no error");
  EXPECT_NE(message_of([] { Conv2D(0, 3); }), "no error");
  EXPECT_NE(message_of([] { Conv2D(3, 3, {.padding = "full"}); }), "no error");
  EXPECT_NE(message_of([] { Conv2D(4, 3, {.groups = 3})(zeros({1, 4, 4, 3})); }), "no error");
  EXPECT_NE(message_of([] { Dropout(1); }), "no error");
  EXPECT_NE(message_of([] { Dropout(-0.1); }), "no error");
  EXPECT_NE(message_of([] { Embedding(0, 3); }), "no error");
  EXPECT_NE(message_of([] { LSTM(0); }), "no error");
  EXPECT_NE(message_of([] { MultiHeadAttention(0, 3); }), "no error");
  EXPECT_NE(message_of([] { MaxPooling2D(2, {.padding = "equal"}); }), "no error");
}

// --- configs ---

// The types that have initialisers.
const char* const kInitialised[] = {"Dense",     "Conv2D", "DepthwiseConv2D",   "SeparableConv2D",
                                    "Embedding", "LSTM",   "MultiHeadAttention"};

std::vector<Layer> with_initializers() {
  return {
      Dense(3, {.kernel_initializer = HeNormal(), .bias_initializer = Constant(0.5)}),
      Conv2D(3, {3, 2},
             {.strides = {1, 2}, .kernel_initializer = HeUniform(), .bias_initializer = RandomNormal(1, 0.1)}),
      DepthwiseConv2D(3, {.depthwise_initializer = RandomUniform(-0.5, 0.25), .bias_initializer = Ones()}),
      SeparableConv2D(2, 3,
                      {.depthwise_initializer = GlorotNormal(),
                       .pointwise_initializer = LecunNormal(),
                       .bias_initializer = Ones()}),
      Embedding(5, 2, {.embeddings_initializer = RandomNormal()}),
      LSTM(2, {.kernel_initializer = HeNormal(), .recurrent_initializer = GlorotUniform(), .bias_initializer = Ones()}),
      MultiHeadAttention(2, 3, {.kernel_initializer = HeUniform()}),
  };
}

TEST(LayerConfig, KeepsInitialisers) {
  std::set<std::string> types;
  for (const Layer& layer : with_initializers()) {
    const Config config = layer.config();
    types.insert(layer.module().type());
    const Layer again = layer_from_config(config);
    EXPECT_EQ(to_json(again.config()), to_json(config));
    // The same draws give the same weights.
    const bool ids = layer.module().type() == "Embedding";
    const Shape shape = layer.module().type().find("Conv") != std::string::npos ? Shape{1, 5, 5, 2} : Shape{1, 2, 3};
    std::vector<std::vector<float>> weights[2];
    for (int i = 0; i < 2; ++i) {
      set_random_seed(9);
      const Layer& each = i == 0 ? layer : again;
      each.build({{ids ? i32 : f32, shape}});
      for (const Variable& variable : each.variables()) weights[i].push_back(variable.value().to_vector<float>());
    }
    EXPECT_EQ(weights[0], weights[1]) << to_json(config);
  }
  for (const char* type : kInitialised) EXPECT_TRUE(types.contains(type)) << type;
}

TEST(Layer, AStatefulLstmGoesOnWhereTheLastCallEnded) {
  const LSTM whole(3, {.return_sequences = true}), parts(3, {.return_sequences = true, .stateful = true});
  const Tensor x = random::normal(random::state(5), {2, 6, 4}).second;
  const Tensor expected = whole(x);
  parts.build({TensorType{f32, {2, 3, 4}}});
  for (size_t i = 0; i < whole.variables().size(); ++i) parts.variables()[i].assign(whole.variables()[i].value());
  EXPECT_EQ(parts.batch_size(), 2);
  EXPECT_EQ(whole.batch_size(), 0);
  EXPECT_EQ(parts.trainable_variables().size(), whole.trainable_variables().size());
  const Tensor first = x[{slice(), slice(0, 3)}], second = x[{slice(), slice(3, 6)}];
  for (int round = 0; round < 2; ++round) {
    const Tensor a = parts(first), b = parts(second);
    EXPECT_TRUE(all(concatenate({a, b}, 1) == expected).item<bool>());
    parts.reset_states();
  }
}

TEST(Layer, AStatefulLstmTakesOneBatchSize) {
  const LSTM lstm(3, {.stateful = true, .batch_size = 2});
  EXPECT_NE(message_of([&] { lstm(zeros({4, 5, 1})); }).find("expected: 2 examples"), std::string::npos);
  const auto any = function([](Tensor x) { return LSTM(3, {.stateful = true})(x); });
  EXPECT_NE(message_of([&] { any.lower(Spec{f32, {Dim("n"), 5, 1}}); }).find("needs to know its batch size"),
            std::string::npos);
}

TEST(LayerConfig, DefaultsAreKeras) {
  const struct {
    const char* type;
    Config extra;
    Names keys;
  } cases[] = {
      {"Dense", Config::Table{{"units", 3}}, {"kernel_initializer=\"glorot_uniform\"", "bias_initializer=\"zeros\""}},
      {"Conv2D",
       Config::Table{{"filters", 3}, {"kernel_size", 3}},
       {"padding=\"valid\"", "strides=1", "dilation_rate=1", "groups=1", "use_bias=true"}},
      {"Embedding",
       Config::Table{{"input_dim", 3}, {"output_dim", 2}},
       {"embeddings_initializer=\"random_uniform(-0.05, 0.05)\""}},
      {"LSTM",
       Config::Table{{"units", 3}},
       {"recurrent_initializer=\"orthogonal\"", "unit_forget_bias=true", "return_sequences=false"}},
      {"BatchNormalization", Config::Table{}, {"momentum=0.99", "epsilon=0.001", "center=true", "scale=true"}},
      {"LayerNormalization", Config::Table{}, {"axis=-1", "epsilon=0.001"}},
      {"MaxPooling2D", Config::Table{}, {"pool_size=2", "strides=2", "padding=\"valid\""}},
  };
  for (const auto& each : cases) {
    Config config = each.extra;
    config.set("type", each.type);
    const Config full = layer_from_config(config).config();
    for (const std::string& key : each.keys) {
      const size_t equals = key.find('=');
      const Config* value = full.find(key.substr(0, equals));
      ASSERT_NE(value, nullptr) << each.type << " " << key;
      EXPECT_EQ(to_json(*value), key.substr(equals + 1)) << each.type << " " << key;
    }
  }
}

TEST(LayerConfig, AnInitialiserOfOnesOwnIsLeftOut) {
  const Initializer mine("mine", [](const Shape& shape, DType dtype) { return full(shape, 7, dtype); });
  const Dense layer(2, {.kernel_initializer = mine});
  EXPECT_EQ(layer.config().find("kernel_initializer"), nullptr);
  EXPECT_NE(layer.config().find("bias_initializer"), nullptr);
  EXPECT_EQ(layer_from_config(layer.config()).module().type(), "Dense");
}

std::vector<const char*> required(std::string_view type) {
  if (type == "Dense" || type == "LSTM") return {"units"};
  if (type == "Conv2D" || type == "SeparableConv2D") return {"filters", "kernel_size"};
  if (type == "DepthwiseConv2D") return {"kernel_size"};
  if (type == "Embedding") return {"input_dim", "output_dim"};
  if (type == "MultiHeadAttention") return {"num_heads", "key_dim"};
  if (type == "Reshape") return {"target_shape"};
  return {};
}

TEST(LayerConfig, NameAndTrainableAreForEveryType) {
  for (const LayerType& type : layer_types()) {
    Config config(Config::Table{{"type", std::string(type.name)}, {"name", "mine"}, {"trainable", false}});
    for (const char* key : required(type.name)) config.set(key, 2);
    const Layer layer = layer_from_config(config);
    EXPECT_EQ(layer.name(), "mine") << type.name;
    EXPECT_FALSE(layer.trainable()) << type.name;
  }
}

TEST(LayerConfig, WrongValuesNameTheirPath) {
  const auto message = [](Config::Table table) {
    return message_of([&] { layer_from_config(Config(table), "model.layers[2]"); });
  };
  EXPECT_NE(message({{"type", "Dense"}}).find("model.layers[2].units is missing"), std::string::npos);
  EXPECT_NE(message({{"type", "Dense"}, {"units", "ten"}}).find("model.layers[2].units must be an integer"),
            std::string::npos);
  EXPECT_NE(message({{"type", "Dens"}, {"units", 1}}).find("did you mean 'Dense'"), std::string::npos);
  EXPECT_NE(message({{"type", "Dense"}, {"units", 1}, {"activation", "custom"}}).find("load_weights"),
            std::string::npos);
  EXPECT_NE(message({{"units", 1}}).find("needs a type"), std::string::npos);
}

// --- modules of one's own ---

struct Residual : Module {
  explicit Residual(int64_t filters)
      : conv(child("conv", Conv2D(filters, 3, {.padding = "same", .use_bias = false}))) {}
  Conv2D conv;
  BatchNormalization bn = child("bn", BatchNormalization());
  Variable scale;
  void build(std::span<const TensorType>) override { scale = variable("scale", {{}, Ones()}); }
  Tensor call(const Tensor& x, const CallOptions& o) override { return relu(x + bn(conv(x), o) * scale); }
};

Names names_of(const Layer& layer) {
  Names names;
  for (const auto& [name, variable] : layer.named_variables()) names.push_back(name);
  return names;
}

TEST(OwnModule, VariablesHaveTheirPaths) {
  const Layer block = make<Residual>(2);
  EXPECT_FALSE(block.built());
  block(zeros({1, 4, 4, 2}));
  EXPECT_TRUE(block.built());
  EXPECT_EQ(names_of(block),
            (Names{"scale", "conv/kernel", "bn/gamma", "bn/beta", "bn/moving_mean", "bn/moving_variance"}));
  EXPECT_EQ(block.trainable_variables().size(), 4U);
  EXPECT_EQ(block.non_trainable_variables().size(), 2U);
  EXPECT_EQ(block.parameters(), 1 + 3 * 3 * 2 * 2 + 4 * 2);
}

TEST(OwnModule, TrainsItsChildren) {
  const Layer block = make<Residual>(2);
  const Tensor x = full({2, 4, 4, 2}, 0.5, f32);
  block(x);
  GradientTape tape;
  const Tensor y = sum(block(x, {.training = true}));
  for (const Tensor& gradient : tape.gradient(y, block.trainable_variables())) EXPECT_TRUE(gradient.defined());
}

TEST(OwnModule, FreezingReachesTheChildrenAndReleasingBringsThemBack) {
  const Layer block = make<Residual>(2);
  block.set_trainable(false);
  block(zeros({1, 4, 4, 2}));
  EXPECT_TRUE(block.trainable_variables().empty());
  const Tensor before = block.variables()[4];
  block(full({1, 4, 4, 2}, 3, f32), {.training = true});
  EXPECT_EQ(block.variables()[4].value().to_vector<float>(), before.to_vector<float>()) << "a frozen norm rests";
  block.set_trainable(true);
  EXPECT_EQ(block.trainable_variables().size(), 4U) << "statistics stay state";
}

TEST(OwnModule, ErrorsNameThePathOfLayers) {
  const Layer block = make<Residual>(2);
  block.set_name("block");
  block(zeros({1, 4, 4, 2}));
  const std::string message = message_of([&] { block(zeros({1, 4, 4, 3})); });
  EXPECT_NE(message.find("in layer block/conv"), std::string::npos) << message;
}

struct Twice : Module {
  Twice() { child("same", Dense(1)), child("same", Dense(1)); }
};
struct TwoVariables : Module {
  void build(std::span<const TensorType>) override { variable("w", {{}}), variable("w", {{}}); }
  Tensor call(const Tensor& x, const CallOptions&) override { return x; }
};
struct Silent : Module {};

TEST(OwnModule, MistakesAreNamed) {
  EXPECT_NE(message_of([] { make<Twice>(); }).find("'same' already"), std::string::npos);
  EXPECT_NE(message_of([] { make<TwoVariables>()(zeros({1})); }).find("'w' already"), std::string::npos);
  EXPECT_NE(message_of([] { Layer()(zeros({1})); }).find("empty layer"), std::string::npos);
  EXPECT_NE(message_of([] { Dense(1)({zeros({1, 1}), zeros({1, 1})}); }).find("takes one input, got 2"),
            std::string::npos);
  EXPECT_THROW(make<Silent>()(zeros({1})), Error);
}

TEST(Layer, CopiesAreTheSameLayer) {
  const Dense a(2);
  const Dense b = a;
  a(zeros({1, 3}));
  ASSERT_TRUE(b.built());
  b.variables()[0].assign(full({3, 2}, 1, f32));
  EXPECT_EQ(a(full({1, 3}, 1, f32)).to_vector<float>(), (std::vector<float>{3, 3}));
}

// --- attention's dropout ---

TEST(Attention, DropoutIsOfTheProbabilitiesAndOffInInference) {
  set_random_seed(1);
  const MultiHeadAttention plain(2, 3), dropping(2, 3, {.dropout = 0.5}), causal(2, 3, {.use_causal_mask = true}),
      causal_dropping(2, 3, {.dropout = 1e-12, .use_causal_mask = true});
  const Tensor x = arange(-2, 2, 0.1, f32);
  const Tensor sequence = reshape(x, {2, 5, 4});
  const auto share = [&](const Layer& from, const Layer& to) {
    from(sequence), to(sequence);
    for (size_t i = 0; i < from.trainable_variables().size(); ++i)
      to.trainable_variables()[i].assign(from.trainable_variables()[i].value());
  };
  share(plain, dropping);
  EXPECT_EQ(plain(sequence).to_vector<float>(), dropping(sequence).to_vector<float>());
  EXPECT_NE(plain(sequence).to_vector<float>(), dropping(sequence, {.training = true}).to_vector<float>());
  // A rate that drops nothing: the steps that dropout needs give what the op gives, masks included.
  share(causal, causal_dropping);
  std::vector<uint8_t> bits(2 * 5 * 5, 1);
  for (size_t i = 0; i < 5; ++i)
    bits[i * 5] = 0, bits[25 + 10 + i] = 0;  // keys that nobody sees, a query that sees none
  const Tensor mask = cast(Tensor::from(bits, {2, 5, 5}), bool_);
  const std::vector<float> expected = causal(sequence, {.mask = mask}).to_vector<float>(),
                           got = causal_dropping(sequence, {.training = true, .mask = mask}).to_vector<float>();
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5) << i;
}

}  // namespace
}  // namespace hone::nn
