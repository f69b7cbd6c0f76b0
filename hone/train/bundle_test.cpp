// Bundles: what is saved comes back, and what cannot come back is refused.
#include "hone/train/bundle_test.h"
#include "hone/train/freeze.h"

#include <map>

#include "hone/base/file.h"
#include "hone/nn/attention.h"
#include "hone/nn/convolution.h"
#include "hone/nn/normalization.h"
#include "hone/nn/recurrent.h"
#include "hone/nn/registry.h"
#include "hone/ops/elementwise.h"

namespace hone::nn {
namespace {

using Bundle = BundleTest;

struct Case {
  Layer layer;
  TensorType input;
};

// Each type of the library with options that are not its defaults.
std::multimap<std::string, Case> cases() {
  const TensorType image{f32, {2, 6, 6, 4}}, rows{f32, {2, 5}}, sequence{f32, {2, 3, 4}};
  const Initializer small = RandomNormal(0, 0.2);
  std::multimap<std::string, Case> all;
  const auto add = [&](std::string type, Layer layer, TensorType input) { all.emplace(type, Case{layer, input}); };
  add("Dense", Dense(3, {.activation = "gelu", .kernel_initializer = HeNormal(), .bias_initializer = Constant(0.5)}),
      rows);
  add("Dense", Dense(3, {.use_bias = false, .kernel_initializer = Orthogonal()}), sequence);
  add("Activation", ActivationLayer("softmax"), rows);
  add("ReLU", ReLU(), rows);
  add("Flatten", Flatten(), image);
  add("Reshape", Reshape({3, -1}), image);
  add("Dropout", Dropout(0.25, {.seed = 4}), rows);
  add("Embedding", Embedding(10, 3, {.embeddings_initializer = small}), {i32, {2, 4}});
  add("Rescaling", Rescaling(1 / 255.0, -0.5), {u8, {2, 3}});
  add("Conv2D",
      Conv2D(6, {3, 2},
             {.strides = 2, .padding = "same", .groups = 2, .activation = "relu6", .bias_initializer = small}),
      image);
  add("Conv2D", Conv2D(2, 3, {.dilation_rate = {2, 1}, .use_bias = false}), image);
  add("DepthwiseConv2D",
      DepthwiseConv2D(3,
                      {.strides = 2, .padding = "same", .depth_multiplier = 2, .depthwise_initializer = HeUniform()}),
      image);
  add("SeparableConv2D",
      SeparableConv2D(5, 3,
                      {.padding = "same",
                       .depth_multiplier = 2,
                       .activation = "silu",
                       .depthwise_initializer = small,
                       .pointwise_initializer = LecunNormal()}),
      image);
  add("MaxPooling2D", MaxPooling2D({3, 2}, {.strides = Sizes(1), .padding = "same"}), image);
  add("AveragePooling2D", AveragePooling2D(3, {.strides = Sizes(2), .padding = "same"}), image);
  add("GlobalAveragePooling2D", GlobalAveragePooling2D(), image);
  add("GlobalMaxPooling2D", GlobalMaxPooling2D(), image);
  add("BatchNormalization", BatchNormalization({.momentum = 0.5, .epsilon = 1e-2}), image);
  add("BatchNormalization", BatchNormalization({.center = false, .scale = false}), rows);
  add("LayerNormalization", LayerNormalization({.epsilon = 1e-2, .scale = false}), sequence);
  add("MultiHeadAttention",
      MultiHeadAttention(
          2, 3,
          {.value_dim = 5, .use_bias = false, .use_causal_mask = true, .output_dim = 6, .kernel_initializer = small}),
      sequence);
  add("LSTM",
      LSTM(3, {.unit_forget_bias = false,
               .return_sequences = true,
               .go_backwards = true,
               .recurrent_initializer = GlorotNormal(),
               .bias_initializer = small}),
      sequence);
  return all;
}

Tensor example(const TensorType& type) {
  if (is_floating(type.dtype)) return ramp(type.shape);
  std::vector<int32_t> values(static_cast<size_t>(type.shape.count()));
  std::iota(values.begin(), values.end(), 0);
  return cast(Tensor::from(values, type.shape), type.dtype);
}

TEST_F(Bundle, EveryLayerRoundTrips) {
  set_random_seed(3);
  std::multimap<std::string, Case> all = cases();
  for (const LayerType& type : layer_types()) {
    const auto [begin, end] = all.equal_range(std::string(type.name));
    ASSERT_NE(begin, end) << "give " << type.name << " a case";
    for (auto at = begin; at != end; ++at) {
      Sequential model{at->second.layer};
      const Tensor x = example(at->second.input);
      model.set_input_type(at->second.input);
      model(x, {.training = true});  // moves statistics and random states
      const Tensor expected = model(x);
      model.save(path("m.hone"));
      const Model loaded = Model::load(path("m.hone"));
      EXPECT_TRUE(formats::same(loaded(x), expected)) << type.name;
      EXPECT_TRUE(same_weights(loaded, model)) << type.name;
      EXPECT_EQ(to_json(loaded.config()), to_json(model.config())) << type.name;
      EXPECT_EQ(loaded.input_type(), model.input_type()) << type.name;
      EXPECT_TRUE(formats::same(loaded(x, {.training = true}), model(x, {.training = true}))) << type.name;
    }
  }
}

TEST_F(Bundle, AStatefulModelGoesOnWhereItWasSaved) {
  Sequential model{LSTM(3, {.stateful = true}), Dense(2)};
  model.set_input_type({f32, {4, 5, 2}});
  const Tensor x = ramp({4, 5, 2});
  model(x);
  model.save(path("m.hone"));
  Model loaded = Model::load(path("m.hone"));
  EXPECT_EQ(loaded.input_type(), (TensorType{f32, {4, 5, 2}}));
  EXPECT_TRUE(same_weights(loaded, model));
  EXPECT_FALSE(model.summary().empty());
  EXPECT_TRUE(formats::same(loaded(x), model(x))) << "a summary changes no state";
  EXPECT_THROW(freeze(model), Error);
  loaded.reset_states();
  model.reset_states();
  EXPECT_TRUE(formats::same(loaded.predict(x), model(x)));
}

TEST_F(Bundle, KeepsInputPreprocessingAndClassNames) {
  Sequential model{Flatten(), Dense(2)};
  const Tensor x = zeros({4, 3, 5, 1}, u8), y = zeros({4}, i32);
  model.compile({.optimizer = "sgd", .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  const Preprocessing preprocessing{.rescale = 1 / 255.0, .size = Ints{3, 5}, .channels = 1};
  model.fit(cast(x, f32), y,
            {.verbose = 0, .preprocessing = preprocessing, .class_names = {"caf\u00e9", "a \"quoted\" \\ name\n"}});
  model.save(path("m.hone"));
  const Model loaded = Model::load(path("m.hone"));
  EXPECT_EQ(loaded.input_type(), (TensorType{f32, {1, 3, 5, 1}}));
  EXPECT_EQ(loaded.preprocessing(), preprocessing);
  EXPECT_EQ(loaded.class_names(), model.class_names());
  EXPECT_EQ(loaded.loss().config(), model.loss().config());
}

TEST_F(Bundle, TrainingAgainKeepsThePreprocessing) {
  Sequential model{Dense(1)};
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(zeros({2, 3}), zeros({2, 1}), {.verbose = 0, .preprocessing = {.rescale = 0.5}});
  model.save(path("m.hone"));
  Model loaded = Model::load(path("m.hone"));
  loaded.fit(zeros({2, 3}), zeros({2, 1}), {.verbose = 0});
  EXPECT_EQ(loaded.preprocessing().rescale, 0.5);
}

TEST_F(Bundle, PredictAfterLoadingGivesTheSameBits) {
  set_random_seed(1);
  Sequential model{Conv2D(4, 3, {.activation = "relu"}), BatchNormalization(), Flatten(), Dropout(0.5), Dense(3)};
  model.compile({.optimizer = "adam", .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  const Tensor x = ramp({8, 6, 6, 2});
  model.fit(x, Tensor::from(std::vector<int32_t>{0, 1, 2, 0, 1, 2, 0, 1}, {8}),
            {.batch_size = 4, .epochs = 2, .verbose = 0});
  model.save(path("m.hone"));
  EXPECT_TRUE(formats::same(Model::load(path("m.hone")).predict(x, 3), model.predict(x, 3)));
}

TEST_F(Bundle, TrainingGoesOnAsIfNeverSaved) {
  for (const char* optimizer : {"sgd", "adam", "adamw"}) {
    set_random_seed(1);
    Sequential model{Dense(4, {.activation = "tanh"}), BatchNormalization(), Dropout(0.5, {.seed = 2}), Dense(1)};
    model.compile({.optimizer = optimizer, .loss = "mse", .metrics = {"mae"}});
    const Tensor x = ramp({12, 3}), y = ramp({12, 1});
    const FitOptions options{.batch_size = 5, .epochs = 2, .verbose = 0, .shuffle = false};
    model.fit(x, y, options);
    model.save(path("m.hone"));
    Model loaded = Model::load(path("m.hone"));
    const History a = model.fit(x, y, options), b = loaded.fit(x, y, options);
    EXPECT_TRUE(same_weights(model, loaded)) << optimizer;
    EXPECT_EQ(a.series("loss"), b.series("loss")) << optimizer;
    EXPECT_EQ(a.series("mae"), b.series("mae")) << optimizer;
    EXPECT_TRUE(formats::same(model.optimizer().iterations(), loaded.optimizer().iterations()));
  }
}

TEST_F(Bundle, AModelThatWasNeverTrainedLoads) {
  Sequential model{Dense(2)};
  model.compile({.optimizer = "adam", .loss = "mse"});
  model.set_input_type({f32, {1, 3}});
  EXPECT_THROW(model.save(path("m.hone")), Error) << "there are no weights yet";
  model(zeros({1, 3}));
  model.save(path("m.hone"));
  Model loaded = Model::load(path("m.hone"));
  loaded.fit(ramp({4, 3}), ramp({4, 2}), {.verbose = 0});
  EXPECT_EQ(loaded.optimizer().iterations().value().item<int64_t>(), 1);
}

TEST_F(Bundle, NamesAndFrozenLayersStay) {
  Sequential encoder{Dense(4, {.name = "first"}), BatchNormalization()};
  encoder.set_name("encoder");
  Sequential model{Layer(encoder), Dense(4), Dense(1), Dense(1)};
  model.compile({.optimizer = optim::SGD({.momentum = 0.9}), .loss = "mse"});
  model(zeros({1, 3}));
  encoder.set_trainable(false);
  model.fit(ramp({4, 3}), ramp({4, 1}), {.verbose = 0});
  model.save(path("m.hone"));
  Model loaded = Model::load(path("m.hone"));
  EXPECT_TRUE(same_weights(loaded, model));
  EXPECT_EQ(loaded.named_variables().front().first, "encoder/first/kernel");
  EXPECT_EQ(loaded.trainable_variables().size(), 6U);
  loaded.fit(ramp({4, 3}), ramp({4, 1}), {.verbose = 0});
  EXPECT_TRUE(same_weights(loaded.module().children()[0].second, encoder)) << "frozen weights and statistics rest";
}

TEST_F(Bundle, ALayerThatStandsTwiceStaysOne) {
  const Dense tied(3);
  Sequential model{tied, ReLU(), tied, Dense(2)};
  model.compile({.optimizer = "adam", .loss = "mse"});
  model.fit(ramp({4, 3}), ramp({4, 2}), {.verbose = 0});
  model.save(path("m.hone"));
  Model loaded = Model::load(path("m.hone"));
  EXPECT_EQ(loaded.parameters(), model.parameters());
  EXPECT_EQ(to_json(loaded.config()), to_json(model.config()));
  loaded.fit(ramp({4, 3}), ramp({4, 2}), {.verbose = 0, .shuffle = false});
  model.fit(ramp({4, 3}), ramp({4, 2}), {.verbose = 0, .shuffle = false});
  EXPECT_TRUE(same_weights(loaded, model));
}

TEST_F(Bundle, UnfreezingAfterSavingTrainsOn) {
  Sequential model{Dense(4), Dense(1)};
  model.compile({.optimizer = "adam", .loss = "mse"});
  model.module().children()[0].second.set_trainable(false);
  model.fit(ramp({4, 3}), ramp({4, 1}), {.verbose = 0});
  model.set_trainable(true);
  model.save(path("m.hone"));
  Model loaded = Model::load(path("m.hone"));
  const Tensor before = loaded.variables()[0];
  loaded.fit(ramp({4, 3}), ramp({4, 1}), {.verbose = 0});
  EXPECT_FALSE(formats::same(loaded.variables()[0], before));
}

// --- what a bundle cannot hold ---

void expect_refused(const std::string& file, const std::string& what) {
  const auto error = formats::error_of([&] { Model::load(file); });
  ASSERT_TRUE(error) << what;
  EXPECT_EQ(error->code(), Code::kUnsupported) << error->what();
  EXPECT_NE(std::string(error->what()).find(what), std::string::npos) << error->what();
  EXPECT_NE(std::string(error->what()).find(file), std::string::npos) << error->what();
  EXPECT_NE(error->parts().fix.find("load_weights"), std::string::npos) << error->what();
}

TEST_F(Bundle, FunctionsOfOnesOwnAreRefusedAndTheirWeightsStay) {
  const auto square = [](const Tensor& x) { return x * x; };
  const auto difference = [](const Tensor& y, const Tensor& p) { return abs(y - p); };
  const struct {
    std::string what;
    Activation activation;
    Loss loss;
    std::vector<Metric> metrics;
  } cases[] = {{"layers[0].activation", Activation(square), "mse", {}},
               {"loss is a function", "relu", Loss(difference), {}},
               {"metric is a function", "relu", "mse", {Metric(difference, "score")}}};
  for (const auto& each : cases) {
    Sequential model{Dense(2, {.activation = each.activation})};
    model.compile({.optimizer = "sgd", .loss = each.loss, .metrics = each.metrics});
    model.fit(ramp({4, 3}), ramp({4, 2}), {.verbose = 0});
    model.save(path("m.hone"));
    expect_refused(path("m.hone"), each.what);
    Sequential again{Dense(2, {.activation = each.activation})};
    again(zeros({1, 3}));
    again.load_weights(path("m.hone"));
    EXPECT_TRUE(same_weights(again, model));
  }
}

struct Doubling : Module {
  Layer inner = child("inner", Dense(3));
  std::string type() const override { return "BundleTestDoubling"; }
  Tensor call(const Tensor& x, const CallOptions& options) override { return inner(x, options) * 2; }
};

TEST_F(Bundle, ModulesOfOnesOwnLoadOnceRegistered) {
  Sequential model{make<Doubling>(), Dense(2)};
  model.set_input_type({f32, {1, 3}});
  const Tensor x = ramp({2, 3}), expected = model(x);
  model.save(path("m.hone"));
  const auto error = formats::error_of([&] { Model::load(path("m.hone")); });
  ASSERT_TRUE(error);
  EXPECT_NE(error->parts().fix.find("register_layer"), std::string::npos) << error->what();
  EXPECT_NE(std::string(error->what()).find(path("m.hone")), std::string::npos) << error->what();
  register_layer("BundleTestDoubling", [](const Config&) { return make<Doubling>(); });
  EXPECT_TRUE(formats::same(Model::load(path("m.hone"))(x), expected));
}

TEST_F(Bundle, WeightsOfAnotherModelChangeNothing) {
  Sequential large{Dense(2), Dense(2)}, small{Dense(2)};
  for (Model* model : {static_cast<Model*>(&large), static_cast<Model*>(&small)}) {
    model->set_input_type({f32, {1, 2}});
    (*model)(zeros({1, 2}));
  }
  large.save(path("m.hone"));
  const Tensor before = small.variables()[0];
  const auto error = formats::error_of([&] { small.load_weights(path("m.hone")); });
  ASSERT_TRUE(error);
  EXPECT_NE(std::string(error->what()).find("left over: dense_1/kernel f32[2,2]"), std::string::npos) << error->what();
  EXPECT_TRUE(formats::same(small.variables()[0], before));
}

}  // namespace
}  // namespace hone::nn
