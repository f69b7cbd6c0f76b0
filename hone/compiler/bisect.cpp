#include "hone/compiler/bisect.h"

#include <fmt/format.h>

#include <algorithm>

#include "hone/ir/region.h"
#include "hone/ops/kernel.h"
#include "hone/tensor/interpreter.h"

namespace hone::compiler {
namespace {

// Evaluates programs that calls carry by their definition: no compiled code takes part.
class CallByCall final : public Interpreter {
 public:
  void process(Call& call) override {
    if (call.op.decompose && !regions_of(call.attrs).empty()) return hone::decompose(call);
    pass_on(call);
  }
};

// A check, say: nobody reads what it returns.
bool only_effect(const ir::Users& users, const ir::Node& node) {
  if (node.op->op_class != OpClass::Effect) return false;
  for (uint32_t i = 0; i < node.results; ++i) {
    const ir::ValueId result = node.first_result + i;
    if (users.outputs[result] > 0 || !users.of(result).empty()) return false;
  }
  return true;
}

// Every value of a graph, call by call.
std::vector<Tensor> values_of(const ir::Graph& graph, std::span<const Tensor> inputs) {
  const InterpreterScope alone(nullptr);
  CallByCall top;
  top.push();
  const ir::Users users(graph);
  std::vector<Tensor> values(graph.values());
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const ir::Input& input = graph.inputs()[i];  // passes add constants of their own behind the program's inputs
    values[input.value] = (input.tensor.defined() ? input.tensor : inputs[i]).dense();
  }
  for (const ir::Node& node : graph.nodes()) {
    if (!only_effect(users, node)) ir::dispatch_node(graph, node, values);
  }
  return values;
}

std::vector<Tensor> results_of(const ir::Graph& graph, std::span<const Tensor> inputs) {
  const std::vector<Tensor> values = values_of(graph, inputs);
  std::vector<Tensor> results;
  for (const ir::ValueId output : graph.outputs()) results.push_back(values[output]);
  return results;
}

// What a step of the plan computes from the operands' right values; where the plan writes a result over an operand, so
// does this.
std::vector<Tensor> replay(const Plan& plan, const Step& step, std::span<const Tensor> values) {
  const ir::Node& node = plan.graph.nodes()[step.node];
  const std::span<const ir::ValueId> operands = plan.graph.operands(node);
  std::vector<Tensor> inputs, outputs;
  for (const ir::ValueId operand : operands)
    inputs.push_back(step.kernel->reads_strides ? values[operand] : values[operand].dense());
  for (uint32_t i = 0; i < node.results; ++i) {
    const ir::ValueId result = node.first_result + i;
    Tensor output = Tensor::empty(plan.graph.type(result));
    for (size_t k = 0; k < operands.size(); ++k) {
      const Place &from = plan.places[operands[k]], &to = plan.places[result];
      if (from.storage != to.storage || from.offset != to.offset || !(inputs[k].type() == output.type())) continue;
      values[operands[k]].copy_to(output.mutable_bytes());
      inputs[k] = output;
    }
    outputs.push_back(std::move(output));
  }
  KernelCall call{*node.op, node.attrs, inputs, outputs, step.prepared.get()};
  std::shared_ptr<void> state;
  if (step.kernel->make_state) state = step.kernel->make_state(call);
  call.state = state.get();
  step.kernel->run(call);
  return outputs;
}

// "multiply", "fusion {multiply, add}".
std::string op_text(const ir::Node& node) {
  std::string text(node.op->name);
  for (const auto& region : regions_of(node.attrs)) {
    text += " {";
    for (const ir::Node& inner : ir::graph_of(region).nodes())
      text += fmt::format("{}{}", text.back() == '{' ? "" : ", ", inner.op->name);
    text += "}";
  }
  return text;
}

class Bisection {
 public:
  explicit Bisection(const BisectOptions& options) : options_(options) {
    if (options_.compile) return;
    options_.compile = [code = options.machine_code](const ir::Graph& graph, std::vector<Stage>& stages) {
      return compiler::compile(optimize(graph, &stages), {.machine_code = code, .stages = &stages});
    };
  }

  // What changes this very program.
  std::optional<Culprit> find(Program program) const {
    std::vector<Stage> stages;
    const Compiled compiled = options_.compile(program.graph, stages);
    const std::vector<Tensor> expected = results_of(program.graph, program.inputs);
    const Difference run = difference(expected, run_once(*compiled.executable, program.inputs), options_.tolerance);
    if (!run.found) return std::nullopt;
    Culprit culprit{.difference = run, .program = std::move(program)};
    if (!find_pass(stages, expected, culprit) && !find_kernel(compiled.executable->plan(), culprit))
      culprit.kind = Culprit::Memory, culprit.name = "memory plan";
    return culprit;
  }

  // A part of the culprit's program in which it still is one.
  Program smallest(const Culprit& culprit) const;

 private:
  // The first stage whose result differs. Each is as right as the one before or the fault is between, so halving finds
  // one; what a later pass puts right again is no fault of the result.
  bool find_pass(std::span<const Stage> stages, std::span<const Tensor> expected, Culprit& culprit) const {
    const auto differs = [&](size_t stage) {
      return difference(expected, results_of(stages[stage].graph, culprit.program.inputs), options_.tolerance);
    };
    if (stages.empty()) return false;
    Difference found = differs(stages.size() - 1);
    if (!found.found) return false;
    size_t right = 0, wrong = stages.size();  // programs after so many steps
    while (wrong - right > 1) {
      const size_t middle = right + (wrong - right) / 2;
      const Difference here = differs(middle - 1);
      if (here.found)
        wrong = middle, found = here;
      else
        right = middle;
    }
    culprit.kind = Culprit::Pass, culprit.name = stages[wrong - 1].name;
    culprit.step = wrong, culprit.steps = stages.size(), culprit.difference = found;
    return true;
  }

  // The first step beyond the tolerance; if many small differences add up, the first that differs at all.
  bool find_kernel(const Plan& plan, Culprit& culprit) const {
    const std::vector<Tensor> values = values_of(plan.graph, culprit.program.inputs);
    for (const double tolerance : {options_.tolerance, 0.0}) {
      for (size_t s = 0; s < plan.steps.size(); ++s) {
        const Step& step = plan.steps[s];
        if (step.kind != Step::Call) continue;
        const ir::Node& node = plan.graph.nodes()[step.node];
        const std::span<const Tensor> expected(values.data() + node.first_result, node.results);
        const Difference here = difference(expected, replay(plan, step, values), tolerance);
        if (!here.found) continue;
        culprit.kind = Culprit::Kernel, culprit.name = step.kernel->name;
        culprit.step = s + 1, culprit.steps = plan.steps.size(), culprit.difference = here;
        culprit.op = op_text(node), culprit.location = plan.graph.origin(node).location();
        return true;
      }
    }
    return false;
  }

  BisectOptions options_;
};

// The program of some nodes. What they read from elsewhere becomes an argument with the value it has; constants stay.
Program part_of(const ir::Graph& graph, std::span<const Tensor> values, const std::vector<char>& kept,
                std::span<const ir::ValueId> results) {
  std::vector<char> needed(graph.values());
  for (size_t n = 0; n < kept.size(); ++n) {
    if (!kept[n]) continue;
    for (const ir::ValueId operand : graph.operands(graph.nodes()[n])) needed[operand] = 1;
  }
  for (const ir::ValueId result : results) needed[result] = 1;
  std::vector<const ir::Input*> inputs(graph.values());
  for (const ir::Input& input : graph.inputs()) inputs[input.value] = &input;
  ir::Builder builder(graph.shared_context());
  std::vector<ir::ValueId> map(graph.values(), ir::kNone);
  std::vector<Tensor> given;
  for (ir::ValueId v = 0; v < graph.values(); ++v) {
    if (!needed[v] || (graph.producer(v) != ir::kNone && kept[graph.producer(v)])) continue;
    given.push_back(values[v].dense());
    const bool constant = inputs[v] && inputs[v]->kind == ir::InputKind::Constant;
    map[v] = builder.add_input(graph.type(v), constant ? *inputs[v] : ir::Input{});
  }
  for (size_t n = 0; n < kept.size(); ++n) {
    if (!kept[n]) continue;
    const ir::Node& node = graph.nodes()[n];
    SmallVector<ir::ValueId, 8> operands;
    for (const ir::ValueId operand : graph.operands(node)) operands.push_back(map[operand]);
    const uint32_t made =
        builder.add(*node.op, node.attrs, {operands.data(), operands.size()}, node.results, node.origin, node.again);
    for (uint32_t i = 0; i < node.results; ++i)
      map[node.first_result + i] = builder.graph().nodes()[made].first_result + i;
  }
  std::vector<ir::ValueId> outputs;
  for (const ir::ValueId result : results) outputs.push_back(map[result]);
  return {builder.finish(std::move(outputs)), std::move(given)};
}

// The first nodes of a program, with the values that the others or the caller read.
Program prefix_of(const ir::Graph& graph, std::span<const Tensor> values, size_t nodes) {
  const ir::Users users(graph);
  std::vector<char> kept(graph.nodes().size());
  std::fill_n(kept.begin(), nodes, 1);
  std::vector<ir::ValueId> results;
  for (ir::ValueId v = 0; v < graph.values(); ++v) {
    if (graph.producer(v) >= nodes) continue;  // inputs, whose producer is kNone, too
    const auto later = [&](uint32_t user) { return user >= nodes; };
    if (users.outputs[v] > 0 || std::ranges::any_of(users.of(v), later)) results.push_back(v);
  }
  return part_of(graph, values, kept, results);
}

// Adds the producers of what the kept nodes read; false where there are none.
bool deepen(const ir::Graph& graph, std::vector<char>& kept) {
  const std::vector<char> before = kept;
  for (size_t n = 0; n < before.size(); ++n) {
    if (!before[n]) continue;
    for (const ir::ValueId operand : graph.operands(graph.nodes()[n])) {
      if (graph.producer(operand) != ir::kNone) kept[graph.producer(operand)] = 1;
    }
  }
  return kept != before;
}

Program Bisection::smallest(const Culprit& culprit) const {
  const ir::Graph& graph = culprit.program.graph;
  const std::vector<Tensor> values = values_of(graph, culprit.program.inputs);
  const auto shows = [&](const Program& part) {
    const std::optional<Culprit> found = find(part);
    return found && found->kind == culprit.kind && found->name == culprit.name;
  };
  size_t without = 0, with = graph.nodes().size();  // calls from the start that show it
  if (with == 0 || !shows(prefix_of(graph, values, with))) return culprit.program;
  while (with - without > 1) {
    const size_t middle = without + (with - without) / 2;
    (shows(prefix_of(graph, values, middle)) ? with : without) = middle;
  }
  // The call that brings it alone, then with ever more of what it is computed from.
  const ir::Node& last = graph.nodes()[with - 1];
  std::vector<ir::ValueId> results;
  for (uint32_t i = 0; i < last.results; ++i) results.push_back(last.first_result + i);
  std::vector<char> kept(graph.nodes().size());
  kept[with - 1] = 1;
  for (size_t depth = 1, tried = 0;; ++depth) {
    const bool whole = depth > 1 && !deepen(graph, kept);
    if (!whole && depth < tried + (tried + 1) / 2) continue;
    if (Program part = part_of(graph, values, kept, results); shows(part)) return part;
    if (whole) return prefix_of(graph, values, with);
    tried = depth;
  }
}

// The program without calls for their effect alone; what a host function returned becomes an argument.
Program pure(const ir::Graph& graph, std::span<const Tensor> inputs) {
  std::vector<char> kept;
  for (const ir::Node& node : graph.nodes()) kept.push_back(node.op->op_class != OpClass::Effect);
  return part_of(graph, values_of(graph, inputs), kept, graph.outputs());
}

}  // namespace

std::optional<Culprit> bisect(const ir::Graph& graph, std::span<const Tensor> inputs, const BisectOptions& options) {
  ensure_defaults();
  const Bisection bisection(options);
  std::optional<Culprit> culprit = bisection.find(pure(graph, inputs));
  if (!culprit) return culprit;
  culprit->program = bisection.smallest(*culprit);
  const ir::Graph& small = culprit->program.graph;
  if (culprit->op.empty() && !small.nodes().empty()) {
    culprit->op = op_text(small.nodes().back());
    culprit->location = small.origin(small.nodes().back()).location();
  }
  return culprit;
}

std::string to_string(const Culprit& culprit) {
  constexpr const char* kKinds[] = {"pass", "kernel", "memory"};
  std::string out = fmt::format("{}: {}", kKinds[culprit.kind], culprit.name);
  if (culprit.steps > 0) out += fmt::format(", step {} of {}", culprit.step, culprit.steps);
  if (!culprit.op.empty()) out += "\nop: " + culprit.op;
  if (culprit.location.known()) out += fmt::format("\nline: {}:{}", culprit.location.file, culprit.location.line);
  return out + fmt::format("\nlargest difference: {:g}, where values reach {:g}", culprit.difference.largest,
                           culprit.difference.magnitude);
}

}  // namespace hone::compiler
