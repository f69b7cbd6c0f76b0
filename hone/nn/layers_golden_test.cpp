// Layers against Keras and PyTorch (tests/golden/layers.py): outputs, gradients, weights after five steps, statistics.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "hone/function/tape.h"
#include "hone/nn/layer.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/optim/optimizer.h"

namespace hone::nn {
namespace {

using Json = nlohmann::json;

// Of the largest magnitude in an array (at least 1). f32 sums in another order differ by some 1e-6; five steps add up.
constexpr double kTolerance = 1e-5;

Config config_of(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array()) {
    Config::Array items;
    for (const Json& item : json) items.push_back(config_of(item));
    return items;
  }
  Config::Table table;
  for (const auto& [key, value] : json.items()) table.emplace_back(key, config_of(value));
  return table;
}

Tensor tensor_of(const Json& json) {
  std::vector<float> values;
  for (const Json& value : json["values"])
    values.push_back(value.is_boolean() ? value.get<bool>() : value.get<float>());
  const auto dims = json["shape"].get<std::vector<int64_t>>();
  const auto dtype = json["dtype"].get<std::string>();
  const Tensor wide = Tensor::from(values, Shape(std::span<const int64_t>(dims)));
  return cast(wide, dtype == "bool" ? bool_ : dtype == "int32" ? i32 : f32);
}

void expect_close(const Tensor& got, const Json& expected, const std::string& what) {
  const Tensor wanted = tensor_of(expected);
  ASSERT_TRUE(got.defined()) << what << " has no gradient";
  ASSERT_EQ(got.shape(), wanted.shape()) << what;
  const std::vector<float> x = got.to_vector<float>(), y = wanted.to_vector<float>();
  double largest = 1, error = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_TRUE(std::isfinite(x[i])) << what << ", element " << i;
    largest = std::max(largest, std::abs(static_cast<double>(y[i])));
    error = std::max(error, std::abs(static_cast<double>(x[i]) - y[i]));
  }
  EXPECT_LE(error, kTolerance * largest) << what;
}

std::map<std::string, Variable> variables_of(const Layer& layer) {
  const auto named = layer.named_variables();
  return {named.begin(), named.end()};
}

struct Run {
  Layer layer;
  CallOptions options;
  std::vector<Tensor> inputs;
  Tensor cotangent;

  Tensor output(const std::vector<Tensor>& x) const { return layer.call(x, options, Location::current()); }
};

void check_gradients(const Run& run, const Json& entry, const std::string& what) {
  GradientTape tape({.persistent = true});
  std::vector<Tensor> sources;
  for (const Tensor& input : run.inputs) {
    if (is_floating(input.dtype())) sources.push_back(input), tape.watch(input);
  }
  const Tensor output = run.output(run.inputs);
  expect_close(output, entry["output"], what + " output");
  const std::vector<Tensor> by_input = tape.gradient(output, sources, run.cotangent);
  ASSERT_EQ(by_input.size(), entry["input_gradients"].size()) << what;
  for (size_t i = 0; i < by_input.size(); ++i)
    expect_close(by_input[i], entry["input_gradients"][i], what + " gradient of input " + std::to_string(i));
  for (const auto& [name, variable] : variables_of(run.layer)) {
    if (variable.trainable())
      expect_close(tape.gradient(output, variable, run.cotangent), entry["gradients"].at(name),
                   what + " gradient of " + name);
  }
}

void check_steps(const Run& run, const Json& entry, double rate, const std::string& what) {
  const optim::SGD optimizer({.learning_rate = rate});
  const std::vector<Variable> weights = run.layer.trainable_variables();
  const auto named = variables_of(run.layer);
  for (size_t step = 0; step < 5; ++step) {
    std::vector<Tensor> inputs;
    for (const Tensor& x : run.inputs)
      inputs.push_back(is_floating(x.dtype()) ? x * (1 + static_cast<double>(step) / 10) : x);
    GradientTape tape;
    const Tensor output = run.output(inputs);
    if (!weights.empty()) optimizer.apply_gradients(tape.gradient(output, weights, run.cotangent), weights);
    if (entry["statistics"].empty()) continue;
    for (const auto& [name, value] : entry["statistics"][step].items())
      expect_close(named.at(name), value, what + " " + name + " of step " + std::to_string(step));
  }
  ASSERT_EQ(entry["after"].size(), weights.size()) << what;
  for (const auto& [name, value] : entry["after"].items())
    expect_close(named.at(name), value, what + " " + name + " after five steps");
}

void check_layers(const std::string& library, size_t at_least) {
  std::ifstream stream("tests/golden/layers_" + library + ".json");
  const Json file = Json::parse(stream);
  ASSERT_GE(file["entries"].size(), at_least);
  for (const Json& entry : file["entries"]) {
    const std::string what = library + " " + entry["config"].dump();
    Run run{layer_from_config(config_of(entry["config"])), {.training = entry["training"].get<bool>()}, {}, {}};
    if (entry.contains("mask")) run.options.mask = tensor_of(entry["mask"]);
    for (const Json& input : entry["inputs"]) run.inputs.push_back(tensor_of(input));
    run.cotangent = tensor_of(entry["cotangent"]);
    std::vector<TensorType> types;
    for (const Tensor& input : run.inputs) types.push_back(input.type());
    run.layer.build(types);
    const auto named = variables_of(run.layer);
    ASSERT_EQ(named.size(), entry["weights"].size()) << what;
    const auto set_weights = [&] {
      for (const auto& [name, value] : entry["weights"].items()) {
        ASSERT_TRUE(named.contains(name)) << what << " has no " << name;
        named.at(name).assign(tensor_of(value));
      }
    };
    set_weights();
    check_gradients(run, entry, what);
    set_weights();  // a call in training has moved the statistics
    check_steps(run, entry, file["rate"].get<double>(), what);
  }
}

TEST(Layers, MatchKeras) { check_layers("keras", 45); }
TEST(Layers, MatchTorch) { check_layers("torch", 15); }

}  // namespace
}  // namespace hone::nn
