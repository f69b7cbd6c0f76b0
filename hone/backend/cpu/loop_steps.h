// The calls of a loop's regions as steps of machine code.
#pragma once
#include <span>
#include <vector>

#include "hone/compiler/codegen.h"
#include "hone/ir/graph.h"

namespace hone {

struct DotAttrs;

/// What refuses a value of more than codegen::kLoopElements.
inline constexpr const char* kLoopTooLarge = "a value has more elements than a loop holds in registers (64)";

/// A region after the passes that leave its calls apart.
ir::Graph after_passes(const ir::Graph& region);

/// Steps in the order of their making; values are the inputs of the loop, then one for each step.
class LoopSteps {
 public:
  /// Where a value changes: never, with the row, with the carries.
  enum Where : uint8_t { Fixed, Row, Condition, Body };

  int add_input(const TensorType& type);
  void make_fixed(int input) { values_[at(input)].where = Fixed; }
  void make_row(int input);  ///< drops axis 0 of its type
  /// Steps added from now on are the body's, those before the condition's.
  void begin_body() { where_ = Body; }

  /// Adds the calls of a graph on these values; `outputs` gets its results. Null, or why it has a call that is no step
  /// (static storage).
  const char* add(const ir::Graph& graph, std::span<const int> inputs, std::vector<int>& outputs);
  /// Marks what the roots need as live, and `changing`. Null, or why one of those is too large.
  const char* keep(std::span<const int> roots, std::span<const int> changing);

  size_t size() const { return values_.size(); }
  Where where(int v) const { return values_[at(v)].where; }
  bool live(int v) const { return values_[at(v)].live; }
  const codegen::LoopStep& step(int v) const { return values_[at(v)].step; }
  codegen::LoopValue value(int v) const;
  const std::vector<uint64_t>& data() const { return data_; }
  int64_t work() const;  ///< of live steps, in 16 bytes

 private:
  struct Value {
    TensorType type;
    Where where;
    codegen::LoopStep step{};
    bool live = false, input = false;
  };
  static size_t at(int v) { return static_cast<size_t>(v); }
  DType dtype(int v) const { return values_[at(v)].type.dtype; }
  int64_t count(int v) const { return values_[at(v)].type.shape.count(); }

  const char* add_node(const ir::Graph& graph, const ir::Node& node, std::span<int> places);
  int push(codegen::LoopStep step, const TensorType& type);
  int call(int32_t row, std::span<const int> operands, DType of, const TensorType& type);
  int row(const Op& op, std::span<const int> operands, const TensorType& type);
  int convert(int v, DType to);
  int constant(const Tensor& elements);
  int filled(const TensorType& type, uint64_t bits);
  int pick(std::span<const int> operands, std::span<const int64_t> places, const TensorType& type);
  void move(const ir::Graph& graph, const ir::Node& node, std::span<int> places);
  const char* branch(const ir::Graph& graph, const ir::Node& node, std::span<int> places);

  const char* contract(const ir::Graph& graph, const ir::Node& node, std::span<int> places);
  const char* reduce(const ir::Graph& graph, const ir::Node& node, std::span<int> places);
  bool reads_table(const ir::Node& node, int operand) const;
  const char* read(const ir::Graph& graph, const ir::Node& node, std::span<int> places);
  struct Factor {
    int value;
    const Shape* shape;
  };
  int product(const Factor& lhs, const Factor& rhs, const DotAttrs& attrs, const TensorType& type);
  int fold(const Op& combine, int v, int64_t outer, int64_t extent, int64_t inner);

  std::vector<Value> values_;
  std::vector<uint64_t> data_;
  Where where_ = Condition;
};

}  // namespace hone
