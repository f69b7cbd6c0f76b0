#include "hone/train/sequential.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "hone/train/model.h"

namespace hone::nn {

SequentialModule::SequentialModule(std::span<const Layer> layers) {
  // Names as Keras gives them: conv2d, conv2d_1, ...
  std::set<std::string> used;
  for (const Layer& layer : layers) {
    std::string name = layer.defined() ? layer.name() : "";
    for (int i = 1; !used.insert(name).second; ++i) name = fmt::format("{}_{}", layer.name(), i);
    child(name, layer);
  }
}

Tensor SequentialModule::call(const Tensor& x, const CallOptions& options) {
  Tensor value = x;
  for (const auto& [name, layer] : children()) value = layer.call({&value, 1}, options, {});
  return value;
}

Config SequentialModule::config() const {
  Config::Array layers;
  for (const auto& [name, layer] : children()) {
    const auto same = [&layer](const auto& child) { return child.second.impl() == layer.impl(); };
    const std::string& first = std::ranges::find_if(children(), same)->first;
    if (first != name) {
      layers.push_back(Config::Table{{"type", "Shared"}, {"layer", first}, {"name", name}});
      continue;
    }
    Config config = layer.config();
    config.set("name", name);
    if (!layer.trainable()) config.set("trainable", false);
    layers.push_back(std::move(config));
  }
  return Config::Table{{"type", type()}, {"layers", std::move(layers)}};
}

Sequential::Sequential(std::initializer_list<Layer> layers) : Sequential(std::vector<Layer>(layers)) {}
Sequential::Sequential(std::vector<Layer> layers) : Model(Layer(std::make_shared<SequentialModule>(layers))) {}

}  // namespace hone::nn
