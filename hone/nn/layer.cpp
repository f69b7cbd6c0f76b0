#include "hone/nn/layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include "hone/base/error.h"
#include "hone/nn/registry.h"
#include "hone/tensor/interpreter.h"

namespace hone::nn {
namespace {

// "SeparableConv2D" -> "separable_conv2d", as Keras names layers.
std::string snake_case(const std::string& type) {
  std::string out;
  for (size_t i = 0; i < type.size(); ++i) {
    const bool upper = std::isupper(static_cast<unsigned char>(type[i])) != 0;
    const bool after_lower = i > 0 && std::islower(static_cast<unsigned char>(type[i - 1])) != 0;
    if (upper && after_lower) out += '_';
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(type[i])));
  }
  return out;
}

void collect(const Layer& layer, const std::string& prefix, std::unordered_set<const void*>& seen,
             std::vector<std::pair<std::string, Variable>>& out) {
  for (const Variable& variable : layer.module().own_variables()) {
    if (seen.insert(variable.key()).second) out.emplace_back(prefix + variable.name(), variable);
  }
  for (const auto& [name, child] : layer.module().children()) collect(child, prefix + name + "/", seen, out);
}

// Ops name the layer that calls them; other errors get it where they leave the innermost one.
bool names_layer(const Error& error) {
  return std::ranges::any_of(error.parts().details,
                             [](const std::string& line) { return line.starts_with("in layer "); });
}

Error in_this_layer(const Error& error) {
  ErrorParts parts = error.parts();
  parts.details.push_back("in layer " + LocationScope::path());
  if (!parts.location.known()) parts.location = LocationScope::resolve({});
  return {error.code(), std::move(parts)};
}

std::map<std::string, std::function<Layer(const Config&)>, std::less<>>& custom_types() {
  static std::map<std::string, std::function<Layer(const Config&)>, std::less<>> types;
  return types;
}

}  // namespace

void Module::build(std::span<const TensorType>) {}

Tensor Module::call(const Tensor&, const CallOptions&) {
  throw Error(Code::kInternal, fmt::format("module {} has no call", type()),
              "override Tensor call(const Tensor& x, const CallOptions& options)");
}

Tensor Module::call(std::span<const Tensor> inputs, const CallOptions& options) {
  if (inputs.size() != 1) {
    throw Error(Code::kInvalidArgument,
                fmt::format("layer {} takes one input, got {}", name_.empty() ? type() : name_, inputs.size()));
  }
  return call(inputs[0], options);
}

Config Module::config() const { return Config(Config::Table{{"type", type()}}); }

Variable Module::variable(std::string name, VariableSpec spec) {
  for (const Variable& other : variables_) {
    if (other.name() == name)
      throw Error(Code::kInvalidArgument, fmt::format("module {} has a variable '{}' already", type(), name));
  }
  const Tensor initial = [&] {
    const InterpreterScope now(nullptr);  // not part of what a trace or a tape records
    return spec.initializer.make(spec.shape, spec.dtype);
  }();
  variables_.emplace_back(initial, VariableOptions{.name = std::move(name), .trainable = spec.trainable && trainable_});
  if (!spec.trainable) state_.push_back(variables_.back().key());
  return variables_.back();
}

bool Module::is_state(const Variable& variable) const {
  return std::ranges::find(state_, variable.key()) != state_.end();
}

void Module::add_child(std::string name, const Layer& layer) {
  if (!layer.defined())
    throw Error(Code::kInvalidArgument, fmt::format("child '{}' of {} is an empty layer", name, type()));
  for (const auto& [other, unused] : children_) {
    if (other == name)
      throw Error(Code::kInvalidArgument, fmt::format("module {} has a child '{}' already", type(), name),
                  "give children different names");
  }
  if (layer.name().empty() || layer.name() == snake_case(layer.module().type())) layer.set_name(name);
  children_.emplace_back(std::move(name), layer);
}

Layer::Layer(std::shared_ptr<Module> impl) : impl_(std::move(impl)) {
  if (impl_ && impl_->name_.empty()) impl_->name_ = snake_case(impl_->type());
}

void Layer::build(std::span<const TensorType> inputs) const {
  if (impl_->built_) return;
  impl_->build(inputs);
  impl_->built_ = true;
}

Tensor Layer::call(std::span<const Tensor> inputs, const CallOptions& options, Location location) const {
  if (!impl_)
    throw Error(Code::kFailedPrecondition,
                {.what = "calling an empty layer", .location = location, .fix = "construct the layer first"});
  const LocationScope scope(location, impl_->name_.c_str());
  try {
    if (!impl_->built_) {
      std::vector<TensorType> types;
      for (const Tensor& input : inputs) types.push_back(input.type());
      build(types);
    }
    return inputs.size() == 1 ? impl_->call(inputs[0], options) : impl_->call(inputs, options);
  } catch (const Error& error) {
    if (names_layer(error)) throw;
    throw in_this_layer(error);
  }
}

Tensor Layer::operator()(const Tensor& x, const CallOptions& options, Location location) const {
  return call({&x, 1}, options, location);
}
Tensor Layer::operator()(std::initializer_list<Tensor> inputs, const CallOptions& options, Location location) const {
  return call(std::span(inputs.begin(), inputs.size()), options, location);
}

std::vector<std::pair<std::string, Variable>> Layer::named_variables() const {
  std::vector<std::pair<std::string, Variable>> out;
  std::unordered_set<const void*> seen;
  collect(*this, "", seen, out);
  return out;
}

std::vector<Variable> Layer::variables() const {
  std::vector<Variable> out;
  for (auto& [name, variable] : named_variables()) out.push_back(variable);
  return out;
}
std::vector<Variable> Layer::trainable_variables() const {
  std::vector<Variable> out;
  for (auto& [name, variable] : named_variables()) {
    if (variable.trainable()) out.push_back(variable);
  }
  return out;
}
std::vector<Variable> Layer::non_trainable_variables() const {
  std::vector<Variable> out;
  for (auto& [name, variable] : named_variables()) {
    if (!variable.trainable()) out.push_back(variable);
  }
  return out;
}

int64_t Layer::parameters() const {
  int64_t n = 0;
  for (const Variable& variable : variables()) n += variable.size();
  return n;
}

void Layer::set_trainable(bool trainable) const {
  impl_->trainable_ = trainable;
  for (const Variable& variable : impl_->variables_) {
    if (!impl_->is_state(variable)) variable.set_trainable(trainable);
  }
  for (const auto& [name, child] : impl_->children_) child.set_trainable(trainable);
}

void Layer::reset_states() const {
  impl_->reset_states();
  for (const auto& [name, child] : impl_->children_) child.reset_states();
}

int64_t Layer::batch_size() const {
  int64_t size = impl_->batch_size();
  for (const auto& [name, child] : impl_->children_) size = std::max(size, child.batch_size());
  return size;
}

void register_layer(std::string type, std::function<Layer(const Config&)> from_config) {
  custom_types()[std::move(type)] = std::move(from_config);
}

namespace {

// What a config may say of a layer of any type.
Layer with_common_options(Layer layer, const Config& config, std::string_view where) {
  if (const Config* name = config.find("name")) layer.set_name(name->as_string(fmt::format("{}.name", where)));
  if (const Config* trainable = config.find("trainable");
      trainable && !trainable->as_bool(fmt::format("{}.trainable", where)))
    layer.set_trainable(false);
  return layer;
}

}  // namespace

Layer layer_from_config(const Config& config, std::string_view where) {
  const Config* type = config.find("type");
  if (!type) {
    throw Error(Code::kInvalidArgument, fmt::format("{} needs a type", where),
                "for example {type = \"Dense\", units = 10}");
  }
  const std::string& name = type->as_string(fmt::format("{}.type", where));
  if (const auto custom = custom_types().find(name); custom != custom_types().end())
    return with_common_options(custom->second(config), config, where);
  std::vector<std::string_view> names;
  for (const LayerType& each : layer_types()) {
    if (each.name == name) {
      ConfigReader reader(config, where);
      Layer layer = each.from_config(reader);
      reader.finish();
      return with_common_options(layer, config, where);
    }
    names.push_back(each.name);
  }
  const std::string close = nearest(name, names);
  throw Error(Code::kInvalidArgument,
              {.what = fmt::format("{}: no layer type is named '{}'", where, name),
               .fix = close.empty() ? "register it with nn::register_layer, or use one of the library's types"
                                    : fmt::format("did you mean '{}'?", close)});
}

}  // namespace hone::nn
