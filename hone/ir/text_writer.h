// From a graph to text: names, types, attributes, regions, lines. How single ops are spelled is a Dialect's.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "hone/ir/text_reader.h"

namespace hone::ir {

struct TextOptions {
  bool generic = false;    ///< "stablehlo.add"(%0, %1) : (...) -> ... throughout
  bool locations = false;  ///< loc("file.cpp":31:0) behind each line
};

/// "tensor<2x?xf32>"
std::string type_text(const TensorType& type);
/// "i1", "bf16", "ui8"
std::string dtype_text(DType dtype);
/// "array<i64: 1, 2>"
std::string array_text(const Ints& values);
/// "[1, 2]"
std::string list_text(const Ints& values);
std::string quoted(std::string_view text);

class Writer {
 public:
  Writer(const Dialect& dialect, TextOptions options);
  bool generic() const { return options_.generic; }
  /// The module of a program.
  std::string module(const Graph& graph);

  /// One operation. `pretty`: all between its name and its types in the short form; empty where there is none.
  struct Line {
    std::string name{};
    std::vector<std::string> operands{};
    std::vector<TensorType> operand_types{};
    std::string properties{};  ///< "axis = 1 : i64"
    std::string attributes{};
    std::vector<std::string> regions{};
    std::vector<TensorType> results{};
    std::string pretty{};
    bool short_types = false;  ///< the pretty form ends in the one type that operands and results share
  };
  /// Writes it; names of the results.
  std::vector<std::string> emit(const Line& line);
  std::string emit_one(const Line& line) { return emit(line)[0]; }
  /// stablehlo.constant of one element.
  std::string constant(const Tensor& element, const TensorType& type);

  // Of the node at hand.
  const Graph& graph() const { return *frames_.back().graph; }
  std::string operand(const Node& node, size_t i);
  std::vector<std::string> operands(const Node& node);
  const TensorType& operand_type(const Node& node, size_t i) const;
  std::vector<TensorType> operand_types(const Node& node) const;
  std::vector<TensorType> result_types(const Node& node) const;
  /// The line of a node: name, operands and types.
  Line line(const Node& node, std::string name);
  void bind(const Node& node, const std::vector<std::string>& names);
  void bind(const Node& node, const Line& line) { bind(node, emit(line)); }

  /// A region's text. `outer` gives each input the value of the graph around that it stands for; without it the inputs
  /// are the block's arguments.
  std::string region(const Graph& graph, std::span<const ValueId> outer = {});
  using Body = std::function<std::vector<std::string>(const std::vector<std::string>& arguments)>;
  /// A region whose lines `body` emits; it gives the names of what the region returns.
  std::string block(std::span<const TensorType> arguments, const Body& body);
  /// A region that combines two scalars by a call of this name: stablehlo.add.
  std::string combiner(const std::string& name, DType dtype);
  /// A private function with this program, once however often it is asked for: its name.
  std::string function(const std::string& name, const Graph& graph);
  /// Fields as a dictionary: "{axis = 1, shape = [2, 3]}".
  std::string dictionary(AttrRef attrs);
  /// custom_call @hone.NAME with all attributes.
  void custom_call(const Node& node);
  std::string fresh_argument() { return "%arg" + std::to_string(arguments_++); }

 private:
  class FieldWriter;
  struct Frame {
    const Graph* graph = nullptr;
    std::vector<std::string> names;  // by value; empty: not written yet
    std::vector<ValueId> outer;      // by value: what an input stands for around
  };
  std::string name(size_t frame, ValueId value);
  void node(const Node& node);
  void body(const Graph& graph, const char* terminator);
  std::string function_text(const std::string& symbol, const Graph& graph, bool is_public);
  void symbols(const Graph& graph);
  void symbols_of(const TensorType& type);
  std::string location() const;

  const Dialect& dialect_;
  TextOptions options_;
  std::string out_;
  std::string indent_;
  std::vector<Frame> frames_;
  uint32_t values_ = 0, arguments_ = 0;
  const Node* node_ = nullptr;
  std::map<std::string, std::vector<std::pair<std::string, std::shared_ptr<const Graph>>>> functions_;
  std::vector<std::pair<std::string, std::shared_ptr<const Graph>>> pending_;
  std::map<std::string, Dim> symbols_;
  std::unordered_map<std::string, TensorType> types_;  // of names in blocks
};

}  // namespace hone::ir
