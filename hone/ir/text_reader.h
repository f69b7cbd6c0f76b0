// From the tree of a text to a graph: scopes, closures, calls. What single operations mean is a Dialect's.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "hone/ir/graph.h"
#include "hone/ir/text.h"

namespace hone::ir {

class Reader;
class Writer;

/// How calls of the table's ops are spelled, and how spelled operations become calls.
class Dialect {
 public:
  virtual ~Dialect() = default;
  /// A constant whose elements all are `element` (rank 0).
  virtual ValueId splat(Builder& builder, const Tensor& element, const TensorType& type, uint32_t origin) const = 0;
  /// True for such a constant; its element in `element`. They are written where they are first read.
  virtual bool is_splat(const Node& node, Tensor& element) const = 0;
  /// Reads an operation; false for one it does not know.
  virtual bool read(Reader& reader, const text::Operation& operation) const = 0;
  /// Writes a node; false where the default is right: stablehlo.NAME for elementwise primitives without attributes,
  /// else stablehlo.custom_call @hone.NAME.
  virtual bool write(Writer& writer, const Node& node) const = 0;
};

/// Reads functions of a module. For dialects: what the operation at hand has and gives.
class Reader {
 public:
  Reader(const text::Module& module, const Dialect& dialect);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// @main (or the only function). Error kInvalidArgument for what is wrong; Error kUnsupported lists all that is not
  /// supported by line.
  Graph read();

  const text::Operation& operation() const { return *operation_; }
  size_t operands() const { return operation_->operands.size(); }
  ValueId operand(size_t i);
  std::vector<ValueId> all_operands();
  const TensorType& type(ValueId value) const;
  /// Elements of operand i where it is a constant: all, or one of rank 0 that stands for all. Undefined for others.
  Tensor literal(size_t i);
  /// The type that the text gives result i. Error where it gives none.
  const text::Type& declared(size_t i) const;
  TensorType declared_tensor(size_t i) const;

  Builder& builder();
  uint32_t origin() const { return origin_; }
  ValueId add(const Op& op, AttrRef attrs, std::span<const ValueId> operands);
  ValueId add(const Op& op, AttrRef attrs, std::initializer_list<ValueId> operands) {
    return add(op, attrs, std::span<const ValueId>(operands.begin(), operands.size()));
  }
  ValueId splat(const Tensor& element, const TensorType& type);
  /// Elements that are no splat.
  ValueId literal(const Tensor& elements, const TensorType& type);
  void result(ValueId value);
  /// A constant result, which becomes a node where it is read.
  void result(Tensor elements, const TensorType& type);

  /// The operation's regions as closed programs: inputs are the block's arguments, then `captured`, which lists the
  /// values around that any of them reads. `pass[i]`: region i gives those again as its last outputs.
  Regions regions(std::vector<ValueId>& captured, std::span<const TensorType> arguments, std::vector<bool> pass = {});
  /// A private function as a program of its own.
  std::shared_ptr<const Graph> function(std::string_view name, std::span<const TensorType> arguments);
  /// The operation's results are those of this function on its operands.
  void call(std::string_view function);
  /// As call, on these values.
  std::vector<ValueId> inlined(const Graph& graph, std::span<const ValueId> operands);

  /// Notes that this is not supported; reading goes on behind it.
  [[noreturn]] void unsupported(std::string what);
  /// Error kInvalidArgument at the operation.
  [[noreturn]] void fail(std::string_view what) const;
  [[noreturn]] void fail(text::Place place, std::string_view what) const;

  /// The attribute, or null. Where a pretty form has another name for it: the first that is there.
  const text::Attribute* attribute(std::string_view name, std::string_view other = {}) const;
  int64_t integer(std::string_view name, std::string_view other = {}) const;
  /// A list of integers, also dense<...>; empty if it is left out.
  std::vector<int64_t> integers(std::string_view name, std::string_view other = {}) const;
  std::vector<int64_t> integers(const text::Attribute& attribute) const;
  Ints ints(std::string_view name, std::string_view other = {}) const;
  Ints ints(const text::Attribute& attribute) const;
  /// Attributes of an op with these fields by name; others keep their default.
  Attrs attrs(const Op& op, const text::Fields& fields);

 private:
  struct Level;
  struct Bound;
  struct Frame;
  struct Skip {};
  class FieldReader;

  const text::Operation& find_function(std::string_view name) const;
  std::vector<Bound> block(const text::Region& region, Frame& frame);
  void read_operation(const text::Operation& operation, Frame& frame, std::vector<Bound>* returned);
  void bind_results(const text::Operation& operation, Frame& frame);
  void poison(const text::Operation& operation, Frame& frame);
  void arguments(const text::Region& region, std::span<const Bound> values, Frame& frame);
  void check_type(const TensorType& type, const text::Type& declared, text::Place place) const;
  const Bound& look_up(const text::Use& use) const;
  ValueId materialize(const Bound& bound, Level& level);
  ValueId capture(const Bound& bound, Level& level);
  Bound input(const text::Argument& argument);
  TensorType input_type(const text::Argument& argument);
  void read_symbols(const text::Operation& function);
  uint32_t origin_of(const text::Operation& operation);
  void note(text::Place place, std::string what);
  void enter(text::Place place);

  const text::Module& module_;
  const Dialect& dialect_;
  std::shared_ptr<Context> context_;
  Level* level_ = nullptr;
  Frame* frame_ = nullptr;
  const text::Operation* operation_ = nullptr;
  std::vector<Bound>* results_ = nullptr;
  uint32_t origin_ = 0;
  std::map<text::Place, std::string> unsupported_;
  int depth_ = 0;
  int64_t read_ = 0;
};

}  // namespace hone::ir
