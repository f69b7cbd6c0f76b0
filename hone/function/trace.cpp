#include "hone/function/trace.h"

#include <fmt/format.h>

#include <unordered_map>

#include "hone/base/error.h"
#include "hone/compiler/passes.h"
#include "hone/ir/recorder.h"

namespace hone {
namespace {

class FunctionRecorder final : public ir::Recorder {
 public:
  FunctionRecorder(const TraceRequest& request, std::shared_ptr<ir::Context> context)
      : ir::Recorder(std::move(context)), request_(request) {}

  void read_variable(const Variable& variable, Tensor& value) override {
    // The same tensor as long as the value stays: tapes tell values apart by their ids.
    Cell& cell = cell_of(variable);
    if (!cell.tensor.defined()) cell.tensor = tensor_for(cell.current, LocationScope::resolve({}));
    value = cell.tensor;
  }

  bool assign_variable(const Variable& variable, const Tensor& value) override {
    const ir::ValueId assigned = value_of(value, LocationScope::resolve({}));
    Cell& cell = cell_of(variable);
    cell.current = assigned;
    cell.tensor = {};  // another identity than the assigned tensor: no gradient passes through a variable
    cell.assigned = true;
    return true;
  }

  // Elements of a variable that the function makes: what leads to them is computed now, from captures and cells.
  Tensor initial_value(const Tensor& value, Location location) override {
    if (!request_.may_make_variables) {
      throw Error(
          Code::kFailedPrecondition,
          {.what = fmt::format("'{}' makes a variable in a later recording", request_.name),
           .location = LocationScope::resolve(location),
           .details = {"a function may make variables in its first recording only: later ones would start afresh"},
           .fix = "make the variable outside, or keep it in an object that makes it once"});
    }
    if (value.concrete()) return value;
    return compute(value_of(value, location), location);
  }

  Trace finish(const std::vector<Tensor>& results) {
    Trace trace{ir::Graph(builder().graph().shared_context())};
    std::vector<ir::ValueId> outputs;
    for (const Tensor& result : results) {
      if (!result.defined()) {
        throw Error(Code::kInvalidArgument,
                    {.what = fmt::format("result {} of '{}' is an undefined tensor", outputs.size(), request_.name),
                     .fix = "set each result before the function returns"});
      }
      outputs.push_back(value_of(result, {}));
    }
    trace.results = results.size();
    donate(outputs);
    for (Cell& cell : cells_) {
      if (cell.assigned && cell.current != cell.input_value) {
        builder().input(cell.input).new_value = static_cast<uint32_t>(outputs.size());
        outputs.push_back(cell.current);
      }
      trace.variables.push_back(cell.variable);
    }
    trace.graph = builder().finish(std::move(outputs));
    trace.graph.name = request_.name;
    return trace;
  }

 private:
  struct Cell {
    Variable variable;
    uint32_t input;  // among the graph's inputs
    ir::ValueId input_value, current;
    bool assigned = false;
    Tensor tensor{};
  };

  // Each donated argument gets a result of its type to lie in: its own value, or one that a call gives.
  void donate(const std::vector<ir::ValueId>& results) {
    std::vector<bool> taken(results.size());
    uint32_t argument = 0;
    for (uint32_t i = 0; i < builder().graph().inputs().size(); ++i) {
      ir::Input& input = builder().input(i);
      if (input.kind != ir::InputKind::Argument) continue;
      while (!request_.defined[argument]) ++argument;
      const uint32_t leaf = argument++;
      if (leaf >= request_.donated.size() || !request_.donated[leaf]) continue;
      const TensorType& type = builder().graph().type(input.value);
      for (const bool own : {true, false}) {
        for (uint32_t r = 0; r < results.size() && input.new_value == ir::kNone; ++r) {
          const bool serves = own ? results[r] == input.value : builder().graph().producer(results[r]) != ir::kNone;
          if (taken[r] || !serves || !(builder().graph().type(results[r]) == type)) continue;
          input.new_value = r;
          taken[r] = true;
        }
      }
      if (input.new_value == ir::kNone) fail_donation(leaf, type, results);
    }
  }

  [[noreturn]] void fail_donation(uint32_t leaf, const TensorType& type, const std::vector<ir::ValueId>& results) {
    std::string made;
    for (const ir::ValueId result : results)
      made += (made.empty() ? "" : ", ") + to_string(builder().graph().type(result));
    throw Error(Code::kInvalidArgument,
                {.what = fmt::format("'{}' cannot use the memory of tensor {} among its arguments, which it donates",
                                     request_.name, leaf),
                 .details = {"donated: " + to_string(type), "results: " + (made.empty() ? "none" : made),
                             "a donated tensor serves one result of its dtype and shape that the function computes"},
                 .fix = "take the argument out of donate_args, or return its new value"});
  }

  Cell& cell_of(const Variable& variable) {
    const auto [found, fresh] = index_.try_emplace(variable.key(), cells_.size());
    if (fresh) {
      const auto input = static_cast<uint32_t>(builder().graph().inputs().size());
      const ir::ValueId value =
          builder().add_input(variable.type(), {.kind = ir::InputKind::Variable, .name = variable.name()});
      cells_.push_back({variable, input, value, value, false, {}});
    }
    return cells_[found->second];
  }

  Tensor compute(ir::ValueId wanted, Location location) {
    const ir::Graph& graph = builder().graph();
    std::vector<Tensor> values(graph.values());
    std::vector<ir::ValueId> stack{wanted};
    std::vector<bool> needed(graph.nodes().size());
    while (!stack.empty()) {
      const ir::ValueId value = stack.back();
      stack.pop_back();
      const uint32_t node = graph.producer(value);
      if (node == ir::kNone) {
        values[value] = input_now(value, location);
      } else if (!needed[node]) {
        needed[node] = true;
        for (const ir::ValueId operand : graph.operands(graph.nodes()[node])) stack.push_back(operand);
      }
    }
    for (size_t n = 0; n < needed.size(); ++n) {
      if (needed[n]) ir::dispatch_node(graph, graph.nodes()[n], values);
    }
    return values[wanted];
  }

  Tensor input_now(ir::ValueId value, Location location) {
    for (const Cell& cell : cells_) {
      if (cell.input_value == value) return cell.variable.value();
    }
    for (const ir::Input& input : builder().graph().inputs()) {
      if (input.value == value && input.tensor.defined()) return input.tensor;
    }
    throw Error(Code::kFailedPrecondition,
                {.what = fmt::format("a variable made in '{}' depends on an argument", request_.name),
                 .location = LocationScope::resolve(location),
                 .details = {"its first value is computed once, when the function is recorded"},
                 .fix = "start it from a constant or another variable, and assign the value inside"});
  }

  const TraceRequest& request_;
  std::vector<Cell> cells_;
  std::unordered_map<const void*, size_t> index_;
};

}  // namespace

Trace record(const TraceRequest& request, TraceBody body) {
  const InterpreterScope alone(nullptr);
  FunctionRecorder recorder(request, std::make_shared<ir::Context>());
  std::vector<Tensor> leaves;
  for (size_t i = 0; i < request.arguments.size(); ++i) {
    leaves.push_back(request.defined[i]
                         ? recorder.add_input(request.arguments[i], {.name = fmt::format("arg{}", i)}, {})
                         : Tensor());
  }
  std::vector<Tensor> results;
  SmallVector<uint64_t, 8> structure;
  recorder.push();
  body(leaves, results, structure);
  recorder.remove();
  Trace trace = recorder.finish(results);
  trace.structure = std::move(structure);
  return trace;
}

Location first_difference(const ir::Graph& first, const ir::Graph& second, bool& differ) {
  const ir::Graph a = compiler::remove_dead(first), b = compiler::remove_dead(second);
  differ = true;
  const size_t n = std::min(a.nodes().size(), b.nodes().size());
  for (size_t i = 0; i < n; ++i) {
    const ir::Node &x = a.nodes()[i], &y = b.nodes()[i];
    if (x.op != y.op || (!x.op->transparent && !equal(x.attrs, y.attrs)) || x.operands != y.operands)
      return b.origin(y).location();
  }
  if (a.nodes().size() != b.nodes().size()) {
    const ir::Graph& longer = a.nodes().size() > n ? a : b;
    return longer.origin(longer.nodes()[n]).location();
  }
  differ = false;
  return {};
}

}  // namespace hone
