#include "hone/backend/cpu/loop_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "hone/backend/cpu/isa.h"
#include "hone/compiler/passes.h"
#include "hone/ir/region.h"
#include "hone/ops/attrs.h"
#include "hone/ops/table.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

using codegen::LoopStep;
using codegen::MapStep;

// Calls whose result elements are elements of their operands, whatever these are.
constexpr const Op* kMoves[] = {&ops::identity,    &ops::stop_gradient, &ops::optimization_barrier,
                                &ops::reshape,     &ops::transpose,     &ops::broadcast_in_dim,
                                &ops::concatenate, &ops::split,         &ops::slice,
                                &ops::pad,         &ops::reverse};

// Kept for all time, once for each op.
const char* refusal(const Op& op) {
  static std::mutex& mutex = *new std::mutex;
  static auto& texts = *new std::map<const Op*, std::string>;
  const std::lock_guard lock(mutex);
  std::string& text = texts[&op];
  if (text.empty()) text = fmt::format("the body calls {}, which is no step of a loop in machine code", op.name);
  return text.c_str();
}

const char* unfit(const TensorType& type) {
  if (!type.shape.is_static() || type.shape.count() > codegen::kLoopElements) return kLoopTooLarge;
  return type.shape.count() == 0 ? "a value has no elements" : nullptr;
}

}  // namespace

ir::Graph after_passes(const ir::Graph& region) {
  const ir::Graph graph = compiler::decompose(compiler::simplify(ir::merged(region)));
  return compiler::remove_dead(compiler::simplify(graph));
}

codegen::LoopValue LoopSteps::value(int v) const {
  return {static_cast<int32_t>(dtype(v)), static_cast<int32_t>(count(v))};
}

int LoopSteps::add_input(const TensorType& type) {
  values_.push_back({.type = type, .where = Condition, .input = true});
  return static_cast<int>(values_.size()) - 1;
}
void LoopSteps::make_row(int input) {
  values_[at(input)].where = Row;
  values_[at(input)].type.shape.erase(0);
}

int64_t LoopSteps::work() const {
  int64_t sum = 0;
  for (const Value& v : values_) {
    if (v.live && !v.input) sum += v.type.shape.count() * static_cast<int64_t>(size_of(v.type.dtype)) / 16 + 1;
  }
  return sum;
}

const char* LoopSteps::keep(std::span<const int> roots, std::span<const int> changing) {
  for (const int v : roots) {
    if (const char* why = unfit(values_[at(v)].type)) return why;
    values_[at(v)].live = true;
  }
  for (const int v : changing) values_[at(v)].live = true;
  for (size_t v = values_.size(); v-- > 0;) {
    if (!values_[v].live) continue;
    const LoopStep& step = values_[v].step;
    for (int k = 0; k < step.call.operands; ++k) values_[at(step.call.in[k])].live = true;
    // Of inputs that stay the same, steps have checked those that they do not read from memory.
    if (values_[v].input && values_[v].where == Fixed) continue;
    if (const char* why = unfit(values_[v].type)) return why;
  }
  return nullptr;
}

const char* LoopSteps::add(const ir::Graph& graph, std::span<const int> inputs, std::vector<int>& outputs) {
  std::vector<int> places(graph.values(), -1);
  size_t given = 0;
  const ir::Users users(graph);
  for (const ir::Input& input : graph.inputs()) {
    int& place = places[input.value];
    if (input.kind == ir::InputKind::Argument) {
      place = inputs[given++];
    } else if (!users.of(input.value).empty() || users.outputs[input.value] > 0) {
      if (const char* why = unfit(input.tensor.type())) return why;
      place = constant(input.tensor);
    }
  }
  for (const ir::Node& node : graph.nodes()) {
    for (uint32_t i = 0; i < node.results; ++i) {
      if (const char* why = unfit(graph.type(node.first_result + i))) return why;
    }
    for (const ir::ValueId operand : graph.operands(node)) {
      if (reads_table(node, places[operand])) continue;
      if (const char* why = unfit(graph.type(operand))) return why;
    }
    if (const char* why = add_node(graph, node, places)) return why;
  }
  for (const ir::ValueId output : graph.outputs()) outputs.push_back(places[output]);
  return nullptr;
}

const char* LoopSteps::add_node(const ir::Graph& graph, const ir::Node& node, std::span<int> places) {
  if (ir::has_effect(node)) return "the body has an effect";
  const TensorType& type = graph.type(node.first_result);
  SmallVector<int, 4> operands;
  for (const ir::ValueId operand : graph.operands(node)) operands.push_back(places[operand]);
  const std::span<const int> in{operands.data(), operands.size()};
  int& result = places[node.first_result];
  if (node.op == &ops::convert) {
    result = convert(in[0], type.dtype);
  } else if (node.op->elementwise >= 0) {
    if (!hone::kernels()
             .elementwise[node.op->elementwise][static_cast<int>(dtype(in[node.op == &ops::select ? 1 : 0]))])
      return refusal(*node.op);
    result = row(*node.op, in, type);
    if (node.attrs.type() == &attr_type<ParamAttrs>()) {
      values_[at(result)].step.call.params[0] = node.attrs.as<ParamAttrs>().a;
      values_[at(result)].step.call.params[1] = node.attrs.as<ParamAttrs>().b;
    }
  } else if (node.op == &ops::constant) {
    result = filled(type, static_cast<uint64_t>(node.attrs.as<ConstantAttrs>().bits));
  } else if (node.op == &ops::iota) {
    const InterpreterScope now(nullptr);
    result = constant(dispatch(*node.op, node.attrs, {}, {}));
  } else if (std::ranges::find(kMoves, node.op) != std::end(kMoves)) {
    move(graph, node, places);
  } else if (node.op == &ops::if_) {
    return branch(graph, node, places);
  } else if (node.op == &ops::dynamic_slice) {
    return read(graph, node, places);
  } else if (node.op == &ops::dot_general || node.op == &ops::dense) {
    return contract(graph, node, places);
  } else if (node.op->op_class == OpClass::Reduction && node.attrs.type() == &attr_type<AxesAttrs>()) {
    return reduce(graph, node, places) ? refusal(*node.op) : nullptr;
  } else {
    return refusal(*node.op);
  }
  return nullptr;
}

// The op itself says which element goes where: it moves their numbers.
void LoopSteps::move(const ir::Graph& graph, const ir::Node& node, std::span<int> places) {
  const InterpreterScope now(nullptr);
  SmallVector<Tensor, 4> numbers;
  SmallVector<int, 4> operands;
  int64_t next = 0;
  for (const ir::ValueId operand : graph.operands(node)) {
    operands.push_back(places[operand]);
    const Tensor& each = numbers.emplace_back(Tensor::empty({i64, graph.type(operand).shape}));
    auto* const to = static_cast<int64_t*>(static_cast<void*>(each.mutable_bytes()));
    for (int64_t i = 0; i < each.size(); ++i) to[i] = next++;
  }
  std::vector<Tensor> moved(graph.values());
  ir::dispatch_node(graph, node, {numbers.data(), numbers.size()}, moved);
  for (uint32_t r = 0; r < node.results; ++r) {
    const ir::ValueId value = node.first_result + r;
    const Tensor dense = moved[value].dense();
    const auto* const from = static_cast<const int64_t*>(static_cast<const void*>(dense.mutable_bytes()));
    places[value] =
        pick({operands.data(), operands.size()}, {from, static_cast<size_t>(dense.size())}, graph.type(value));
  }
}

// All branches run; nothing that they do is seen but their results.
const char* LoopSteps::branch(const ir::Graph& graph, const ir::Node& node, std::span<int> places) {
  const std::span<const ir::ValueId> operands = graph.operands(node);
  const int selector = places[operands[0]];
  std::vector<int> inputs;
  for (const ir::ValueId operand : operands.subspan(1)) inputs.push_back(places[operand]);
  const Regions& branches = node.attrs.as<BranchAttrs>().branches;
  std::vector<std::vector<int>> results(branches.size());
  for (size_t b = 0; b < branches.size(); ++b) {
    if (const char* why = add(after_passes(ir::graph_of(branches[b])), inputs, results[b])) return why;
  }
  std::vector<int> chosen = results.back();
  for (size_t b = branches.size() - 1; b-- > 0;) {
    int is_b = selector;
    if (dtype(selector) != bool_) {
      const int both[] = {selector, filled({i32, {}}, b)};
      is_b = row(ops::equal, both, {bool_, {}});
    }
    for (size_t r = 0; r < chosen.size(); ++r) {
      if (results[b][r] == chosen[r]) continue;
      const TensorType type = values_[at(chosen[r])].type;
      const std::vector<int64_t> same(static_cast<size_t>(type.shape.count()), 0);
      const int condition[] = {is_b};
      const int three[] = {pick(condition, same, {bool_, type.shape}), results[b][r], chosen[r]};
      chosen[r] = row(ops::select, three, type);
    }
  }
  for (size_t r = 0; r < chosen.size(); ++r) places[node.first_result + r] = chosen[r];
  return nullptr;
}

int LoopSteps::push(LoopStep step, const TensorType& type) {
  bool fixed = true;
  for (int k = 0; k < step.call.operands; ++k) fixed = fixed && values_[at(step.call.in[k])].where == Fixed;
  values_.push_back({.type = type, .where = fixed ? Fixed : where_, .step = step});
  return static_cast<int>(values_.size()) - 1;
}

int LoopSteps::call(int32_t row, std::span<const int> operands, DType of, const TensorType& type) {
  LoopStep step;
  step.call.row = row;
  step.call.type = static_cast<int32_t>(of);
  step.call.operands = static_cast<int32_t>(operands.size());
  std::ranges::copy(operands, step.call.in);
  return push(step, type);
}

int LoopSteps::row(const Op& op, std::span<const int> operands, const TensorType& type) {
  return call(op.elementwise, operands, dtype(operands[&op == &ops::select ? 1 : 0]), type);
}

int LoopSteps::convert(int v, DType to) {
  const int operands[] = {v};
  return to == dtype(v) ? v : call(MapStep::kConvert, operands, dtype(v), {to, values_[at(v)].type.shape});
}

int LoopSteps::constant(const Tensor& elements) {
  const Tensor dense = elements.dense();
  LoopStep step;
  step.call.row = LoopStep::kConstant;
  step.first = static_cast<int64_t>(data_.size());
  const size_t item = size_of(dense.dtype());
  for (int64_t i = 0; i < dense.size(); ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, dense.mutable_bytes() + static_cast<size_t>(i) * item, item);
    data_.push_back(bits);
  }
  return push(step, dense.type());
}

int LoopSteps::filled(const TensorType& type, uint64_t bits) {
  LoopStep step;
  step.call.row = LoopStep::kConstant;
  step.first = static_cast<int64_t>(data_.size());
  data_.insert(data_.end(), static_cast<size_t>(type.shape.count()), bits);
  return push(step, type);
}

// At most two operands a step: others join one after the other.
int LoopSteps::pick(std::span<const int> operands, std::span<const int64_t> places, const TensorType& type) {
  int all = operands[0];
  int64_t n = count(all);
  const auto add = [&](int a, int b, std::span<const int64_t> from, const TensorType& result) {
    LoopStep step;
    step.call.row = LoopStep::kPick;
    step.call.operands = b < 0 ? 1 : 2;
    step.call.in[0] = a, step.call.in[1] = b < 0 ? 0 : b;
    step.first = static_cast<int64_t>(data_.size());
    data_.insert(data_.end(), from.begin(), from.end());
    return push(step, result);
  };
  for (size_t i = 1; i + 1 < operands.size(); ++i) {
    n += count(operands[i]);
    std::vector<int64_t> both;
    for (int64_t k = 0; k < n; ++k) both.push_back(k);
    all = add(all, operands[i], both, {type.dtype, {n}});
  }
  bool same = operands.size() == 1 && static_cast<int64_t>(places.size()) == n;
  for (size_t i = 0; same && i < places.size(); ++i) same = places[i] == static_cast<int64_t>(i);
  return same ? all : add(all, operands.size() > 1 ? operands.back() : -1, places, type);
}

}  // namespace hone
