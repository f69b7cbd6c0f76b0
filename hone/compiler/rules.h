// Rewrite rules as data: what simplify may put in place of a call. A test proves each on its domain.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "hone/ir/graph.h"

namespace hone::compiler {

/// A call about to be added to a graph whose earlier calls are simplified already.
class Match {
 public:
  /// `readers`: by value of the graph, how often the program reads it; beyond the end: once.
  Match(ir::Builder& to, const ir::Node& node, std::span<const ir::ValueId> operands, const TensorType& type,
        std::span<const uint32_t> readers)
      : to_(to), node_(node), operands_(operands), type_(type), readers_(readers) {}

  ir::ValueId in(size_t i) const { return operands_[i]; }
  size_t inputs() const { return operands_.size(); }
  const TensorType& in_type(size_t i) const { return to_.graph().type(operands_[i]); }
  const TensorType& type() const { return type_; }  ///< of result 0
  const ir::Node& node() const { return node_; }
  template <class T>
  const T& attrs() const {
    return node_.attrs.as<T>();
  }
  /// The call of `op` that gives operand i, if one does.
  const ir::Node* made_by(size_t i, const Op& op) const;
  /// The call that gives the value; null for an input.
  const ir::Node* producer(ir::ValueId value) const;
  /// At least how often the program reads it.
  uint32_t readers(ir::ValueId value) const { return value < readers_.size() ? readers_[value] : 1; }
  ir::ValueId operand_of(const ir::Node& node, size_t i) const { return to_.graph().operands(node)[i]; }
  const TensorType& type_of(ir::ValueId value) const { return to_.graph().type(value); }
  /// The bits of operand i where all its elements are one constant (seen through broadcasts).
  std::optional<int64_t> splat_bits(size_t i) const { return splat(operands_[i]); }
  std::optional<int64_t> splat(ir::ValueId value) const;
  /// Whether operand i is that constant everywhere, sign of zero included.
  bool is(size_t i, double value) const;

  ir::ValueId make(const Op& op, AttrRef attrs, std::initializer_list<ir::ValueId> operands) const {
    return to_.add_one(op, attrs, {operands.begin(), operands.size()}, node_.origin);
  }
  ir::ValueId make(const Op& op, AttrRef attrs, std::span<const ir::ValueId> operands) const {
    return to_.add_one(op, attrs, operands, node_.origin);
  }

 private:
  ir::Builder& to_;
  const ir::Node& node_;
  std::span<const ir::ValueId> operands_;
  const TensorType& type_;
  std::span<const uint32_t> readers_;
};

struct Rule {
  const char* name;  ///< "transpose_of_transpose"
  const char* text;  ///< "transpose(transpose(x, p), q) = transpose(x, p[q])"
  /// Exact: the same bits for all values (of a NaN only that it is one). Fast rules change bits and are off by default.
  enum Class : uint8_t { Exact, Fast } rule_class = Exact;
  const Op* root;  ///< null: each elementwise op
  std::optional<ir::ValueId> (*apply)(const Match& match);
  /// Small programs in which the rule applies (and some in which it must not): a test runs them before and after.
  std::vector<ir::Graph> (*domain)();
};

std::span<const Rule> arithmetic_rules();
std::span<const Rule> movement_rules();
std::span<const Rule> reorder_rules();

/// How often each rule was applied by this thread's last simplify(), by name; for tests and reports.
struct RuleCount {
  const char* rule;
  int64_t count;
};
std::vector<RuleCount> last_rule_counts();

}  // namespace hone::compiler
