// The training loop: what each epoch sees, what repeats, what is reported.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <numeric>

#include "hone/base/interrupt.h"
#include "hone/nn/convolution.h"
#include "hone/nn/normalization.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/reduction.h"
#include "hone/train/bundle_test.h"

namespace hone::nn {
namespace {

using Numbers = std::vector<float>;

// Notes the first column of what it is called on.
struct Spy : Module {
  explicit Spy(std::vector<Numbers>* batches) : batches(batches) {}
  std::vector<Numbers>* batches;
  Variable weight;
  void build(std::span<const TensorType>) override { weight = variable("weight", {{}, Ones()}); }
  Tensor call(const Tensor& x, const CallOptions& options) override {
    if (options.training) batches->push_back(x.to_vector<float>());
    return x * weight;
  }
};

Tensor ids(int64_t n) { return arange(0, static_cast<double>(n), 1, f32); }
Tensor column(int64_t n) { return expand_dims(ids(n), 1); }

Numbers joined(const std::vector<Numbers>& batches, size_t begin, size_t count) {
  Numbers all;
  for (size_t i = begin; i < begin + count; ++i) all.insert(all.end(), batches[i].begin(), batches[i].end());
  return all;
}

TEST(Fit, OneEpochSeesEverySampleOnce) {
  set_random_seed(1);
  std::vector<Numbers> batches;
  Sequential model{make<Spy>(&batches)};
  model.compile({.optimizer = optim::SGD({.learning_rate = 0}), .loss = "mse", .run_eagerly = true});
  model.fit(column(10), column(10), {.batch_size = 4, .epochs = 3, .verbose = 0});
  ASSERT_EQ(batches.size(), 9U) << "the last batch of an epoch may be short, and is not left out";
  Numbers expected(10);
  std::iota(expected.begin(), expected.end(), 0.F);
  std::vector<Numbers> orders;
  for (size_t epoch = 0; epoch < 3; ++epoch) {
    Numbers order = joined(batches, 3 * epoch, 3);
    orders.push_back(order);
    std::ranges::sort(order);
    EXPECT_EQ(order, expected) << "epoch " << epoch;
  }
  EXPECT_NE(orders[0], orders[1]);
  EXPECT_NE(orders[1], orders[2]);

  batches.clear();
  model.fit(column(10), column(10), {.batch_size = 4, .verbose = 0, .shuffle = false});
  EXPECT_EQ(joined(batches, 0, 3), expected);
  batches.clear();
  const auto dataset = data::from_tensor_slices(column(10), column(10)).shuffle(10, {.seed = 3}).batch(3);
  model.fit(dataset, {.epochs = 2, .verbose = 0});
  ASSERT_EQ(batches.size(), 8U);
  for (size_t epoch = 0; epoch < 2; ++epoch) {
    Numbers order = joined(batches, 4 * epoch, 4);
    std::ranges::sort(order);
    EXPECT_EQ(order, expected);
  }
}

TEST(Fit, StepsPerEpochBoundTheEpoch) {
  std::vector<Numbers> batches;
  Sequential model{make<Spy>(&batches)};
  model.compile({.optimizer = "sgd", .loss = "mse", .run_eagerly = true});
  const auto endless = data::from_tensor_slices(column(3), column(3)).repeat().batch(2);
  const History history = model.fit(endless, {.epochs = 2, .verbose = 0, .steps_per_epoch = 5});
  EXPECT_EQ(batches.size(), 10U);
  EXPECT_EQ(history.epochs, (std::vector<int64_t>{0, 1}));
}

Sequential with_randomness() {
  return Sequential{Dense(8, {.activation = "relu"}), BatchNormalization(), Dropout(0.3), Dense(2)};
}

// Weights and losses of a run from a seed.
std::pair<Sequential, History> run(uint64_t seed, const DataSource& validation = {}, int64_t frequency = 1) {
  set_random_seed(seed);
  Sequential model = with_randomness();
  model.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}});
  History history = model.fit(
      ramp({20, 3}), ramp({20, 2}),
      {.batch_size = 6, .epochs = 4, .verbose = 0, .validation_data = validation, .validation_freq = frequency});
  return {model, history};
}

TEST(Fit, ValidationDoesNotChangeTraining) {
  const auto alone = run(5);
  // A shuffled validation set too: its order is its own.
  const auto validation = data::from_tensor_slices(ramp({9, 3}), ramp({9, 2})).shuffle(9).batch(4);
  const auto validated = run(5, validation);
  EXPECT_TRUE(same_weights(alone.first, validated.first));
  for (const char* name : {"loss", "mae"}) EXPECT_EQ(alone.second.series(name), validated.second.series(name));
  EXPECT_EQ(validated.second.series("val_loss").size(), 4U);
}

TEST(Fit, TheSameSeedGivesTheSameWeights) {
  const auto first = run(7), again = run(7), other = run(8);
  EXPECT_TRUE(same_weights(first.first, again.first));
  EXPECT_EQ(first.second.series("loss"), again.second.series("loss"));
  EXPECT_FALSE(same_weights(first.first, other.first));
}

TEST(Fit, HistoryHoldsMeansOverTheSamples) {
  set_random_seed(2);
  Sequential model{Dense(2)};
  model.compile({.optimizer = optim::SGD({.learning_rate = 0}), .loss = "mse", .metrics = {"mae"}});
  const Tensor x = ramp({7, 3}), y = ramp({7, 2});
  const History history = model.fit(
      x, y, {.batch_size = 3, .epochs = 2, .verbose = 0, .validation_data = data::from_tensor_slices(x, y).batch(2)});
  const Tensor error = model(x) - y;
  const double mse = mean(error * error).item<double>(), mae = mean(abs(error)).item<double>();
  for (const char* prefix : {"", "val_"}) {  // the last batch is smaller, and counts by its samples
    for (const double value : history.series(prefix + std::string("loss"))) EXPECT_NEAR(value, mse, 1e-6);
    for (const double value : history.series(prefix + std::string("mae"))) EXPECT_NEAR(value, mae, 1e-6);
  }
  EXPECT_EQ(history.epochs, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(history.seconds.size(), 2U);
  std::vector<std::string> names;
  for (const auto& [name, value] : history.logs[0]) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"loss", "mae", "val_loss", "val_mae"}));
  EXPECT_FALSE(history.stopped || history.interrupted);
  const Logs evaluated = model.evaluate(x, y, {.batch_size = 3});
  EXPECT_NEAR(*evaluated.find("loss"), mse, 1e-6);
}

TEST(Fit, ValidationComesEveryNthEpoch) {
  const auto validation = data::from_tensor_slices(ramp({4, 3}), ramp({4, 2})).batch(4);
  const History history = run(1, validation, 2).second;
  ASSERT_EQ(history.logs.size(), 4U);
  for (size_t epoch = 0; epoch < 4; ++epoch)
    EXPECT_EQ(history.logs[epoch].find("val_loss") != nullptr, epoch % 2 == 1) << epoch;
}

TEST(Fit, InitialEpochGoesOnCounting) {
  Sequential model{Dense(1)};
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const History history = model.fit(ramp({4, 2}), ramp({4, 1}), {.epochs = 5, .verbose = 0, .initial_epoch = 3});
  EXPECT_EQ(history.epochs, (std::vector<int64_t>{3, 4}));
}

TEST(Fit, SampleWeightsScaleTheLoss) {
  Sequential model{Dense(1, {.kernel_initializer = Zeros()})};
  model.compile({.optimizer = optim::SGD({.learning_rate = 0}), .loss = "mse", .run_eagerly = true});
  const Tensor y = Tensor::from(std::vector<float>{1, 2, 3, 4}, {4, 1}),
               weight = Tensor::from(Numbers{0, 0, 1, 0}, {4});
  const auto weighted = data::from_tensor_slices(zeros({4, 2}), y, weight).batch(4);
  EXPECT_NEAR(model.fit(weighted, {.verbose = 0}).series("loss")[0], 9.0 / 4, 1e-6);
}

std::string message_of(const auto& call, Code code) {
  const auto error = formats::error_of(call);
  if (!error) return "no error";
  EXPECT_EQ(error->code(), code) << error->what();
  return error->what();
}

TEST(Fit, EmptyDatasetIsAnError) {
  Sequential model{Dense(1)};
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const auto some = data::from_tensor_slices(zeros({4, 2}), zeros({4, 1})).batch(2), none = some.take(0);
  const Code code = Code::kInvalidArgument;
  EXPECT_NE(message_of([&] { model.fit(none, {.verbose = 0}); }, code).find("training dataset is empty"),
            std::string::npos);
  EXPECT_NE(message_of([&] { model.fit(zeros({0, 2}), zeros({0, 1}), {.verbose = 0}); }, code).find("empty"),
            std::string::npos);
  EXPECT_NE(message_of([&] { model.fit(some, {.verbose = 0, .validation_data = none}); }, code).find("empty"),
            std::string::npos);
  EXPECT_NE(message_of([&] { model.evaluate(none); }, code).find("empty"), std::string::npos);
  EXPECT_NE(message_of([&] { model.predict(none); }, code).find("empty"), std::string::npos);
  EXPECT_NE(
      message_of([&] { model.fit(zeros({3, 2}), zeros({4, 1}), {.verbose = 0}); }, code).find("different numbers"),
      std::string::npos);
}

TEST(Fit, AnErrorInTheMiddleLeavesTheModelUsable) {
  Sequential model{Dense(2)};
  model.compile({.optimizer = "sgd", .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  const Tensor bad = Tensor::from(std::vector<int32_t>{0, 1, 0, 2}, {4});  // label 2 of 2 classes in the second batch
  const FitOptions options{.batch_size = 2, .verbose = 0, .shuffle = false};
  message_of([&] { model.fit(ramp({4, 3}), bad, options); }, Code::kOutOfRange);
  const History history = model.fit(ramp({4, 3}), minimum(bad, 1), options);
  EXPECT_TRUE(std::isfinite(history.series("loss")[0]));
}

TEST(Fit, AnInterruptStopsAfterTheStep) {
  const InterruptGuard guard;
  Sequential model{Dense(1)};
  model.compile({.optimizer = "sgd", .loss = "mse"});
  int64_t steps = 0;
  const auto raise_in_third = make_callback({}, [&](Model&, FitState&, const Logs&) {
    if (++steps == 3) std::raise(SIGINT);
  });
  const History history = model.fit(ramp({10, 2}), ramp({10, 1}),
                                    {.batch_size = 2, .epochs = 5, .verbose = 0, .callbacks = {raise_in_third}});
  EXPECT_TRUE(history.interrupted);
  EXPECT_EQ(steps, 3);
  EXPECT_EQ(model.optimizer().iterations().value().item<int64_t>(), 3);
}

TEST(Predict, RecordsNothing) {
  Sequential model = with_randomness();
  const Tensor x = ramp({30, 3});
  model.predict(x, 7);
  const size_t before = memory_stats().in_use;
  GradientTape tape;
  for (int i = 0; i < 20; ++i) model.predict(x, 7);
  EXPECT_EQ(tape.recorded(), 0U);
  EXPECT_EQ(memory_stats().in_use, before);
}

TEST(Predict, EvaluateRecordsNothing) {
  Sequential model = with_randomness();
  model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"mae"}});
  GradientTape tape;
  model.evaluate(ramp({30, 3}), ramp({30, 2}));
  EXPECT_EQ(tape.recorded(), 0U);
}

TEST(Predict, KeepsTheOrderAndEveryRow) {
  std::vector<Numbers> batches;
  Sequential model{make<Spy>(&batches)};
  EXPECT_TRUE(formats::same(model.predict(column(10), 4), column(10)));
  EXPECT_TRUE(formats::same(model.predict(data::from_tensor_slices(column(10)).batch(3)), column(10)));
  EXPECT_TRUE(batches.empty()) << "predict is inference";
}

TEST(Predict, DoesNotMoveStatistics) {
  Sequential model = with_randomness();
  model.predict(ramp({4, 3}));
  std::vector<Tensor> before;
  for (const Variable& v : model.variables()) before.push_back(v.value());
  model.predict(ramp({8, 3}));
  for (size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(formats::same(model.variables()[i], before[i]));
}

}  // namespace
}  // namespace hone::nn
