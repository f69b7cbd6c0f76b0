#include "hone/optim/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "hone/base/error.h"
#include "hone/base/log.h"
#include "hone/base/small_vector.h"
#include "hone/function/tape.h"
#include "hone/ops/creation.h"
#include "hone/optim/clipping.h"
#include "hone/tensor/interpreter.h"

namespace hone::optim {
namespace {

using Values = SmallVector<Tensor, 4>;

// A variable and its slots; holding the variable keeps its key from being given to another.
struct Entry {
  std::vector<Variable> variables;  // the parameter first
};

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

void check_rate(double value, Location location = {}) {
  if (std::isfinite(value) && value >= 0) return;
  throw Error(
      Code::kInvalidArgument,
      {.what = fmt::format("learning rate {}", value), .location = location, .fix = "it must be a finite number >= 0"});
}

}  // namespace

struct Optimizer::State {
  std::shared_ptr<const UpdateRule> rule;
  std::optional<Schedule> schedule;
  Clipping clipping;
  std::string prefix;  // "adam/"
  Variable iterations, learning_rate;
  std::vector<Entry> entries;
  std::unordered_map<const void*, size_t> index;
  std::unordered_set<std::string> names;
  bool warned = false;

  Tensor rate(const Tensor& step) const { return schedule ? (*schedule)(step) : learning_rate.value(); }

  // Steps name the variables in the same order: entry `guess` is the one, as a rule.
  Entry& entry(size_t guess, const Variable& variable, const std::string& name) {
    if (guess < entries.size() && entries[guess].variables[0] == variable) return entries[guess];
    if (const auto found = index.find(variable.key()); found != index.end()) return entries[found->second];
    std::string path = prefix + name;
    for (int i = 1; !names.insert(path).second; ++i) path = fmt::format("{}{}_{}", prefix, name, i);
    Entry made{{variable}};
    for (const std::string_view slot : rule->slots()) {
      made.variables.emplace_back(zeros(variable.shape(), variable.dtype()),
                                  VariableOptions{.name = fmt::format("{}/{}", path, slot), .trainable = false});
    }
    index.emplace(variable.key(), entries.size());
    entries.push_back(std::move(made));
    return entries.back();
  }

  void check(const std::vector<Tensor>& gradients, const std::vector<Variable>& variables, Location location);
  void update(const Entry& entry, Tensor& gradient, const Tensor& rate, const Tensor& step, Location location) const;
};

void Optimizer::State::check(const std::vector<Tensor>& gradients, const std::vector<Variable>& variables,
                             Location location) {
  if (gradients.size() != variables.size()) {
    throw Error(Code::kInvalidArgument,
                {.what = fmt::format("{} gradients for {} variables", gradients.size(), variables.size()),
                 .location = location,
                 .fix = "pass the gradients of these variables: tape.gradient(loss, variables)"});
  }
  size_t undefined = 0;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!variables[i].defined())
      throw Error(Code::kInvalidArgument, {.what = fmt::format("variable {} was never made", i), .location = location});
    if (!gradients[i].defined())
      ++undefined;
    else if (!(gradients[i].type() == variables[i].type())) {
      throw Error(Code::kInvalidArgument,
                  {.what = fmt::format("the gradient of variable '{}' has another type", variables[i].name()),
                   .location = location,
                   .details = {"expected: " + to_string(variables[i].type()), "got: " + to_string(gradients[i].type())},
                   .fix = "pass gradients in the order of their variables; convert with cast(gradient, dtype)"});
    }
  }
  if (undefined == 0 || (warned && undefined < gradients.size())) return;
  std::string missing;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) missing += (missing.empty() ? "" : ", ") + variables[i].name();
  }
  if (undefined == gradients.size()) {
    throw Error(Code::kInvalidArgument, {.what = "no variable has a gradient",
                                         .location = location,
                                         .details = {"variables: " + missing},
                                         .fix = "compute the loss from these variables inside the tape's scope"});
  }
  logging::warning(fmt::format("the loss does not depend on these variables, so they are not trained: {}", missing));
  warned = true;
}

void Optimizer::State::update(const Entry& entry, Tensor& gradient, const Tensor& rate, const Tensor& step,
                              Location location) const {
  Values values;
  const auto put_back = [&] {
    for (size_t i = 0; i < values.size(); ++i) entry.variables[i].assign(values[i], location);
  };
  for (const Variable& variable : entry.variables) values.push_back(variable.take());
  try {
    rule->update({{values.data(), values.size()}, gradient, rate, step, location});
  } catch (...) {
    put_back();
    throw;
  }
  put_back();
}

Optimizer::Optimizer(const std::string& name) : Optimizer(optimizer_from_config(Config(name))) {}

Optimizer::Optimizer(std::shared_ptr<const UpdateRule> rule, LearningRate learning_rate, Clipping clipping)
    : state_(std::make_shared<State>()) {
  check_clipping(clipping);
  state_->prefix = lower(rule->type()) + "/";
  state_->rule = std::move(rule);
  state_->schedule = learning_rate.schedule();
  state_->clipping = clipping;
  state_->iterations = Variable(Tensor(int64_t{0}), {.name = state_->prefix + "iterations", .trainable = false});
  if (state_->schedule) return;
  check_rate(learning_rate.value());
  state_->learning_rate = Variable(Tensor(static_cast<float>(learning_rate.value())),
                                   {.name = state_->prefix + "learning_rate", .trainable = false});
}

Optimizer::State& Optimizer::state() const {
  if (!state_)
    throw Error(Code::kFailedPrecondition, "this optimizer was never made",
                "construct one: optim::Adam({.learning_rate = 1e-3})");
  return *state_;
}

void Optimizer::apply_gradients(std::vector<Tensor> gradients, const std::vector<Variable>& variables,
                                Location location) const {
  State& s = state();
  const LocationScope where(location);
  const NoGradScope no_grad;
  s.check(gradients, variables, LocationScope::resolve(location));
  clip(s.clipping, gradients);
  const Tensor done = s.iterations.value(), next = done + 1;
  const Tensor rate = s.rate(done), step = cast(next, f32);
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    s.update(s.entry(i, variables[i], variables[i].name()), gradients[i], rate, step, location);
    gradients[i] = Tensor();
  }
  s.iterations.assign(next);
}

void Optimizer::build(std::span<const std::pair<std::string, Variable>> variables) const {
  for (const auto& [name, variable] : variables) state().entry(state().entries.size(), variable, name);
}

Variable Optimizer::iterations() const { return state().iterations; }

Tensor Optimizer::learning_rate() const {
  const NoGradScope no_grad;
  return state().rate(state().iterations.value());
}

void Optimizer::set_learning_rate(double value, Location location) const {
  check_rate(value, location);
  if (state().schedule) {
    throw Error(Code::kFailedPrecondition,
                {.what = "the learning rate follows a schedule",
                 .location = location,
                 .fix = "make the optimizer with a number: optim::" + type() + "({.learning_rate = 1e-3})"});
  }
  state().learning_rate.assign(Tensor(static_cast<float>(value)), location);
}

void Optimizer::set_total_steps(int64_t steps) const {
  if (state().schedule) state().schedule->set_total_steps(steps);
}

std::vector<std::pair<std::string, Variable>> Optimizer::named_variables() const {
  std::vector<std::pair<std::string, Variable>> out;
  for (const Variable& variable : variables()) out.emplace_back(variable.name(), variable);
  return out;
}

std::vector<Variable> Optimizer::variables() const {
  std::vector<Variable> out{state().iterations};
  if (!state().schedule) out.push_back(state().learning_rate);
  for (const Entry& entry : state().entries) out.insert(out.end(), entry.variables.begin() + 1, entry.variables.end());
  return out;
}

Config Optimizer::config() const { return state().rule->config(); }
std::string Optimizer::type() const { return state().rule->type(); }

}  // namespace hone::optim
