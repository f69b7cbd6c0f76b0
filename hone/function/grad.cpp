#include "hone/function/grad.h"

#include <fmt/format.h>

#include <unordered_map>

#include "hone/base/error.h"
#include "hone/ops/creation.h"
#include "hone/ops/custom_gradient.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"

namespace hone {
namespace {

// Records which variables a function reads, with their values at the first read.
class ReadCollector final : public Interpreter {
 public:
  ReadCollector() { push(); }
  void process(Call& call) override { pass_on(call); }
  void read_variable(const Variable& variable, Tensor& value) override {
    for (const Read& read : reads) {
      if (read.variable == variable) return;
    }
    reads.push_back({variable, variable.trainable() && is_floating(value.dtype()), value});
  }
  struct Read {
    Variable variable;
    bool differentiable;
    Tensor value;
  };
  std::vector<Read> reads;
};

// Runs a function a second time with the variables as they were, and leaves them untouched.
class Replay final : public Interpreter {
 public:
  explicit Replay(std::unordered_map<const void*, Tensor> values) : values_(std::move(values)) { push(); }
  void process(Call& call) override { pass_on(call); }
  void read_variable(const Variable& variable, Tensor& value) override {
    if (const auto found = values_.find(variable.key()); found != values_.end()) value = found->second;
  }
  bool assign_variable(const Variable& variable, const Tensor& value) override {
    values_[variable.key()] = value;
    return true;
  }

 private:
  std::unordered_map<const void*, Tensor> values_;
};

}  // namespace

namespace grad_detail {

Tensor fresh(const Tensor& x) { return identity(x); }

void check_scalar(const Tensor& value, Location location) {
  if (value.defined() && value.rank() == 0 && is_floating(value.dtype())) return;
  throw Error(
      Code::kInvalidArgument,
      {.what = "grad needs a function that returns a scalar of floating dtype",
       .location = location,
       .details = {"it returned " + (value.defined() ? to_string(value.type()) : std::string("an undefined tensor"))},
       .fix = "reduce the result (sum, mean), or use jacobian"});
}

std::vector<Tensor> gradients(GradientTape& tape, const Tensor& value, std::span<const Tensor> sources,
                              Location location) {
  std::vector<Tensor> found = tape.gradient(value, sources, {}, location);
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i].defined()) found[i] = zeros_like(sources[i], location);
  }
  return found;
}

}  // namespace grad_detail

std::pair<Tensor, Tensor> jvp(const std::function<Tensor(Tensor)>& f, const Tensor& primal, const Tensor& tangent,
                              Location location) {
  if (!primal.defined() || !tangent.defined())
    throw Error(Code::kInvalidArgument,
                {.what = "jvp: primal or tangent is an undefined tensor", .location = location});
  if (!(primal.type() == tangent.type())) {
    throw Error(Code::kInvalidArgument,
                {.what = "jvp: the tangent does not fit the primal",
                 .location = location,
                 .details = {"primal: " + to_string(primal.type()) + "   tangent: " + to_string(tangent.type())},
                 .fix = "pass a tangent of the primal's dtype and shape"});
  }
  const Tensor x = grad_detail::fresh(primal);
  GradientTape outer({.watch_accessed_variables = false});
  GradientTape inner({.watch_accessed_variables = false});
  inner.watch(x);
  const Tensor y = f(x);
  if (!y.defined())
    throw Error(Code::kInvalidArgument,
                {.what = "jvp: the function returned an undefined tensor", .location = location});
  const Tensor u = grad_detail::fresh(zeros_like(y, location));
  outer.watch(u);
  const Tensor product = inner.gradient(y, x, u, location);  // linear in u
  Tensor directional = product.defined() ? outer.gradient(product, u, tangent, location) : Tensor();
  return {y, directional.defined() ? directional : zeros_like(y, location)};
}

std::function<Tensor(Tensor)> jacobian(std::function<Tensor(Tensor)> f, Location location) {
  return [f = std::move(f), location](const Tensor& x) {
    const Tensor input = grad_detail::fresh(x);
    GradientTape tape({.persistent = true, .watch_accessed_variables = false});
    tape.watch(input);
    const Tensor y = f(input);
    return tape.jacobian(y, input, location);
  };
}

std::function<Tensor(std::vector<Tensor>)> custom_gradient(std::function<WithGradient(const std::vector<Tensor>&)> f) {
  return [f = std::move(f)](const std::vector<Tensor>& inputs) {
    WithGradient result;
    {
      const NoGradScope quiet;
      result = f(inputs);
    }
    return attach_gradient(inputs, result.value, std::move(result.backward));
  };
}

std::function<Tensor(std::vector<Tensor>)> checkpoint(std::function<Tensor(const std::vector<Tensor>&)> f) {
  return [f = std::move(f)](const std::vector<Tensor>& inputs) {
    Tensor value;
    std::vector<ReadCollector::Read> reads;
    {
      const NoGradScope quiet;
      ReadCollector collector;
      value = f(inputs);
      reads = std::move(collector.reads);
    }
    // Variables become inputs of the recorded call, so that their gradients reach them.
    std::vector<Tensor> sources = inputs;
    for (const auto& read : reads) {
      if (!read.differentiable) continue;
      Tensor watched = read.value;
      dispatch_read(read.variable, watched);
      sources.push_back(watched);
    }
    const auto backward = [f, inputs, reads](const Tensor& cotangent) {
      std::vector<Tensor> fresh;
      for (const Tensor& input : inputs)
        fresh.push_back(is_floating(input.dtype()) ? grad_detail::fresh(input) : input);
      std::unordered_map<const void*, Tensor> values;
      std::vector<Tensor> sources = fresh;
      for (const auto& read : reads) {
        Tensor& value = values[read.variable.key()];
        value = read.differentiable ? grad_detail::fresh(read.value) : read.value;
        if (read.differentiable) sources.push_back(value);
      }
      GradientTape tape({.watch_accessed_variables = false});
      for (const Tensor& source : sources) {
        if (is_floating(source.dtype())) tape.watch(source);
      }
      Replay replay(std::move(values));
      const Tensor again = f(fresh);
      return tape.gradient(again, std::span<const Tensor>(sources), cotangent);
    };
    return attach_gradient(sources, value, backward);
  };
}

}  // namespace hone
