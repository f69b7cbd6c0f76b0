#include "hone/nn/metric.h"

#include <gtest/gtest.h>

#include <cmath>

#include "hone/base/error.h"
#include "hone/function/tape.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"

namespace hone::nn {
namespace {

float value_of(const Metric& metric, const Tensor& y_true, const Tensor& y_pred) {
  metric.reset_state();
  metric.update_state(y_true, y_pred);
  return metric.result().item<float>();
}

const Tensor& scores() {
  static const Tensor x =
      Tensor::from(std::vector<float>{0.1F, 0.7F, 0.2F, 0.6F, 0.3F, 0.1F, 0.2F, 0.3F, 0.5F, 0.4F, 0.4F, 0.2F}, {4, 3});
  return x;
}

TEST(Metric, MeanAccumulatesOverBatchesAndResets) {
  const metrics::Mean mean;
  EXPECT_EQ(mean.result().item<float>(), 0);
  mean.update_state(Tensor::of<float>({1, 2, 3}));
  mean.update_state(Tensor(6.F));
  EXPECT_FLOAT_EQ(mean.result().item<float>(), 3);
  const Metric copy = mean;
  copy.reset_state();
  mean.update_state(Tensor::of<float>({4, 8}), Tensor::of<float>({3, 1}));
  EXPECT_FLOAT_EQ(mean.result().item<float>(), 5);
}

TEST(Metric, MeanCountsBeyond24Bits) {
  const metrics::Mean mean;
  mean.update_state(Tensor(1.F), Tensor(20'000'000.F));
  for (int i = 0; i < 10; ++i) mean.update_state(Tensor(0.F));
  EXPECT_EQ(mean.variables()[1].value().item<double>(), 20'000'010);
}

TEST(Accuracy, PicksItsFormByTheShapes) {
  const Metric accuracy = "accuracy";
  EXPECT_EQ(accuracy.name(), "accuracy");
  const Tensor labels = Tensor::of<uint8_t>({1, 0, 1, 0});  // right, right, wrong, right (the first of equals)
  EXPECT_FLOAT_EQ(value_of(accuracy, labels, scores()), 0.75F);
  EXPECT_FLOAT_EQ(value_of(accuracy, reshape(labels, {4, 1}), scores()), 0.75F);
  EXPECT_FLOAT_EQ(value_of(accuracy, one_hot(labels, 3), scores()), 0.75F);
  EXPECT_FLOAT_EQ(value_of(accuracy, Tensor::of<int32_t>({1, 1, 0, 0}),
                           Tensor::from(std::vector<float>{0.9F, 0.4F, 0.6F, 0.5F}, {4, 1})),
                  0.5F);
}

TEST(Accuracy, ThresholdServesLogits) {
  const Tensor labels = Tensor::of<float>({1, 1, 0}), logits = Tensor::from(std::vector<float>{0.3F, 2, -1}, {3, 1});
  EXPECT_FLOAT_EQ(value_of(metrics::BinaryAccuracy(), labels, logits), 2.F / 3);
  EXPECT_FLOAT_EQ(value_of(metrics::BinaryAccuracy({.threshold = 0}), labels, logits), 1);
  EXPECT_FLOAT_EQ(value_of(metrics::Accuracy({.threshold = 0}), labels, logits), 1);
}

TEST(Accuracy, LabelsBeyondAByteAreNotFolded) {
  EXPECT_FLOAT_EQ(value_of(metrics::SparseCategoricalAccuracy(), Tensor::of<uint8_t>({44}),
                           one_hot(Tensor::of<int32_t>({300}), 400)),
                  0);
}

TEST(SparseTopKCategoricalAccuracy, CountsTiesAsHitsAndNaNAsMiss) {
  const Tensor labels = Tensor::of<int32_t>({2, 2, 0, 1});
  EXPECT_FLOAT_EQ(value_of(metrics::SparseTopKCategoricalAccuracy({.k = 1}), labels, scores()), 0.25F);
  EXPECT_FLOAT_EQ(value_of(metrics::SparseTopKCategoricalAccuracy({.k = 2}), labels, scores()), 0.5F);
  EXPECT_FLOAT_EQ(value_of(metrics::SparseTopKCategoricalAccuracy(), labels, scores()), 1);
  EXPECT_FLOAT_EQ(value_of(metrics::SparseTopKCategoricalAccuracy(), Tensor::of<int32_t>({0, 7}),
                           Tensor::from(std::vector<float>{NAN, 1, 2, 3}, {2, 2})),
                  0);
}

TEST(Metric, ErrorsOfRegression) {
  const Tensor y_true = Tensor::from(std::vector<float>{0, 0, 0, 0}, {2, 2}),
               y_pred = Tensor::from(std::vector<float>{1, -3, 0, 2}, {2, 2});
  EXPECT_FLOAT_EQ(value_of("mse", y_true, y_pred), 3.5F);
  EXPECT_FLOAT_EQ(value_of("mae", y_true, y_pred), 1.5F);
}

TEST(Metric, UpdatesAreNotRecordedByTapes) {
  const Variable w(Tensor::of<float>({1, 2}));
  GradientTape tape;
  const Tensor y = w * 2;
  const size_t before = tape.recorded();
  Metric("mse").update_state(zeros({2}), y);
  EXPECT_EQ(tape.recorded(), before);
}

TEST(Metric, NamesConfigsAndOwnFunctions) {
  for (const auto& [name, type] : {std::pair{"acc", "Accuracy"},
                                   {"sparse_categorical_accuracy", "SparseCategoricalAccuracy"},
                                   {"mse", "MeanSquaredError"},
                                   {"sparse_top_k_categorical_accuracy", "SparseTopKCategoricalAccuracy"},
                                   {"BinaryAccuracy", "BinaryAccuracy"}}) {
    const Metric metric(name);
    EXPECT_EQ(metric.type(), type);
    EXPECT_EQ(metric.name(), name);
  }
  const Metric list[] = {metrics::SparseTopKCategoricalAccuracy({.k = 3, .name = "top3"}),
                         metrics::BinaryAccuracy({.threshold = 0.25}), "accuracy"};
  for (const Metric& metric : list) {
    const Metric again = metric_from_config(metric.config());
    EXPECT_EQ(again.config(), metric.config());
    EXPECT_EQ(again.name(), metric.name());
  }
  EXPECT_EQ(metrics::SparseTopKCategoricalAccuracy().name(), "sparse_top_k_categorical_accuracy");
  const Metric own([](const Tensor& y_true, const Tensor& y_pred) { return cast(y_true == y_pred, f32); }, "same");
  EXPECT_FLOAT_EQ(value_of(own, Tensor::of<float>({1, 2}), Tensor::of<float>({1, 3})), 0.5F);
}

TEST(Metric, ErrorsNameTheNearestAndTheCallersLine) {
  try {
    metric_from_config("acuracy", "train.metrics[0]");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'accuracy'?"), std::string::npos) << error.what();
  }
  try {
    Metric("accuracy").update_state(zeros({3}), zeros({4, 2}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("metric_test.cpp"), std::string::npos) << error.what();
  }
  EXPECT_THROW(metrics::SparseTopKCategoricalAccuracy({.k = 0}), Error);
}

}  // namespace
}  // namespace hone::nn
