#include "hone/function/lowered.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hone/base/config.h"
#include "hone/base/error.h"
#include "hone/base/file.h"
#include "hone/compiler/object.h"
#include "hone/compiler/stablehlo.h"
#include "hone/function/lowered_state.h"

namespace hone {
namespace {

using compiler::Plan;
using compiler::Storage;

std::string size_text(double bytes) {
  if (bytes < 1024) return fmt::format("{:.0f} B", bytes);
  if (bytes < 1024.0 * 1024) return fmt::format("{:.1f} KiB", bytes / 1024);
  return fmt::format("{:.1f} MiB", bytes / 1024 / 1024);
}

// The tool's own lines say nothing of the model that it looks at.
std::string line_of(const Location& location) {
  if (std::string_view(location.file).find("hone/cli/") != std::string_view::npos) return "";
  return location.known() ? fmt::format("{}:{}", location.file, location.line) : "";
}

struct LargeBuffer {
  std::string op, type, line, layer;
  size_t bytes = 0;
  uint32_t first = 0, last = 0;
};

struct Memory {
  size_t arena = 0, lower_bound = 0, weights = 0, state = 0, arguments = 0, results = 0, captures = 0;
  size_t peak = 0, activations = 0, temporaries = 0;  // of the arena, at the step where most is alive
  uint32_t peak_step = 0, steps = 0;
  std::string peak_op, peak_line;
  std::vector<LargeBuffer> largest;
};

// A value that outlives a tenth of the steps is kept for later (an activation), others are passed on.
bool is_kept(const Storage& storage, size_t steps) {
  return storage.last - storage.first > std::max<size_t>(steps / 10, 4);
}

void count_callers_memory(const Lowered::State& state, const ir::Graph& graph, Memory& memory) {
  size_t variable = 0;
  for (const ir::Input& input : graph.inputs()) {
    const TensorType& type = graph.type(input.value);
    const size_t bytes = static_cast<size_t>(type.shape.count()) * size_of(type.dtype);
    if (input.kind == ir::InputKind::Argument) memory.arguments += bytes;
    if (input.kind == ir::InputKind::Capture || input.kind == ir::InputKind::Constant) memory.captures += bytes;
    if (input.kind == ir::InputKind::Variable)
      (state.trace->variables[variable++].trainable() ? memory.weights : memory.state) += bytes;
  }
  for (size_t i = 0; i < state.trace->results; ++i) {
    const TensorType& type = graph.type(graph.outputs()[i]);
    memory.results += static_cast<size_t>(type.shape.count()) * size_of(type.dtype);
  }
}

Memory memory_of(const Lowered::State& state) {
  const Plan& plan = state.compiled->executable->plan();
  Memory memory;
  memory.arena = plan.arena_bytes, memory.lower_bound = plan.lower_bound;
  memory.steps = static_cast<uint32_t>(plan.steps.size());
  count_callers_memory(state, plan.graph, memory);
  std::vector<size_t> alive(plan.steps.size() + 1);
  const auto in_arena = [](const Storage& s) {
    return s.kind == Storage::Arena && s.bytes > 0 && s.first != ir::kNone;
  };
  std::vector<int64_t> change(plan.steps.size() + 2);
  for (const Storage& storage : plan.storages) {
    if (!in_arena(storage)) continue;
    change[storage.first] += static_cast<int64_t>(storage.bytes);
    change[storage.last + 1] -= static_cast<int64_t>(storage.bytes);
  }
  int64_t now = 0;
  for (uint32_t s = 0; s < plan.steps.size(); ++s) {
    now += change[s];
    if (static_cast<size_t>(now) > memory.peak) memory.peak = static_cast<size_t>(now), memory.peak_step = s;
  }
  if (!plan.steps.empty()) {
    const ir::Node& node = plan.graph.nodes()[plan.steps[memory.peak_step].node];
    memory.peak_op = node.op->name;
    const ir::Origin& origin = plan.graph.origin(node);
    memory.peak_line = line_of(origin.location());
    if (!origin.layer.empty()) memory.peak_line += (memory.peak_line.empty() ? "" : "  ") + origin.layer;
  }
  std::vector<uint32_t> written(plan.storages.size(), ir::kNone);  // the first value of a storage
  for (ir::ValueId v = 0; v < plan.graph.values(); ++v) {
    const uint32_t storage = plan.places[v].storage;
    if (storage != ir::kNone && written[storage] == ir::kNone) written[storage] = v;
  }
  for (size_t i = 0; i < plan.storages.size(); ++i) {
    const Storage& storage = plan.storages[i];
    if (!in_arena(storage) || storage.first > memory.peak_step || storage.last < memory.peak_step) continue;
    (is_kept(storage, plan.steps.size()) ? memory.activations : memory.temporaries) += storage.bytes;
    if (written[i] == ir::kNone || plan.graph.producer(written[i]) == ir::kNone) continue;
    const ir::Node& node = plan.graph.nodes()[plan.graph.producer(written[i])];
    const ir::Origin& origin = plan.graph.origin(node);
    memory.largest.push_back({std::string(node.op->name), to_string(plan.graph.type(written[i])),
                              line_of(origin.location()), origin.layer, storage.bytes, storage.first, storage.last});
  }
  constexpr size_t kShown = 10;
  std::ranges::stable_sort(memory.largest, std::greater(), &LargeBuffer::bytes);
  if (memory.largest.size() > kShown) memory.largest.resize(kShown);
  return memory;
}

struct OpCost {
  int64_t calls = 0;
  double flops = 0, bytes = 0;
};

std::map<std::string, OpCost> costs_of(const ir::Graph& graph) {
  std::map<std::string, OpCost> costs;
  for (const ir::Node& node : graph.nodes()) {
    OpCost& cost = costs[std::string(node.op->name)];
    ++cost.calls;
    if (node.op->op_class == OpClass::View) continue;
    const Cost one = ir::cost_of(graph, node);
    cost.flops += one.flops, cost.bytes += one.bytes;
  }
  return costs;
}

void need_static(const Lowered::State& state, const char* what) {
  if (state.compiled) return;
  throw Error(Code::kFailedPrecondition, fmt::format("{} needs numbers for all extents", what),
              "lower the function for a static Spec, {f32, {128, 28, 28, 1}}");
}

Config number(size_t value) { return Config(static_cast<int64_t>(value)); }

}  // namespace

compiler::BoundCall Lowered::bind(const std::vector<Tensor>& arguments, const std::vector<Tensor>& results) const {
  need_static(*state_, "a bound call");
  const compiler::Executable& executable = *state_->compiled->executable;
  const auto count = [](const char* what, size_t given, size_t wanted) {
    if (given == wanted) return;
    throw Error(Code::kInvalidArgument, fmt::format("the function has {} {}, {} are bound", wanted, what, given),
                "bind one tensor for each, in the function's order");
  };
  const std::span<const ir::Input> wanted = executable.graph().inputs();
  count("arguments", arguments.size(),
        static_cast<size_t>(std::ranges::count(wanted, ir::InputKind::Argument, &ir::Input::kind)));
  count("results", results.size(), state_->trace->results);
  std::vector<Tensor> inputs, outputs = results;
  size_t argument = 0, variable = 0;
  for (const ir::Input& input : wanted) {
    Tensor value;
    if (input.kind == ir::InputKind::Argument) value = arguments[argument++];
    if (input.kind == ir::InputKind::Variable) {
      value = state_->trace->variables[variable++].value().dense();
      if (input.new_value != ir::kNone) {
        Tensor copy = Tensor::empty(value.type());
        value.copy_to(copy.mutable_bytes());
        value = copy;
      }
    }
    inputs.push_back(std::move(value));
  }
  outputs.resize(executable.outputs().size());
  for (size_t i = state_->trace->results; i < outputs.size(); ++i) {
    if (executable.outputs()[i].kind != compiler::OutputPlace::Donated)
      outputs[i] = Tensor::empty(executable.graph().type(executable.graph().outputs()[i]));
  }
  return executable.bind(inputs, outputs);
}

compiler::ObjectFiles Lowered::object(const compiler::ObjectOptions& options) const {
  std::vector<Tensor> values;
  for (const Variable& variable : state_->trace->variables) values.push_back(variable.value().dense());
  return compiler::compile_object(state_->trace->graph, values, state_->trace->results, options);
}

void Lowered::write_object(const std::string& object, const std::string& header,
                           const compiler::ObjectOptions& options) const {
  const compiler::ObjectFiles files = this->object(options);
  write_file_atomic(object, files.object);
  write_file_atomic(header, files.header);
  if (files.weights.empty()) return;
  write_file_atomic(object.substr(0, object.size() - (object.ends_with(".o") ? 2 : 0)) + ".weights", files.weights);
}

std::string Lowered::ir() const { return compiler::to_text(state_->trace->graph); }

std::string Lowered::memory() const {
  need_static(*state_, "a memory report");
  const Memory m = memory_of(*state_);
  const auto text = [](size_t bytes) { return size_text(static_cast<double>(bytes)); };
  std::string out = fmt::format(
      "arena        {:>10}  (at least {}: {:.2f}x)\nweights      {:>10}\noptimizer    {:>10}  (with other state)\n"
      "arguments    {:>10}\nresults      {:>10}\n",
      text(m.arena), text(m.lower_bound),
      m.lower_bound ? static_cast<double>(m.arena) / static_cast<double>(m.lower_bound) : 1.0, text(m.weights),
      text(m.state), text(m.arguments), text(m.results));
  if (m.captures)
    out += fmt::format("captures     {:>10}  (with constants: weights, where frozen)\n", text(m.captures));
  out +=
      fmt::format("in all       {:>10}\n", text(m.arena + m.weights + m.state + m.arguments + m.results + m.captures));
  out += fmt::format("peak of the arena at step {} of {}: {}\n  activations {}, temporaries {}\n", m.peak_step + 1,
                     m.steps, m.peak_op + (m.peak_line.empty() ? "" : "  ") + m.peak_line, text(m.activations),
                     text(m.temporaries));
  for (const LargeBuffer& b : m.largest) {
    out += fmt::format("  {:>10}  {:<24}  steps {:>4} to {:<4}  {}{}{}{}{}\n", text(b.bytes), b.type, b.first + 1,
                       b.last + 1, b.op, b.line.empty() ? "" : "  ", b.line, b.layer.empty() ? "" : "  ", b.layer);
  }
  return out;
}

std::string Lowered::cost() const {
  need_static(*state_, "a cost report");
  const std::map<std::string, OpCost> by_name = costs_of(state_->compiled->executable->graph());
  std::vector<std::pair<std::string, OpCost>> costs(by_name.begin(), by_name.end());
  std::ranges::stable_sort(costs, [](const auto& a, const auto& b) { return a.second.flops > b.second.flops; });
  std::string out = fmt::format("{:<28} {:>6} {:>12} {:>12}\n", "op", "calls", "MFLOP", "MiB");
  OpCost total;
  for (const auto& [name, cost] : costs) {
    out +=
        fmt::format("{:<28} {:>6} {:>12.3f} {:>12.3f}\n", name, cost.calls, cost.flops / 1e6, cost.bytes / 1024 / 1024);
    total.calls += cost.calls, total.flops += cost.flops, total.bytes += cost.bytes;
  }
  return out + fmt::format("{:<28} {:>6} {:>12.3f} {:>12.3f}\n", "total", total.calls, total.flops / 1e6,
                           total.bytes / 1024 / 1024);
}

std::string Lowered::kernels() const {
  need_static(*state_, "a report on kernels");
  std::string out;
  for (const KernelUse& use : kernel_uses(state_->compiled->executable->plan())) {
    out += fmt::format("{:<28} {:>6} calls  {}\n", use.op, use.calls, use.kernel);
    for (const std::string& each : use.refused) out += fmt::format("{:<42}not {}\n", "", each);
  }
  return out;
}

std::string Lowered::fusion() const {
  need_static(*state_, "a fusion report");
  std::string out;
  for (const compiler::FusionDecision& d : state_->compiled->fusion) {
    out += fmt::format("{}{}{}{}\n", d.what, d.bytes_saved > 0 ? ", saves " + size_text(d.bytes_saved) : "",
                       d.location.known() ? "  " : "", line_of(d.location));
  }
  return out.empty() ? "no calls to gather\n" : out;
}

std::string Lowered::json() const {
  Config document(Config::Table{{"schema_version", Config(1)},
                                {"name", Config(state_->trace->graph.name)},
                                {"calls", number(state_->trace->graph.nodes().size())}});
  if (!state_->compiled) return to_json(document);
  const Memory m = memory_of(*state_);
  Config::Array largest;
  for (const LargeBuffer& b : m.largest) {
    largest.push_back(Config::Table{{"op", b.op},
                                    {"type", b.type},
                                    {"bytes", number(b.bytes)},
                                    {"line", b.line},
                                    {"layer", b.layer},
                                    {"first_step", number(b.first)},
                                    {"last_step", number(b.last)}});
  }
  document.set("memory", Config::Table{{"arena", number(m.arena)},
                                       {"lower_bound", number(m.lower_bound)},
                                       {"weights", number(m.weights)},
                                       {"optimizer", number(m.state)},
                                       {"arguments", number(m.arguments)},
                                       {"results", number(m.results)},
                                       {"captures", number(m.captures)},
                                       {"activations", number(m.activations)},
                                       {"temporaries", number(m.temporaries)},
                                       {"largest", largest}});
  Config::Table costs;
  for (const auto& [name, cost] : costs_of(state_->compiled->executable->graph()))
    costs.emplace_back(
        name,
        Config::Table{{"calls", Config(cost.calls)}, {"flops", Config(cost.flops)}, {"bytes", Config(cost.bytes)}});
  document.set("cost", costs);
  Config::Array fusion, passes;
  for (const compiler::FusionDecision& d : state_->compiled->fusion)
    fusion.push_back(Config::Table{{"what", d.what},
                                   {"calls", Config(d.calls)},
                                   {"bytes_saved", Config(d.bytes_saved)},
                                   {"line", line_of(d.location)}});
  for (const compiler::PassReport& p : state_->compiled->passes)
    passes.push_back(Config::Table{{"name", Config(p.name)},
                                   {"calls_before", number(p.calls_before)},
                                   {"calls_after", number(p.calls_after)},
                                   {"ms", Config(p.milliseconds)}});
  Config::Array kernels;
  for (const KernelUse& use : kernel_uses(state_->compiled->executable->plan())) {
    Config::Array refused;
    for (const std::string& each : use.refused) refused.emplace_back(each);
    kernels.push_back(Config::Table{
        {"op", use.op}, {"kernel", use.kernel}, {"calls", Config(use.calls)}, {"refused", std::move(refused)}});
  }
  document.set("kernels", kernels);
  document.set("fusion", fusion);
  document.set("passes", passes);
  document.set("steps", number(state_->compiled->executable->plan().steps.size()));
  return to_json(document);
}

}  // namespace hone
