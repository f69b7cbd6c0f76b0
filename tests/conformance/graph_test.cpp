// A graph gives the bits of the function it was recorded from: every op, every gradient, whole networks.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "hone/base/parallel.h"
#include "hone/device/device.h"
#include "hone/function/function.h"
#include "hone/function/tape.h"
#include "hone/hone.h"
#include "tests/conformance/cases.h"

namespace hone::conformance {
namespace {

// Dead memory is NaN while this lives: what a plan reads too late shows.
class Poison {
 public:
  Poison() { settings.poison_memory = true; }
  ~Poison() { settings.poison_memory = false; }
  Poison(const Poison&) = delete;
  Poison& operator=(const Poison&) = delete;
};

TEST(Graph, EveryOpGivesTheBitsOfEager) {
  const Poison poison;
  for (const Case& c : cases()) {
    const std::vector<Tensor> inputs = draw(c);
    const auto f = function([&](const std::vector<Tensor>& xs) { return run(c, xs); });
    const std::vector<Tensor> expected = run(c, inputs);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(difference(f(inputs), expected), "") << c.label();
  }
}

TEST(Graph, EveryGradientGivesTheBitsOfEager) {
  const Poison poison;
  for (const Case& c : cases()) {
    if (!c.sample.differentiable || c.reads_values()) continue;
    const std::vector<Tensor> inputs = draw(c);
    const auto gradients = [&](const std::vector<Tensor>& given) {
      std::vector<Tensor> xs;
      GradientTape tape;
      for (const Tensor& each : given) {
        xs.push_back(identity(each));
        if (is_floating(each.dtype())) tape.watch(xs.back());
      }
      Tensor total(0.0F);
      const std::vector<Tensor> results = run(c, xs);
      for (size_t i = 0; i < results.size(); ++i) {
        if (is_floating(results[i].dtype()))
          total = total + cast(sum(results[i] * cast(noise(results[i].shape(), i), results[i].dtype())), f32);
      }
      std::vector<Tensor> found = tape.gradient(total, std::span<const Tensor>(xs));
      for (size_t i = 0; i < found.size(); ++i) {
        if (!found[i].defined()) found[i] = zeros_like(xs[i]);
      }
      return found;
    };
    const std::vector<Tensor> expected = gradients(inputs);
    EXPECT_EQ(difference(function(gradients)(inputs), expected), "") << c.label();
  }
}

// Variables after some steps, and the losses.
std::vector<Tensor> train(const std::function<nn::Layer()>& make, const optim::Optimizer& optimizer, const Tensor& x,
                          const Tensor& y, int steps, bool eagerly) {
  nn::set_random_seed(11);
  const nn::Layer model = make();
  const nn::SparseCategoricalCrossentropy loss_fn({.from_logits = true});
  const auto step = function(
      [&](const Tensor& images, const Tensor& labels) {
        GradientTape tape;
        const Tensor loss = loss_fn(labels, model(images, {.training = true}));
        const std::vector<Variable> variables = model.trainable_variables();
        optimizer.apply_gradients(tape.gradient(loss, variables), variables);
        return loss;
      },
      {.run_eagerly = eagerly});
  std::vector<Tensor> results;
  for (int i = 0; i < steps; ++i) results.push_back(step(x, y));
  for (const Variable& variable : model.variables()) results.push_back(variable.value());
  for (const Variable& variable : optimizer.variables()) results.push_back(variable.value());
  return results;
}

struct Network {
  const char* name;
  std::function<nn::Layer()> make;
  Shape input;
  DType dtype = f32;
  int64_t classes = 10;
};

Tensor labels_for(const Network& network) {
  const Tensor raw = random::uniform(random::state(3), network.dtype == f32 ? Shape{network.input[0]} : network.input,
                                     0, static_cast<double>(network.classes))
                         .second;
  return cast(floor(raw), i64);
}

Tensor input_for(const Network& network) {
  if (network.dtype == f32) return random::normal(random::state(4), network.input).second;
  return cast(floor(random::uniform(random::state(4), network.input, 0, 100).second), network.dtype);
}

TEST(Graph, TrainsNetworksBitForBit) {
  const Poison poison;
  namespace apps = nn::applications;
  const Network networks[] = {
      {"mlp", [] { return apps::mlp(); }, {32, 784}},
      {"lenet", [] { return apps::lenet(); }, {16, 28, 28, 1}},
      {"mobilenet", [] { return apps::mobilenet_v1({.alpha = 0.25}); }, {2, 64, 64, 3}},
      {"gpt", [] { return apps::gpt(); }, {2, 16}, i64},
      {"lstm", [] { return apps::lstm_classifier(); }, {4, 9, 16}},
      {"lstm loop", [] { return apps::lstm_loop(); }, {4, 9, 16}},
      {"dropout",
       [] {
         return nn::Sequential{nn::Dense(32, {.activation = "gelu"}), nn::Dropout(0.3), nn::LayerNormalization(),
                               nn::Dense(10)};
       },
       {8, 12}},
  };
  for (const Network& network : networks) {
    const Tensor x = input_for(network), y = labels_for(network);
    const auto run = [&](bool eagerly) {
      return train(network.make, optim::Adam({.learning_rate = 1e-3}), x, y, 4, eagerly);
    };
    EXPECT_EQ(difference(run(false), run(true)), "") << network.name;
  }
}

// Activations and temporaries, against what an eager step takes at its peak.
TEST(Graph, TrainingStepsKeepSixTenthsOfWhatEagerStepsDo) {
  namespace apps = nn::applications;
  const Network networks[] = {
      {"w2", [] { return apps::lenet(); }, {128, 28, 28, 1}},
      {"w3", [] { return apps::resnet20(); }, {64, 32, 32, 3}},
      {"w4", [] { return apps::mobilenet_v1({.alpha = 0.5}); }, {8, 128, 128, 3}, f32, 1000},
      {"w5", [] { return apps::gpt(); }, {8, 128}, i64, 1024},
  };
  for (const Network& network : networks) {
    const Tensor x = input_for(network), y = labels_for(network);
    const nn::Layer model = network.make();
    const optim::SGD optimizer({.learning_rate = 0.01, .momentum = 0.9});
    const nn::SparseCategoricalCrossentropy loss_fn({.from_logits = true});
    const auto body = [&](const Tensor& images, const Tensor& labels) {
      GradientTape tape;
      const Tensor loss = loss_fn(labels, model(images, {.training = true}));
      const std::vector<Variable> variables = model.trainable_variables();
      optimizer.apply_gradients(tape.gradient(loss, variables), variables);
      return loss;
    };
    body(x, y);  // makes the variables
    const size_t before = memory_stats().in_use;
    cpu().reset_peak();
    body(x, y);
    const auto eager = static_cast<double>(memory_stats().peak - before);
    const auto memory = nlohmann::json::parse(function(body).lower(x, y).json())["memory"];
    const auto arena = memory["arena"].get<double>(), bound = memory["lower_bound"].get<double>();
    EXPECT_LE(arena, 0.6 * eager) << network.name;
    EXPECT_LE(arena, 1.1 * bound) << network.name;
  }
}

TEST(Graph, TrainsResNetBitForBitAtAnyNumberOfThreads) {
  const Network network{"resnet20", [] { return nn::applications::resnet20(); }, {4, 32, 32, 3}};
  const Tensor x = input_for(network), y = labels_for(network);
  const int before = threads();
  for (const int count : {1, 2, 3, 7}) {
    set_threads(count);
    const auto run = [&](bool eagerly) {
      return train(network.make, optim::SGD({.learning_rate = 0.05, .momentum = 0.9}), x, y, 20, eagerly);
    };
    EXPECT_EQ(difference(run(false), run(true)), "") << count << " threads";
  }
  set_threads(before);
}

TEST(Graph, OptimizersStepBitForBit) {
  const Network network{
      "small", [] { return nn::Sequential{nn::Dense(33, {.activation = "tanh"}), nn::Dense(10)}; }, {7, 5}};
  const Tensor x = input_for(network), y = labels_for(network);
  const std::function<optim::Optimizer()> optimizers[] = {
      [] { return optim::SGD(); },
      [] { return optim::SGD({.momentum = 0.9, .nesterov = true, .weight_decay = 0.01}); },
      [] { return optim::Adam({.global_clipnorm = 0.1}); },
      [] { return optim::Adam({.clipnorm = 0.1}); },
      [] { return optim::AdamW({.clipvalue = 0.01}); },
      [] {
        return optim::Adam({.learning_rate = optim::CosineDecay({.initial_learning_rate = 0.1, .decay_steps = 10})});
      },
  };
  for (const auto& make : optimizers) {
    EXPECT_EQ(difference(train(network.make, make(), x, y, 5, false), train(network.make, make(), x, y, 5, true)), "")
        << to_json(make().config());
  }
}

}  // namespace
}  // namespace hone::conformance
