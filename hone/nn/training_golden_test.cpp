// Optimizers, schedules, losses and metrics against Keras and PyTorch (tests/golden/training.py).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "hone/function/tape.h"
#include "hone/nn/loss.h"
#include "hone/nn/metric.h"
#include "hone/ops/creation.h"
#include "hone/ops/reduction.h"
#include "hone/optim/optimizer.h"

namespace hone::nn {
namespace {

using Json = nlohmann::json;

const Json& vectors(const std::string& library) {
  static std::map<std::string, Json> files;
  Json& json = files[library];
  if (json.is_null()) {
    std::ifstream file("tests/golden/training_" + library + ".json");
    json = Json::parse(file);
  }
  return json;
}

Config config_of(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  Config::Table table;
  for (const auto& [key, value] : json.items()) table.emplace_back(key, config_of(value));
  return table;
}

Tensor tensor_of(const Json& json) {
  const auto dims = json["shape"].get<std::vector<int64_t>>();
  return cast(Tensor::from(json["values"].get<std::vector<float>>(), Shape(std::span<const int64_t>(dims))),
              parse_dtype(json["dtype"].get<std::string>()));
}

void expect_close(const Tensor& got, const Json& values, double tolerance, const std::string& what) {
  const std::vector<float> x = got.to_vector<float>();
  ASSERT_EQ(x.size(), values.size()) << what;
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = values[i].get<double>();
    EXPECT_NEAR(x[i], expected, tolerance * (1 + std::abs(expected))) << what << ", element " << i;
  }
}

void check_optimizers(const std::string& library) {
  const Json& file = vectors(library);
  ASSERT_GE(file["optimizers"].size(), 5U);
  for (const Json& entry : file["optimizers"]) {
    const optim::Optimizer optimizer = optim::optimizer_from_config(config_of(entry["config"]));
    std::vector<Variable> variables;
    for (const Json& start : file["start"]) variables.emplace_back(tensor_of(start));
    for (size_t step = 0; step < entry["after"].size(); ++step) {
      std::vector<Tensor> gradients;
      for (const Json& gradient : file["gradients"][step]) gradients.push_back(tensor_of(gradient));
      optimizer.apply_gradients(std::move(gradients), variables);
      for (size_t i = 0; i < variables.size(); ++i) {
        expect_close(variables[i], entry["after"][step][i], 2e-6,
                     library + " " + entry["config"].dump() + " step " + std::to_string(step));
      }
    }
  }
}

void check_losses(const std::string& library) {
  ASSERT_GE(vectors(library)["losses"].size(), 5U);
  for (const Json& entry : vectors(library)["losses"]) {
    const Loss loss = loss_from_config(config_of(entry["config"]));
    const Tensor y_true = tensor_of(entry["y_true"]), y_pred = tensor_of(entry["y_pred"]);
    GradientTape tape;
    tape.watch(y_pred);
    const Tensor value =
        loss(y_true, y_pred, entry.contains("sample_weight") ? tensor_of(entry["sample_weight"]) : Tensor());
    const std::string what = library + " " + entry["config"].dump();
    expect_close(value, entry["value"]["values"], 3e-6, what);
    expect_close(tape.gradient(value, y_pred), entry["gradient"]["values"], 1e-5, what + " gradient");
  }
}

TEST(Optimizers, MatchKeras) { check_optimizers("keras"); }
TEST(Optimizers, MatchTorch) { check_optimizers("torch"); }
TEST(Losses, MatchKeras) { check_losses("keras"); }
TEST(Losses, MatchTorch) { check_losses("torch"); }

TEST(CosineDecay, MatchesKeras) {
  for (const Json& entry : vectors("keras")["schedules"]) {
    const optim::LearningRate rate = optim::LearningRate::from_config(config_of(entry["config"]));
    for (size_t i = 0; i < entry["steps"].size(); ++i) {
      const Tensor got = (*rate.schedule())(Tensor(entry["steps"][i].get<int64_t>()));
      EXPECT_NEAR(got.item<double>(), entry["rates"][i].get<double>(), 1e-7)
          << entry["config"] << " step " << entry["steps"][i];
    }
  }
}

TEST(Metrics, MatchKeras) {
  for (const Json& entry : vectors("keras")["metrics"]) {
    const Metric metric = metric_from_config(config_of(entry["config"]));
    Tensor weight = entry.contains("first_weight") ? tensor_of(entry["first_weight"]) : Tensor();
    for (const Json& expected : entry["results"]) {
      metric.update_state(tensor_of(entry["y_true"]), tensor_of(entry["y_pred"]), weight);
      EXPECT_NEAR(metric.result().item<double>(), expected.get<double>(), 1e-6) << entry["config"];
      weight = Tensor();
    }
  }
}

}  // namespace
}  // namespace hone::nn
