#include "hone/ir/text_writer.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "hone/ir/text_literal.h"

namespace hone::ir {
namespace {

std::string joined(const std::vector<std::string>& parts) { return fmt::format("{}", fmt::join(parts, ", ")); }

std::string types_text(const std::vector<TensorType>& types) {
  std::vector<std::string> texts;
  for (const TensorType& type : types) texts.push_back(type_text(type));
  return joined(texts);
}

std::string results_text(const std::vector<TensorType>& types) {
  return types.size() == 1 ? type_text(types[0]) : "(" + types_text(types) + ")";
}

std::string double_text(double value) {
  std::byte bits[8];
  std::memcpy(bits, &value, sizeof value);
  return text::print_element(bits, f64) + " : f64";
}

}  // namespace

std::string dtype_text(DType dtype) {
  if (dtype == bool_) return "i1";
  const std::string_view own = name(dtype);
  return is_unsigned_integer(dtype) ? "ui" + std::string(own.substr(1)) : std::string(own);
}

std::string type_text(const TensorType& type) {
  std::string out = "tensor<";
  for (const Dim dim : type.shape) out += (dim.is_number() ? std::to_string(dim.number()) : "?") + "x";
  return out + dtype_text(type.dtype) + ">";
}

std::string list_text(const Ints& values) { return fmt::format("[{}]", fmt::join(values.begin(), values.end(), ", ")); }
std::string array_text(const Ints& values) {
  return values.empty() ? "array<i64>" : fmt::format("array<i64: {}>", fmt::join(values.begin(), values.end(), ", "));
}

std::string quoted_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || byte < 0x20 || byte >= 0x7F)
      out += fmt::format("\\{:02X}", byte);
    else
      out += c;
  }
  return out + "\"";
}

Writer::Writer(const Dialect& dialect, TextOptions options) : dialect_(dialect), options_(options) {}

std::string Writer::location() const {
  if (!options_.locations || !node_ || frames_.empty()) return {};
  const Origin& origin = graph().origin(*node_);
  const Location line = origin.location();
  std::string place = line.known() ? fmt::format("{}:{}:0", quoted_text(line.file), line.line) : "unknown";
  if (!origin.layer.empty()) place = fmt::format("{}({})", quoted_text(origin.layer), line.known() ? place : "unknown");
  return " loc(" + place + ")";
}

std::vector<std::string> Writer::emit(const Line& line) {
  std::vector<std::string> names;
  std::string text = indent_;
  if (!line.results.empty()) {
    const std::string base = "%" + std::to_string(values_++);
    text += base;
    if (line.results.size() == 1) {
      names.push_back(base);
    } else {
      text += ":" + std::to_string(line.results.size());
      for (size_t i = 0; i < line.results.size(); ++i) names.push_back(fmt::format("{}#{}", base, i));
    }
    text += " = ";
  }
  if (!options_.generic && !line.pretty.empty()) {
    text += line.name + line.pretty;
    if (!line.attributes.empty()) text += " {" + line.attributes + "}";
    text += " : ";
    if (line.short_types)
      text += results_text(line.results);
    else
      text += "(" + types_text(line.operand_types) + ") -> " + results_text(line.results);
  } else {
    text += fmt::format("\"{}\"({})", line.name, joined(line.operands));
    if (!line.properties.empty()) text += " <{" + line.properties + "}>";
    if (!line.regions.empty()) text += " (" + joined(line.regions) + ")";
    if (!line.attributes.empty()) text += " {" + line.attributes + "}";
    text += " : (" + types_text(line.operand_types) + ") -> " + results_text(line.results);
  }
  for (size_t i = 0; i < names.size(); ++i) types_.insert_or_assign(names[i], line.results[i]);
  out_ += text + location() + "\n";
  return names;
}

std::string Writer::block(std::span<const TensorType> arguments, const Body& body) {
  std::string around = std::exchange(out_, {});
  const std::string indent = indent_;
  indent_ += "  ";
  std::vector<std::string> names, texts, types;
  for (const TensorType& type : arguments) {
    names.push_back(fresh_argument());
    texts.push_back(names.back() + ": " + type_text(type));
    types_.insert_or_assign(names.back(), type);
  }
  const std::vector<std::string> returned = body(names);
  for (const std::string& name : returned) types.push_back(type_text(types_.at(name)));
  out_ += fmt::format("{}\"stablehlo.return\"({}) : ({}) -> ()\n", indent_, joined(returned), joined(types));
  indent_ = indent;
  std::string text = fmt::format("{{\n{}^bb0({}):\n{}{}}}", indent, joined(texts), out_, indent);
  out_ = std::move(around);
  return text;
}

std::string Writer::constant(const Tensor& element, const TensorType& type) {
  const auto* at = static_cast<const std::byte*>(element.raw());
  const std::string value =
      element.rank() == 0 ? "dense<" + text::print_element(at, type.dtype) + ">" : text::print_elements(element);
  const std::string typed = value + " : " + type_text(type);
  const std::string base = "%" + std::to_string(values_++);
  if (options_.generic)
    out_ += fmt::format("{}{} = \"stablehlo.constant\"() <{{value = {}}}> : () -> {}", indent_, base, typed,
                        type_text(type));
  else
    out_ += fmt::format("{}{} = stablehlo.constant {}", indent_, base, typed);
  out_ += location() + "\n";
  return base;
}

std::string Writer::name(size_t at, ValueId value) {
  Frame& frame = frames_[at];
  if (!frame.names[value].empty()) return frame.names[value];
  const Graph& graph = *frame.graph;
  Tensor element;
  if (graph.producer(value) != kNone) {
    const Node& node = graph.nodes()[graph.producer(value)];
    if (dialect_.is_splat(node, element)) return frame.names[value] = constant(element, graph.type(value));
  } else if (!frame.outer.empty() && at > 0) {
    // A splat around is written again where the region reads it, as reading it back makes it.
    const ValueId outer = frame.outer[value];
    const Graph& around = *frames_[at - 1].graph;
    const uint32_t producer = around.producer(outer);
    if (producer != kNone && dialect_.is_splat(around.nodes()[producer], element))
      return frame.names[value] = constant(element, graph.type(value));
    return frame.names[value] = name(at - 1, outer);
  } else {
    for (const Input& input : graph.inputs()) {
      if (input.value == value && input.kind == InputKind::Constant)
        return frame.names[value] = constant(input.tensor, graph.type(value));
    }
  }
  return frames_[at].names[value];
}

std::string Writer::operand(const Node& node, size_t i) { return name(frames_.size() - 1, graph().operands(node)[i]); }

std::vector<std::string> Writer::operands(const Node& node) {
  std::vector<std::string> out;
  for (size_t i = 0; i < node.operands; ++i) out.push_back(operand(node, i));
  return out;
}

const TensorType& Writer::operand_type(const Node& node, size_t i) const {
  return graph().type(graph().operands(node)[i]);
}

std::vector<TensorType> Writer::operand_types(const Node& node) const {
  std::vector<TensorType> out;
  for (const ValueId value : graph().operands(node)) out.push_back(graph().type(value));
  return out;
}

std::vector<TensorType> Writer::result_types(const Node& node) const {
  std::vector<TensorType> out;
  for (uint32_t i = 0; i < node.results; ++i) out.push_back(graph().type(node.first_result + i));
  return out;
}

Writer::Line Writer::line(const Node& node, std::string name) {
  Line line;
  line.name = std::move(name);
  line.operands = operands(node);
  line.operand_types = operand_types(node);
  line.results = result_types(node);
  return line;
}

void Writer::bind(const Node& node, const std::vector<std::string>& names) {
  for (uint32_t i = 0; i < node.results; ++i) frames_.back().names[node.first_result + i] = names[i];
}

void Writer::node(const Node& node) {
  Tensor element;
  if (dialect_.is_splat(node, element)) return;
  node_ = &node;
  if (!dialect_.write(*this, node)) {
    if (node.op->op_class == OpClass::Elementwise && !node.op->decompose && !node.op->attrs) {
      Line line = this->line(node, "stablehlo." + std::string(node.op->name));
      line.short_types =
          std::ranges::all_of(line.operand_types, [&](const TensorType& t) { return t == line.results[0]; });
      line.pretty = " " + joined(line.operands);
      bind(node, line);
    } else {
      custom_call(node);
    }
  }
  node_ = nullptr;
}

void Writer::body(const Graph& graph, const char* terminator) {
  for (const Node& each : graph.nodes()) node(each);
  std::vector<std::string> names;
  std::vector<TensorType> types;
  for (const ValueId output : graph.outputs()) {
    names.push_back(name(frames_.size() - 1, output));
    types.push_back(graph.type(output));
  }
  if (options_.generic)
    out_ += fmt::format("{}\"{}\"({}) : ({}) -> ()\n", indent_, terminator, joined(names), types_text(types));
  else if (names.empty())
    out_ += fmt::format("{}{}\n", indent_, terminator);
  else
    out_ += fmt::format("{}{} {} : {}\n", indent_, terminator, joined(names), types_text(types));
}

std::string Writer::region(const Graph& graph, std::span<const ValueId> outer) {
  Tensor element;
  for (const ValueId value : outer) {  // what the region does not write itself stands around it
    const uint32_t producer = this->graph().producer(value);
    if (producer == kNone || !dialect_.is_splat(this->graph().nodes()[producer], element))
      name(frames_.size() - 1, value);
  }
  std::string around = std::exchange(out_, {});
  const std::string indent = indent_;
  const Node* const node = node_;
  indent_ += "  ";
  Frame frame;
  frame.graph = &graph;
  frame.names.resize(graph.values());
  std::string head;
  if (!outer.empty()) {
    frame.outer.resize(graph.values(), kNone);
    for (size_t i = 0; i < outer.size(); ++i) frame.outer[graph.inputs()[i].value] = outer[i];
  } else if (!graph.inputs().empty()) {
    std::vector<std::string> arguments;
    for (const Input& input : graph.inputs()) {
      frame.names[input.value] = fresh_argument();
      arguments.push_back(frame.names[input.value] + ": " + type_text(graph.type(input.value)));
    }
    head = fmt::format("{}^bb0({}):\n", indent, joined(arguments));
  }
  frames_.push_back(std::move(frame));
  symbols(graph);
  node_ = nullptr;  // of the graph around: no node of this one
  body(graph, "stablehlo.return");
  frames_.pop_back();
  indent_ = indent;
  node_ = node;
  std::string text = "{\n" + head + out_ + indent + "}";
  out_ = std::move(around);
  return text;
}

std::string Writer::combiner(const std::string& name, DType dtype) {
  const TensorType type{dtype, {}};
  const TensorType pair[] = {type, type};
  return block(pair, [&](const std::vector<std::string>& in) {
    return std::vector{emit_one({.name = name,
                                 .operands = in,
                                 .operand_types = {type, type},
                                 .results = {type},
                                 .pretty = " " + joined(in),
                                 .short_types = true})};
  });
}

std::string Writer::function(const std::string& name, const Graph& graph) {
  auto& known = functions_[name];
  for (const auto& [symbol, each] : known) {
    if (each->same(graph)) return symbol;
  }
  const std::string symbol = fmt::format("{}_{}", name, known.size());
  const auto kept = std::make_shared<Graph>(graph);
  known.emplace_back(symbol, kept);
  pending_.emplace_back(symbol, kept);
  return symbol;
}

class Writer::FieldWriter final : public AttrVisitor {
 public:
  explicit FieldWriter(Writer& writer) : writer_(writer) {}
  std::string text;
  void field(const char* name, int64_t& value) override { add(name, std::to_string(value)); }
  void field(const char* name, double& value) override { add(name, double_text(value)); }
  void field(const char* name, bool& value) override { add(name, value ? "true" : "false"); }
  void field(const char* name, DType& value) override { add(name, dtype_text(value)); }
  void field(const char* name, Shape& value) override {
    add(name, value.is_static() ? list_text(value.numbers()) : quoted_text(to_string(value)));
    TensorType type{f32, value};
    writer_.symbols_of(type);
  }
  void field(const char* name, Ints& value) override { add(name, list_text(value)); }
  void field(const char* name, std::string& value) override { add(name, quoted_text(value)); }
  void field(const char* name, Regions& value) override {
    std::vector<std::string> symbols;
    for (const auto& region : value)
      symbols.push_back("@" + writer_.function("hone.region", static_cast<const Graph&>(*region)));
    add(name, "[" + joined(symbols) + "]");
  }

 private:
  void add(const char* name, const std::string& value) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
  }
  Writer& writer_;
};

std::string Writer::dictionary(AttrRef attrs) {
  FieldWriter visitor(*this);
  if (attrs.type()) attrs.type()->visit(const_cast<void*>(attrs.data()), visitor);
  return "{" + visitor.text + "}";
}

void Writer::custom_call(const Node& node) {
  Line line = this->line(node, "stablehlo.custom_call");
  line.pretty = fmt::format(" @hone.{}({})", node.op->name, joined(line.operands));
  line.properties = fmt::format("call_target_name = \"hone.{}\"", node.op->name);
  if (has_effect(node)) line.attributes = "has_side_effect = true";
  if (node.attrs.type()) {
    if (!line.attributes.empty()) line.attributes += ", ";
    line.attributes += "hone.attributes = " + dictionary(node.attrs);
  }
  bind(node, line);
}

void Writer::symbols_of(const TensorType& type) {
  for (const Dim dim : type.shape) {
    if (dim.is_number()) continue;
    std::vector<std::string> names;  // found under the table's lock, looked up after it
    dim.evaluate([&](std::string_view name) {
      names.emplace_back(name);
      return int64_t{1};
    });
    for (const std::string& name : names) {
      Dim symbol;
      if (find_symbol(name, symbol)) symbols_.emplace(name, symbol);
    }
  }
}

void Writer::symbols(const Graph& graph) {
  for (ValueId value = 0; value < graph.values(); ++value) symbols_of(graph.type(value));
}

std::string Writer::function_text(const std::string& symbol, const Graph& graph, bool is_public) {
  std::string around = std::exchange(out_, {});
  indent_ = "    ";
  values_ = arguments_ = 0;
  Frame frame;
  frame.graph = &graph;
  frame.names.resize(graph.values());
  std::vector<std::string> arguments;
  for (const Input& input : graph.inputs()) {
    if (input.kind == InputKind::Constant) continue;
    const TensorType& type = graph.type(input.value);
    frame.names[input.value] = fresh_argument();
    std::vector<std::string> notes;
    if (!input.name.empty()) notes.push_back("hone.name = " + quoted_text(input.name));
    if (input.kind == InputKind::Capture) notes.emplace_back("hone.kind = \"capture\"");
    if (input.kind == InputKind::Variable) notes.emplace_back("hone.kind = \"variable\"");
    if (input.new_value != kNone) notes.push_back(fmt::format("hone.new_value = {}", input.new_value));
    if (!type.shape.is_static()) notes.push_back("hone.shape = " + quoted_text(to_string(type.shape)));
    arguments.push_back(frame.names[input.value] + ": " + type_text(type) +
                        (notes.empty() ? "" : " {" + joined(notes) + "}"));
  }
  std::vector<TensorType> results;
  for (const ValueId output : graph.outputs()) results.push_back(graph.type(output));
  frames_.push_back(std::move(frame));
  symbols_.clear();
  symbols(graph);
  body(graph, options_.generic ? "func.return" : "return");
  frames_.pop_back();
  std::string notes;
  for (const auto& [name, symbol] : symbols_)
    notes += fmt::format("{}{} = [{}, {}]", notes.empty() ? "" : ", ", name, symbol.min(), symbol.max());
  if (!notes.empty()) notes = fmt::format(" attributes {{hone.symbols = {{{}}}}}", notes);
  std::string text = fmt::format("  func.func {} @{}({}){}{} {{\n{}  }}\n", is_public ? "public" : "private", symbol,
                                 joined(arguments), results.empty() ? "" : " -> " + results_text(results), notes, out_);
  out_ = std::move(around);
  return text;
}

std::string Writer::module(const Graph& graph) {
  std::string text = "module {\n" + function_text("main", graph, true);
  for (size_t i = 0; i < pending_.size(); ++i) {  // functions may ask for functions
    const auto [symbol, each] = pending_[i];
    text += function_text(symbol, *each, false);
  }
  return text + "}\n";
}

}  // namespace hone::ir
