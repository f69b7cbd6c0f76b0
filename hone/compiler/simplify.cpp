#include <array>
#include <cmath>
#include <cstring>

#include "hone/base/thread_local.h"
#include "hone/compiler/passes.h"
#include "hone/compiler/rules.h"
#include "hone/ops/attrs.h"
#include "hone/ops/table.h"
#include "hone/tensor/half.h"
#include "hone/tensor/interpreter.h"

namespace hone::compiler {
namespace {

constexpr size_t kFoldedBytes = size_t{1} << 16;  // of a literal that folding makes
constexpr double kFoldedWork = 1e6;               // operations of one call that is folded

struct Counts {
  std::vector<RuleCount> rules;
};

void count(const char* rule) {
  Counts* const own = ThreadLocal<Counts>::get();
  if (!own) return;
  for (RuleCount& each : own->rules) {
    if (each.rule == rule) return void(++each.count);
  }
  own->rules.push_back({rule, 1});
}

std::span<const Rule* const> rules_of(const Op& op) {
  static const std::vector<std::vector<const Rule*>> table = [] {
    std::vector<std::vector<const Rule*>> by_op(op_table().size());
    for (const std::span<const Rule> rules : {arithmetic_rules(), movement_rules(), reorder_rules()}) {
      for (const Rule& rule : rules) {
        for (const Op* op : op_table()) {
          const bool root = rule.root ? rule.root == op : op->op_class == OpClass::Elementwise || op == &ops::convert;
          if (root && rule.rule_class == Rule::Exact) by_op[static_cast<size_t>(op->index)].push_back(&rule);
        }
      }
    }
    return by_op;
  }();
  return table[static_cast<size_t>(op.index)];
}

class Simplifier {
 public:
  Simplifier(const ir::Graph& graph, bool constant_folding)
      : graph_(graph), users_(graph), rewriter_(graph), constant_folding_(constant_folding) {
    for (const ir::Input& input : graph.inputs()) note(input.value);
  }

  ir::Graph run(bool& changed) {
    for (const ir::Node& node : graph_.nodes()) {
      if (!replace(node)) rewriter_.copy(node);
      for (uint32_t i = 0; i < node.results; ++i) note(node.first_result + i);
    }
    changed = changed_;
    return rewriter_.finish();
  }

 private:
  // Who reads the value reads what stands for it.
  void note(ir::ValueId old) {
    const ir::ValueId now = rewriter_[old];
    if (readers_.size() <= now) readers_.resize(now + 1);
    readers_[now] += static_cast<uint32_t>(users_.of(old).size()) + users_.outputs[old];
  }

  bool replace(const ir::Node& node) {
    if (ir::has_effect(node)) return false;
    const SmallVector<ir::ValueId, 8> operands = rewriter_.operands(node);
    if (node.op->transparent) return set(node, operands.back(), "transparent");
    if (node.results != 1) return false;
    const Match match(rewriter_.to(), node, {operands.data(), operands.size()}, graph_.type(node.first_result),
                      readers_);
    for (const Rule* rule : rules_of(*node.op)) {
      if (const auto value = rule->apply(match)) return set(node, *value, rule->name);
    }
    if (!constant_folding_) return false;
    if (const auto folded = fold(node, match)) return set(node, *folded, "fold_constants");
    return false;
  }

  bool set(const ir::Node& node, ir::ValueId value, const char* rule) {
    rewriter_.set(node.first_result, value);
    count(rule);
    return changed_ = true;
  }

  // Elementwise calls of constants are computed on one element; small others in full, by the eager kernels.
  std::optional<ir::ValueId> fold(const ir::Node& node, const Match& match) {
    if (node.operands == 0 || !match.type().shape.is_static()) return std::nullopt;
    const bool by_element = node.op->op_class == OpClass::Elementwise || node.op == &ops::convert;
    SmallVector<Tensor, 4> inputs;
    for (size_t i = 0; i < match.inputs(); ++i) {
      const TensorType& type = match.in_type(i);
      if (const auto bits = match.splat_bits(i); bits && by_element) {
        inputs.push_back(element(type.dtype, *bits));
      } else if (const Tensor literal = literal_of(match.in(i)); literal.defined() && !by_element) {
        inputs.push_back(literal);
      } else {
        return std::nullopt;
      }
    }
    if (by_element) {
      const Tensor one = compute(node, inputs);
      int64_t bits = 0;
      std::memcpy(&bits, one.raw(), size_of(one.dtype()));
      return match.make(ops::constant, ConstantAttrs{match.type().dtype, match.type().shape, bits}, {});
    }
    if (node.op->op_class == OpClass::View ||
        match.type().shape.count() * static_cast<int64_t>(size_of(match.type().dtype)) >
            static_cast<int64_t>(kFoldedBytes))
      return std::nullopt;
    if (node.op->cost) {
      SmallVector<const TensorType*, 4> types;
      for (size_t i = 0; i < match.inputs(); ++i) types.push_back(&match.in_type(i));
      if (node.op->cost(node.attrs, {types.data(), types.size()}, {&match.type(), 1}).flops > kFoldedWork)
        return std::nullopt;
    }
    const Tensor value = compute(node, inputs).dense();
    return rewriter_.to().add_input(value.type(), {.kind = ir::InputKind::Constant, .tensor = value});
  }

  Tensor literal_of(ir::ValueId value) {
    const ir::Graph& to = rewriter_.to().graph();
    if (to.producer(value) != ir::kNone) return {};
    for (const ir::Input& input : to.inputs()) {
      if (input.value == value && input.kind == ir::InputKind::Constant) return input.tensor;
    }
    return {};
  }

  static Tensor element(DType dtype, int64_t bits) {
    Tensor one = Tensor::empty({dtype, {}});
    std::memcpy(one.mutable_bytes(), &bits, size_of(dtype));
    return one;
  }

  static Tensor compute(const ir::Node& node, SmallVector<Tensor, 4>& inputs) {
    const InterpreterScope now(nullptr);
    return dispatch(*node.op, node.attrs, {inputs.data(), inputs.size()}, {});
  }

  const ir::Graph& graph_;
  ir::Users users_;
  ir::Rewriter rewriter_;
  std::vector<uint32_t> readers_;  // by value of the new graph
  bool constant_folding_, changed_ = false;
};

}  // namespace

const ir::Node* Match::made_by(size_t i, const Op& op) const {
  const ir::Node* const node = producer(operands_[i]);
  return node && node->op == &op ? node : nullptr;
}

const ir::Node* Match::producer(ir::ValueId value) const {
  const uint32_t producer = to_.graph().producer(value);
  return producer == ir::kNone ? nullptr : &to_.graph().nodes()[producer];
}

std::optional<int64_t> Match::splat(ir::ValueId value) const {
  const ir::Graph& graph = to_.graph();
  while (graph.producer(value) != ir::kNone) {
    const ir::Node& node = graph.nodes()[graph.producer(value)];
    if (node.op == &ops::constant) return node.attrs.as<ConstantAttrs>().bits;
    if (node.op != &ops::broadcast_in_dim && node.op != &ops::reshape) break;
    value = graph.operands(node)[0];
  }
  return std::nullopt;
}

bool Match::is(size_t i, double value) const {
  const auto bits = splat_bits(i);
  if (!bits) return false;
  return visit_dtype(in_type(i).dtype, [&](auto kind) {
    using T = decltype(kind);
    T element;
    std::memcpy(&element, &*bits, sizeof element);
    const double number = to_double(element);
    return number == value && (!is_floating(in_type(i).dtype) || std::signbit(number) == std::signbit(value));
  });
}

std::vector<RuleCount> last_rule_counts() {
  const Counts* const own = ThreadLocal<Counts>::get();
  return own ? own->rules : std::vector<RuleCount>();
}

ir::Graph simplify(const ir::Graph& graph, bool constant_folding) {
  constexpr int kRounds = 4;
  if (Counts* const own = ThreadLocal<Counts>::get()) own->rules.clear();
  bool changed = false;
  ir::Graph result = Simplifier(graph, constant_folding).run(changed);
  for (int round = 1; changed && round < kRounds; ++round)
    result = Simplifier(remove_dead(result), constant_folding).run(changed);
  return result;
}

}  // namespace hone::compiler
