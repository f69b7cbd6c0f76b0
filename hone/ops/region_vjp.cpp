#include "hone/ops/region_vjp.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "hone/ops/elementwise.h"
#include "hone/ops/kernel.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

struct Step {
  const Op& op;
  Attrs attrs;
  Location location;
  std::vector<Tensor> inputs, outputs;
};

using Gradients = std::unordered_map<uint64_t, Tensor>;  // by tensor id

// Keeps the calls that depend on what is differentiated; those without a gradient rule as the calls they consist of.
class Steps final : public Interpreter {
 public:
  void track(const Tensor& x) { tracked_.insert(x.id()); }
  bool tracked(const Tensor& x) const { return tracked_.contains(x.id()); }

  void process(Call& call) override {
    if (std::ranges::none_of(call.inputs, [&](const Tensor& input) { return tracked(input); })) return pass_on(call);
    if (!call.op.vjp) return call.op.decompose ? decompose(call) : pass_on(call);
    Step step{call.op, Attrs(call.attrs), call.location, {call.inputs.begin(), call.inputs.end()}, {}};
    pass_on(call);
    for (const Tensor& output : call.outputs) {
      step.outputs.push_back(output);
      if (is_floating(output.dtype())) track(output);
    }
    steps.push_back(std::move(step));
  }

  std::vector<Step> steps;

 private:
  std::unordered_set<uint64_t> tracked_;
};

class StepContext final : public VjpContext {
 public:
  StepContext(const Steps& steps, const Step& step, Gradients& gradients)
      : steps_(steps), step_(step), gradients_(gradients) {
    for (const Tensor& output : step.outputs) cotangents_.push_back(gradients[output.id()]);
  }
  bool flows() const {
    return std::ranges::any_of(cotangents_, [](const Tensor& cotangent) { return cotangent.defined(); });
  }
  const Tensor& in(int i) const override { return step_.inputs[static_cast<size_t>(i)]; }
  const Tensor& out(int i) const override { return step_.outputs[static_cast<size_t>(i)]; }
  const Tensor& ct(int i) const override { return cotangents_[static_cast<size_t>(i)]; }
  const TensorType& in_type(int i) const override { return in(i).type(); }
  const TensorType& out_type(int i) const override { return out(i).type(); }
  int inputs() const override { return static_cast<int>(step_.inputs.size()); }
  bool need(int i) const override { return steps_.tracked(in(i)); }
  void set(int i, Tensor gradient) override {
    if (!need(i) || !gradient.defined()) return;
    Tensor& sum = gradients_[in(i).id()];
    sum = sum.defined() ? add({std::move(sum), step_.location}, {std::move(gradient), step_.location})
                        : std::move(gradient);
  }
  AttrRef attrs() const override { return step_.attrs; }

 private:
  const Steps& steps_;
  const Step& step_;
  Gradients& gradients_;
  std::vector<Tensor> cotangents_;
};

}  // namespace

std::vector<Tensor> region_vjp(const ir::Graph& graph, std::span<const Tensor> inputs, const std::vector<bool>& needed,
                               std::span<const Tensor> cotangents) {
  Steps steps;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (needed[i]) steps.track(inputs[i]);
  }
  steps.push();
  const std::vector<Tensor> outputs = ir::interpret(graph, inputs);
  steps.remove();
  Gradients gradients;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!cotangents[i].defined() || !steps.tracked(outputs[i])) continue;
    Tensor& sum = gradients[outputs[i].id()];
    sum = sum.defined() ? sum + cotangents[i] : cotangents[i];
  }
  for (auto step = steps.steps.rbegin(); step != steps.steps.rend(); ++step) {
    StepContext context(steps, *step, gradients);
    if (!context.flows()) continue;
    const LocationScope scope(step->location);
    step->op.vjp(context);
  }
  std::vector<Tensor> found;
  for (size_t i = 0; i < inputs.size(); ++i) found.push_back(needed[i] ? gradients[inputs[i].id()] : Tensor());
  return found;
}

}  // namespace hone
