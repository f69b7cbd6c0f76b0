#include "hone/train/freeze.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <list>
#include <mutex>

#include "hone/base/error.h"
#include "hone/base/settings.h"
#include "hone/compiler/freeze.h"
#include "hone/compiler/pipeline.h"
#include "hone/function/function.h"
#include "hone/function/lowered_state.h"
#include "hone/function/tape.h"
#include "hone/function/trace.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/reduction.h"
#include "hone/tensor/interpreter.h"

namespace hone::nn {
namespace {

constexpr size_t kMaxPlans = 16;  // batch sizes that stay ready

Trace record_model(const Layer& model, const TensorType& input, Location location) {
  const bool defined[] = {true};
  return record({.name = "frozen", .arguments = {&input, 1}, .defined = defined},
                [&](std::span<const Tensor> leaves, std::vector<Tensor>& results, SmallVector<uint64_t, 8>&) {
                  const NoGradScope quiet;
                  results.push_back(model(leaves[0], {.training = false}, location));
                });
}

Tensor default_sample(const TensorType& type) {
  const Shape& shape = type.shape;
  constexpr uint64_t kSeed = 20;
  if (is_floating(type.dtype)) return cast(random::normal(random::state(kSeed), shape).second, type.dtype);
  return cast(floor(random::uniform(random::state(kSeed), shape, 0, 2).second), type.dtype);
}

}  // namespace

struct FrozenModel::State {
  struct Plan {
    TensorType type;
    bool portable;  // as settings.reproducible was: the plan's kernels are chosen
    std::shared_ptr<const Trace> trace;
    compiler::Compiled compiled;
  };

  Layer model;
  TensorType input;  // "batch" for the first extent, if that serves
  ir::Graph graph;   // for `input`
  compiler::CompileOptions compile_options;
  FreezeSummary summary;
  mutable std::mutex mutex;
  mutable std::list<std::shared_ptr<const Plan>> plans;  // by time of use, the latest first

  State(Layer layer, TensorType type, ir::Graph frozen, compiler::CompileOptions options)
      : model(std::move(layer)), input(std::move(type)), graph(std::move(frozen)), compile_options(options) {}

  bool symbolic() const { return !input.shape.is_static(); }

  [[noreturn]] void refuse(const TensorType& type) const {
    throw Error(Code::kInvalidArgument,
                {.what = "the frozen model does not take this input",
                 .details = {"expected: " + to_string(input), "got: " + to_string(type)},
                 .fix = symbolic() ? "convert or reshape it"
                                   : "this model freezes for one batch size only: freeze it again for another"});
  }

  void check(const TensorType& type) const {
    bool fits = type.dtype == input.dtype && type.shape.rank() == input.shape.rank();
    for (int i = 0; fits && i < input.shape.rank(); ++i)
      fits = (i == 0 && symbolic()) || type.shape[static_cast<size_t>(i)] == input.shape[static_cast<size_t>(i)];
    if (!fits) refuse(type);
  }

  // The graph for a batch of this type, whose extents are numbers.
  ir::Graph bound(const TensorType& type) const {
    check(type);
    if (!symbolic()) return graph;
    if (!type.shape.is_static()) {
      throw Error(Code::kUnsupported, "a frozen model needs numbers for the extents of its input",
                  "record the function that calls it with numbers: .reduce_retracing = false");
    }
    return ir::bind(graph, [&](std::string_view) { return type.shape[0].number(); });
  }

  std::shared_ptr<const Plan> plan(const TensorType& type) const {
    const bool portable = settings.reproducible == Reproducible::Portable;
    const std::lock_guard lock(mutex);
    for (auto at = plans.begin(); at != plans.end(); ++at) {
      if (!((*at)->type == type) || (*at)->portable != portable) continue;
      if (at != plans.begin()) plans.splice(plans.begin(), plans, at);
      return plans.front();
    }
    auto trace = std::make_shared<Trace>(Trace{bound(type)});
    trace->results = trace->graph.outputs().size();
    const auto fresh =
        std::make_shared<const Plan>(Plan{type, portable, trace, compiler::compile(trace->graph, compile_options)});
    plans.push_front(fresh);
    if (plans.size() > kMaxPlans) plans.pop_back();
    return fresh;
  }

  Tensor run(const Tensor& x) const {
    if (has_interpreters() || functions_run_eagerly() || settings.reference_kernels) {
      const ir::Graph now = bound(x.type());
      std::vector<Tensor> inputs;
      for (const ir::Input& each : now.inputs()) inputs.push_back(each.tensor.defined() ? each.tensor : x);
      return ir::interpret(now, inputs)[0];
    }
    const std::shared_ptr<const Plan> ready = plan(x.type());
    const compiler::Executable& executable = *ready->compiled.executable;
    SmallVector<Tensor, 32> inputs(executable.graph().inputs().size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!executable.graph().inputs()[i].tensor.defined()) inputs[i] = x.dense();
    }
    const Tensor result = Tensor::empty(executable.graph().type(executable.graph().outputs()[0]));
    executable.run({inputs.data(), inputs.size()}, {&result, 1});
    return result;
  }

  void compare(const Tensor& sample, const FreezeOptions& options, Location location);
};

// Holds the frozen model against the model.
void FrozenModel::State::compare(const Tensor& sample, const FreezeOptions& options, Location location) {
  const NoGradScope quiet;
  const Tensor expected = model(sample, {.training = false}, location), got = run(sample);
  if (!is_floating(expected.dtype()) || expected.size() == 0) return;
  const Tensor a = cast(expected, f64).dense(), b = cast(got, f64).dense();
  const std::span<const double> x = a.data<double>(), y = b.data<double>();
  double largest = 0;
  bool comparable = true;
  for (size_t i = 0; i < x.size(); ++i) {
    const double apart = x[i] == y[i] ? 0 : std::abs(x[i] - y[i]);
    comparable = comparable && std::isfinite(apart);
    summary.largest_difference = std::max(summary.largest_difference, apart);
    largest = std::max(largest, std::abs(x[i]));
  }
  summary.relative_difference = largest > 0 ? summary.largest_difference / largest : summary.largest_difference;
  if (expected.rank() > 0 && expected.dim(-1) > 0) {
    const Tensor places = argmax(a, -1).dense(), frozen_places = argmax(b, -1).dense();
    int64_t same = 0;
    const Tensor p = cast(places, i64).dense(), q = cast(frozen_places, i64).dense();
    for (size_t i = 0; i < static_cast<size_t>(p.size()); ++i) same += p.data<int64_t>()[i] == q.data<int64_t>()[i];
    summary.argmax_agreement = static_cast<double>(same) / static_cast<double>(p.size());
  }
  if (comparable && summary.relative_difference <= options.tolerance) return;
  throw Error(
      Code::kNumerical,
      {.what = comparable ? "the frozen model differs from the model by more than the tolerance"
                          : "the model's outputs on the sample are not finite, so nothing can be compared",
       .location = location,
       .details = {fmt::format("largest difference: {:.3g}, as part of the largest output: {:.3g}, tolerance: "
                               "{:.3g}",
                               summary.largest_difference, summary.relative_difference, options.tolerance),
                   fmt::format("rows whose largest output is the same: {:.4g} %", 100 * summary.argmax_agreement)},
       .fix = comparable ? "freeze(model, {.sample = a batch of real data}), or a larger .tolerance if the "
                           "difference is none that matters"
                         : "look for NaN and infinity in the weights, or give a batch of real data as .sample"});
}

FrozenModel freeze(const Layer& model, const FreezeOptions& options, Location location) {
  const auto start = std::chrono::steady_clock::now();
  const InterpreterScope alone(nullptr);
  TensorType input = options.sample.defined() ? options.sample.type() : options.input;
  if (input.shape.rank() == 0) {
    throw Error(Code::kFailedPrecondition, {.what = "freeze needs to know what the model takes",
                                            .location = location,
                                            .fix = "freeze(model, {.sample = a batch}), or .input = {f32, {1, 28, 28, "
                                                   "1}}"});
  }
  Tensor sample = options.sample.defined() ? options.sample : default_sample(input);
  if (!model.built()) {
    const NoGradScope quiet;
    (void)model(sample, {.training = false}, location);
  }
  TensorType any = input;
  any.shape[0] = Dim("batch");
  std::optional<Trace> trace;
  try {
    trace = record_model(model, any, location);
    input = any;
  } catch (const Error&) {  // a model that reads its batch size
    trace = record_model(model, input, location);
  }
  constexpr int64_t kRows = 2;
  if (!options.sample.defined() && !input.shape.is_static()) {
    any.shape[0] = kRows;
    sample = default_sample(any);
  }
  for (const ir::Input& each : trace->graph.inputs()) {
    if (each.kind == ir::InputKind::Variable && each.new_value != ir::kNone) {
      throw Error(Code::kUnsupported, {.what = "the model keeps state between calls, which a frozen model has not",
                                       .location = location,
                                       .fix = "call the model itself; for devices: function(model).lower(...).bind or "
                                              "write_object, or hone compile"});
    }
  }
  std::vector<Tensor> values;
  for (const Variable& variable : trace->variables) values.push_back(variable.value());
  compiler::FreezeReport report;
  FrozenModel frozen;
  frozen.state_ = std::make_shared<FrozenModel::State>(model, input, compiler::freeze(trace->graph, values, &report),
                                                       compiler::CompileOptions{.machine_code = options.jit_compile});
  frozen.state_->summary = {.calls_before = report.calls_before,
                            .calls_after = report.calls_after,
                            .convolutions = report.frozen_convolutions,
                            .dense = report.frozen_dense,
                            .scales = report.folded_scales,
                            .activations = report.fused_activations,
                            .residuals = report.fused_residuals,
                            .weights = report.folded_weights};
  frozen.state_->compare(sample, options, location);
  frozen.state_->summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return frozen;
}

FrozenModel freeze(const Model& model, FreezeOptions options, Location location) {
  if (options.input.shape.rank() == 0) options.input = model.input_type();
  return freeze(static_cast<const Layer&>(model), options, location);
}

Tensor FrozenModel::operator()(const Tensor& x) const { return state_->run(x); }
Tensor FrozenModel::predict(const Tensor& x, int64_t batch_size) const {
  if (x.rank() == 0 || x.dim(0) <= batch_size || batch_size < 1) return state_->run(x);
  std::vector<Tensor> parts;
  for (int64_t at = 0; at < x.dim(0); at += batch_size)
    parts.push_back(state_->run(x[slice(at, std::min(x.dim(0), at + batch_size))]));
  return concatenate(parts, 0);
}

const TensorType& FrozenModel::input_type() const { return state_->input; }
const FreezeSummary& FrozenModel::summary() const { return state_->summary; }

std::string FrozenModel::report() const {
  const FreezeSummary& s = summary();
  return fmt::format(
      "frozen: {} calls -> {} ({} convolutions, {} dense); inside them: {} norms and scales, {} activations, {} "
      "residuals; {} calls of weights alone computed\n"
      "against the model: largest difference {:.3g} ({:.3g} of the largest output), same argmax in {:.4g} % of rows; "
      "{:.3g} s\n",
      s.calls_before, s.calls_after, s.convolutions, s.dense, s.scales, s.activations, s.residuals, s.weights,
      s.largest_difference, s.relative_difference, 100 * s.argmax_agreement, s.seconds);
}

Lowered FrozenModel::lower(const TensorType& input) const {
  if (!input.shape.is_static() && input == state_->input) {
    auto trace = std::make_shared<Trace>(Trace{state_->graph});
    trace->results = trace->graph.outputs().size();
    auto any = std::make_shared<Lowered::State>();
    any->trace = std::move(trace);
    return Lowered(any);
  }
  const std::shared_ptr<const State::Plan> ready = state_->plan(input);
  auto lowered = std::make_shared<Lowered::State>();
  lowered->trace = ready->trace;
  lowered->compiled = ready->compiled;
  return Lowered(lowered);
}

}  // namespace hone::nn
