// Callbacks: the order of hooks, stopping, checkpoints, progress.
#include "hone/train/callback.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "hone/base/file.h"
#include "hone/train/bundle_test.h"

namespace hone::nn {
namespace {

using Names = std::vector<std::string>;

Sequential small() {
  Sequential model{Dense(1)};
  model.compile({.optimizer = "sgd", .loss = "mse"});
  return model;
}

History fit(Model& model, Callbacks callbacks, int64_t epochs = 2, int verbose = 0) {
  return model.fit(ramp({4, 2}), ramp({4, 1}),
                   {.batch_size = 2, .epochs = epochs, .verbose = verbose, .callbacks = std::move(callbacks)});
}

struct Diary : Callback {
  explicit Diary(Names* entries, std::string name = "") : entries(entries), name(std::move(name)) {}
  Names* entries;
  std::string name;
  void note(const std::string& what) { entries->push_back(name + what); }
  void on_train_begin(Model&, FitState& s) override { note("train of " + std::to_string(s.epochs)); }
  void on_epoch_begin(Model&, FitState& s) override { note("epoch " + std::to_string(s.epoch)); }
  void on_train_batch_end(Model&, FitState& s, const Logs& logs) override {
    note("step " + std::to_string(s.step) + "/" + std::to_string(s.steps) + (logs.empty() ? "" : " with logs"));
  }
  void on_epoch_end(Model&, FitState& s, const Logs& logs) override {
    note("end " + std::to_string(s.epoch) + (logs.find("loss") ? " with loss" : ""));
  }
  void on_train_end(Model&, FitState&) override { note("done"); }
};

TEST(Callbacks, HooksComeInOrder) {
  Names entries;
  Sequential model = small();
  fit(model, {std::make_shared<Diary>(&entries)});
  EXPECT_EQ(entries, (Names{"train of 2", "epoch 0", "step 0/2", "step 1/2", "end 0 with loss", "epoch 1", "step 0/2",
                            "step 1/2", "end 1 with loss", "done"}));
}

TEST(Callbacks, EachHookRunsInTheOrderOfTheList) {
  Names entries;
  Sequential model = small();
  fit(model, {std::make_shared<Diary>(&entries, "a "), std::make_shared<Diary>(&entries, "b ")}, 1);
  EXPECT_EQ(entries, (Names{"a train of 1", "b train of 1", "a epoch 0", "b epoch 0", "a step 0/2", "b step 0/2",
                            "a step 1/2", "b step 1/2", "a end 0 with loss", "b end 0 with loss", "a done", "b done"}));
}

TEST(Callbacks, LogsOfAStepAreThereForThoseWhoReadThem) {
  Names entries;
  std::vector<double> losses;
  Sequential model = small();
  const auto reader =
      make_callback({}, [&](Model&, FitState&, const Logs& logs) { losses.push_back(*logs.find("loss")); });
  const History history = fit(model, {reader}, 1);
  ASSERT_EQ(losses.size(), 2U);
  EXPECT_EQ(losses[1], history.series("loss")[0]) << "the last step's is the epoch's";
}

TEST(Callbacks, AHookStopsTheRun) {
  Sequential model = small();
  Names entries;
  const auto at_epoch_end = make_callback([](Model&, FitState& s, const Logs&) { s.stop = s.epoch == 1; });
  History history = fit(model, {at_epoch_end, std::make_shared<Diary>(&entries)}, 10);
  EXPECT_TRUE(history.stopped);
  EXPECT_EQ(history.epochs, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(entries.back(), "done");

  const auto at_step = make_callback({}, [](Model&, FitState& s, const Logs&) { s.stop = true; });
  entries.clear();
  history = fit(model, {at_step, std::make_shared<Diary>(&entries)}, 10);
  EXPECT_TRUE(history.stopped);
  EXPECT_EQ(history.epochs, (std::vector<int64_t>{0}));
  EXPECT_EQ(entries, (Names{"train of 10", "epoch 0", "step 0/2 with logs", "end 0 with loss", "done"}));
  EXPECT_FALSE(fit(model, {}).stopped);
}

TEST(Callbacks, AnErrorOfAHookReachesTheCaller) {
  Sequential model = small();
  const auto broken = make_callback([](Model&, FitState&, const Logs&) { throw std::runtime_error("mine"); });
  EXPECT_THROW(fit(model, {broken}), std::runtime_error);
  EXPECT_EQ(fit(model, {}).epochs.size(), 2U);
}

TEST(Callbacks, ALogSetAgainKeepsItsPlace) {
  Logs logs;
  logs.set("loss", 1), logs.set("mae", 2), logs.set("loss", 3);
  ASSERT_EQ(logs.items().size(), 2U);
  EXPECT_EQ(logs.items()[0], (std::pair<std::string, double>("loss", 3)));
  EXPECT_EQ(logs.find("none"), nullptr);
}

// --- checkpoints ---

using Checkpoint = BundleTest;

// Feeds values of one log to a checkpoint; the model's bias is the epoch's number.
std::vector<int64_t> saved_epochs(Model& model, ModelCheckpoint& checkpoint, const std::string& name,
                                  const std::vector<double>& values) {
  FitState state{.epochs = static_cast<int64_t>(values.size())};
  for (const double value : values) {
    model.variables()[1].assign(full({1}, static_cast<double>(state.epoch), f32));
    Logs logs;
    logs.set("loss", 1);
    logs.set(name, value);
    checkpoint.on_epoch_end(model, state, logs);
    ++state.epoch;
  }
  return checkpoint.saved_epochs();
}

double epoch_in(const std::string& file) { return Model::load(file).variables()[1].value().to_vector<float>()[0]; }

Sequential built() {
  Sequential model = small();
  model.set_input_type({f32, {1, 2}});
  model(zeros({1, 2}));
  return model;
}

TEST_F(Checkpoint, SaveBestOnlyKeepsTheBest) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const struct {
    ModelCheckpointOptions options;
    std::string name;
    std::vector<double> values;
    std::vector<int64_t> saved;
    double best;
  } cases[] = {
      {{.save_best_only = true}, "val_loss", {3, 1, 2, nan, 0.5, 0.5, 4}, {0, 1, 4}, 0.5},
      {{.save_best_only = true}, "val_loss", {nan, nan, 2, 3}, {2}, 2},
      {{.monitor = "val_accuracy", .save_best_only = true}, "val_accuracy", {0.5, 0.4, 0.7, nan, 0.7}, {0, 2}, 0.7},
      {{.monitor = "score", .save_best_only = true, .mode = "max"}, "score", {-3, -1, -2}, {0, 1}, -1},
      {{.monitor = "val_accuracy", .save_best_only = true, .mode = "min"},
       "val_accuracy",
       {0.5, 0.6, 0.1},
       {0, 2},
       0.1},
  };
  for (const auto& each : cases) {
    Sequential model = built();
    ModelCheckpoint checkpoint(path("m.hone"), each.options);
    EXPECT_TRUE(std::isnan(checkpoint.best()));
    EXPECT_EQ(saved_epochs(model, checkpoint, each.name, each.values), each.saved) << each.name;
    EXPECT_EQ(checkpoint.best(), each.best) << each.name;
    EXPECT_EQ(epoch_in(path("m.hone")), static_cast<double>(each.saved.back())) << "the file holds the best weights";
  }
}

TEST_F(Checkpoint, WithoutBestSavesEachEpochUnderItsNumber) {
  Sequential model = built();
  ModelCheckpoint checkpoint(path("m-{epoch}.hone"));
  EXPECT_EQ(saved_epochs(model, checkpoint, "val_loss", {1, 2, 3}), (std::vector<int64_t>{0, 1, 2}));
  for (int epoch = 0; epoch < 3; ++epoch) EXPECT_EQ(epoch_in(path("m-" + std::to_string(epoch + 1) + ".hone")), epoch);
}

TEST_F(Checkpoint, HoldsWhatTheBestEpochOfARunPredicted) {
  set_random_seed(3);
  Sequential model{Dense(1)};
  model.compile({.optimizer = optim::SGD({.learning_rate = 1.3}), .loss = "mse"});  // too large: the loss rises at last
  const Tensor x = ramp({6, 2}), y = ramp({6, 1});
  const auto checkpoint =
      std::make_shared<ModelCheckpoint>(path("m.hone"), ModelCheckpointOptions{.save_best_only = true});
  const History history = model.fit(x, y,
                                    {.epochs = 8,
                                     .verbose = 0,
                                     .callbacks = {checkpoint},
                                     .validation_data = data::from_tensor_slices(x, y).batch(6)});
  const std::vector<double> losses = history.series("val_loss");
  const auto best = std::ranges::min_element(losses);
  EXPECT_EQ(checkpoint->saved_epochs().back(), best - losses.begin());
  EXPECT_EQ(*Model::load(path("m.hone")).evaluate(x, y).find("loss"), *best);
}

TEST_F(Checkpoint, WrongOptionsAreNamed) {
  EXPECT_THROW(ModelCheckpoint(path("m.hone"), {.mode = "maximum"}), Error);
  Sequential model = built();
  ModelCheckpoint checkpoint(path("m.hone"), {.monitor = "val_acc", .save_best_only = true});
  const auto error = formats::error_of([&] { saved_epochs(model, checkpoint, "val_accuracy", {1}); });
  ASSERT_TRUE(error);
  EXPECT_NE(std::string(error->what()).find("loss, val_accuracy"), std::string::npos) << error->what();
}

// --- progress ---

TEST(Progress, WritesHeartbeatLinesToALog) {
  Sequential model{Dense(1)};
  model.compile({.optimizer = "sgd", .loss = "mse"});
  testing::internal::CaptureStderr();
  model.fit(ramp({300, 2}), ramp({300, 1}), {.batch_size = 1, .epochs = 3});
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(log, '\n'), 3) << log;
  EXPECT_EQ(log.find('\r'), std::string::npos) << "a log is no terminal";
  EXPECT_EQ(log.find('\x1b'), std::string::npos);
  for (const char* part : {"epoch 1/3", "epoch 2/3", "epoch 3/3", "loss ", "examples/s"})
    EXPECT_NE(log.find(part), std::string::npos) << part << " in\n" << log;
}

TEST(Progress, SilentMeansSilent) {
  Sequential model = small();
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  fit(model, {}, 2, 0);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  fit(model, {}, 2, 1);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "") << "results alone go to stdout";
}

}  // namespace
}  // namespace hone::nn
