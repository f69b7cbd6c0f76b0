// How ops treat the examples of a batch: what prove_examples_apart knows of them.
#pragma once
#include <span>
#include <vector>

#include "hone/ir/graph.h"

namespace hone::compiler {

/// Where the examples lie in a value: along `axis`, whose extent is outer x batch x something, row by row. Axis -1: the
/// value is the same for all.
struct BatchPlace {
  int axis = -1;
  int64_t outer = 1;
  bool mapped() const { return axis >= 0; }
  friend bool operator==(const BatchPlace&, const BatchPlace&) = default;
};

/// Whether there is a rule; the op is decomposed where there is none.
bool has_batch_rule(const Op& op);

/// One call: where its results have the examples, if each depends on the same example of the operands alone.
class BatchRule {
 public:
  BatchRule(const ir::Graph& graph, const ir::Node& node, std::span<const BatchPlace> operands, Dim batch);
  /// Null, or why it cannot be shown.
  const char* run();
  const std::vector<BatchPlace>& results() const { return results_; }

 private:
  friend struct BatchRules;
  const Shape& in(size_t i) const { return graph_.type(graph_.operands(node_)[i]).shape; }
  const Shape& out(size_t i = 0) const { return graph_.type(node_.first_result + static_cast<uint32_t>(i)).shape; }
  /// Examples of operand 0 alone.
  bool only_first() const;
  /// The axis of a shape that depends on the batch; -1: none, -2: several.
  static int symbolic_axis(const Shape& shape);
  /// All results at this place.
  const char* at(BatchPlace place);
  template <class T>
  const T& attrs() const {
    return node_.attrs.as<T>();
  }

  const ir::Graph& graph_;
  const ir::Node& node_;
  std::span<const BatchPlace> operands_;
  Dim batch_;
  std::vector<BatchPlace> results_;
};

}  // namespace hone::compiler
