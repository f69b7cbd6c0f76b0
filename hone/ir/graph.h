// Graph: the IR of traced programs. Nodes are calls of ops over values; what they hold is what Call carries.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hone/base/small_vector.h"
#include "hone/tensor/op.h"

namespace hone::ir {

/// A value of a graph: an input, or a result of a node. Numbered densely in the order of their making.
using ValueId = uint32_t;
inline constexpr uint32_t kNone = UINT32_MAX;

/// Where a node comes from. Nodes that became one keep the lines of all (the first few).
struct Origin {
  SmallVector<Location, 1> lines;
  std::string layer;  ///< path of names, "model/conv1"; may be empty
  Location location() const { return lines.empty() ? Location{} : lines[0]; }
};

/// What graphs of one trace share: interned types, attributes and origins. Grows only; not thread-safe.
class Context {
 public:
  /// `merges`: builders make one node of equal pure calls.
  explicit Context(bool merges = true);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  bool merges() const { return merges_; }
  /// The one copy of an equal type; lives as long as the context.
  const TensorType* intern(const TensorType& type);
  /// The one copy of equal attributes: equal attributes have the same data().
  AttrRef intern(AttrRef attrs);
  uint32_t add(Origin origin);
  const Origin& origin(uint32_t index) const;
  /// An origin with the lines of both.
  uint32_t merge(uint32_t a, uint32_t b);

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
  bool merges_;
};

/// A call: operands and results are ranges of the graph's values.
struct Node {
  const Op* op = nullptr;
  AttrRef attrs;  ///< interned
  uint32_t first_operand = 0, operands = 0;
  ValueId first_result = 0;
  uint32_t results = 0;
  uint32_t origin = 0;
  bool again = false;  ///< computes anew what another node gives, on purpose: never becomes one with it
};

enum class InputKind : uint8_t {
  Argument,  ///< given by the caller
  Capture,   ///< a tensor that the program met; the same in each run
  Constant,  ///< elements known to passes: literals, folded values
  Variable,  ///< the value of a cell before the run
};

struct Input {
  ValueId value = kNone;
  InputKind kind = InputKind::Argument;
  std::string name{};
  Tensor tensor{};             ///< of Capture and Constant
  uint32_t new_value = kNone;  ///< of Variable: which output is the cell's value afterwards; kNone: it stays
};

/// A program in static single assignment form: nodes stand in an order in which operands come before their users, and
/// effects in program order. Values of a region are its own: what it needs from outside is an input.
class Graph final : public Region {
 public:
  explicit Graph(std::shared_ptr<Context> context) : context_(std::move(context)) {}

  Context& context() const { return *context_; }
  const std::shared_ptr<Context>& shared_context() const { return context_; }

  std::span<const Node> nodes() const { return nodes_; }
  std::span<const Input> inputs() const { return inputs_; }
  std::span<const ValueId> outputs() const { return outputs_; }
  uint32_t values() const { return static_cast<uint32_t>(types_.size()); }

  const TensorType& type(ValueId value) const { return *types_[value]; }
  std::span<const ValueId> operands(const Node& node) const {
    return {operands_.data() + node.first_operand, node.operands};
  }
  /// The node that gives the value; kNone for an input.
  uint32_t producer(ValueId value) const { return producers_[value]; }
  const Origin& origin(const Node& node) const { return context_->origin(node.origin); }
  /// True if all types are static.
  bool is_static() const;

  uint64_t fingerprint() const override;
  bool same(const Region& other) const override;

  std::string name = "main";

 private:
  friend class Builder;
  std::shared_ptr<Context> context_;
  std::vector<Node> nodes_;
  std::vector<ValueId> operands_;
  std::vector<const TensorType*> types_;
  std::vector<uint32_t> producers_;
  std::vector<Input> inputs_;
  std::vector<ValueId> outputs_;
};

/// Operations and bytes of one run of the node, by its op's rule and static types; zeros where the op has none.
Cost cost_of(const Graph& graph, const Node& node);

/// True if the node must run, in order, whatever becomes of its results.
bool has_effect(const Node& node);

/// Where each value is read: users of v are nodes[first[v], first[v + 1]), once per operand; outputs count apart.
struct Users {
  explicit Users(const Graph& graph);
  std::span<const uint32_t> of(ValueId value) const {
    return {nodes.data() + first[value], first[value + 1] - first[value]};
  }
  std::vector<uint32_t> first, nodes;
  std::vector<uint32_t> outputs;  ///< times a value is an output of the graph
};

/// Makes a graph node by node. Equal pure calls become one node (hash-consing) where the context merges, so common
/// subexpressions cost nothing.
class Builder {
 public:
  explicit Builder(std::shared_ptr<Context> context);
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  ValueId add_input(const TensorType& type, Input input);
  /// Infers the result types (throws what the op's rule throws, at the origin's line) and returns the node; a pure one
  /// that exists is returned again.
  uint32_t add(const Op& op, AttrRef attrs, std::span<const ValueId> operands, uint32_t results, uint32_t origin,
               bool again = false);
  /// The first result of add with one result.
  ValueId add_one(const Op& op, AttrRef attrs, std::span<const ValueId> operands, uint32_t origin) {
    return graph_.nodes_[add(op, attrs, operands, 1, origin)].first_result;
  }

  const Graph& graph() const { return graph_; }
  Input& input(uint32_t index) { return graph_.inputs_[index]; }
  Context& context() { return graph_.context(); }
  Graph finish(std::vector<ValueId> outputs);

 private:
  struct Index;
  Graph graph_;
  std::unique_ptr<Index> index_;
};

/// Copies a graph into a builder node by node, for passes: operands are mapped, what is not copied is dropped.
class Rewriter {
 public:
  /// Copies all inputs of `from`.
  explicit Rewriter(const Graph& from);
  const Graph& from() const { return from_; }
  Builder& to() { return builder_; }
  ValueId operator[](ValueId old) const { return map_[old]; }
  void set(ValueId old, ValueId now) { map_[old] = now; }
  SmallVector<ValueId, 8> operands(const Node& node) const;
  /// The same call on mapped operands.
  void copy(const Node& node);
  Graph finish();

 private:
  const Graph& from_;
  Builder builder_;
  std::vector<ValueId> map_;
};

/// The graph without nodes that no output and no effect needs. Inputs stay, and come first.
Graph prune(const Graph& graph);

/// The graph with each symbolic dimension replaced by a number, `lookup(name)`; types are inferred anew.
Graph bind(const Graph& graph, const std::function<int64_t(std::string_view)>& lookup);

/// The graph in a context that merges.
Graph merged(const Graph& graph);

/// Dispatches the call that a node stands for on `operands`, which may be moved from; its results go to their places
/// among `values`, all values of the graph.
void dispatch_node(const Graph& graph, const Node& node, std::span<Tensor> operands, std::span<Tensor> values);
/// On operands from `values`.
void dispatch_node(const Graph& graph, const Node& node, std::span<Tensor> values);

/// Runs a graph call by call through dispatch: what the program would have done eagerly. Inputs in the graph's order.
std::vector<Tensor> interpret(const Graph& graph, std::span<const Tensor> inputs);

/// Error kInternal unless operands come before users, types are what the ops infer, regions are well-formed and
/// outputs exist. `after` names the pass.
void verify(const Graph& graph, std::string_view after);

}  // namespace hone::ir
