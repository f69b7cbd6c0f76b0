// Control flow, calls, composites and custom calls.
#include <fmt/format.h>

#include "hone/compiler/stablehlo_forms.h"
#include "hone/ir/region.h"

namespace hone::compiler {
namespace {

using ir::graph_of;
using ir::Node;
using ir::Reader;
using ir::ValueId;
using ir::Writer;
using ir::text::Attribute;

// Branches read the values around them by name; so what they are given is no operand.
bool write_if(Writer& writer, const Node& node) {
  const bool two = writer.operand_type(node, 0).dtype == bool_;
  Writer::Line line;
  line.name = two ? "stablehlo.if" : "stablehlo.case";
  line.operands = {writer.operand(node, 0)};
  line.operand_types = {writer.operand_type(node, 0)};
  line.results = writer.result_types(node);
  const std::span<const ValueId> given = writer.graph().operands(node).subspan(1);
  for (const auto& branch : node.attrs.as<BranchAttrs>().branches)
    line.regions.push_back(writer.region(graph_of(branch), given));
  writer.bind(node, line);
  return true;
}

void add_results(Reader& reader, const Op& op, AttrRef attrs, std::span<const ValueId> operands, uint32_t results) {
  const uint32_t node = reader.builder().add(op, attrs, operands, results, reader.origin());
  const ValueId first = reader.builder().graph().nodes()[node].first_result;
  for (uint32_t i = 0; i < results; ++i) reader.result(first + i);
}

void read_if(Reader& reader) {
  std::vector<ValueId> operands{reader.operand(0)}, captured;
  const BranchAttrs attrs{reader.regions(captured, {})};
  if (attrs.branches.empty()) reader.fail("its branches are missing");
  operands.insert(operands.end(), captured.begin(), captured.end());
  add_results(reader, ops::if_, attrs, operands, static_cast<uint32_t>(graph_of(attrs.branches[0]).outputs().size()));
}

bool write_while(Writer& writer, const Node& node) {
  Writer::Line line = writer.line(node, "stablehlo.while");
  for (const auto& region : node.attrs.as<LoopAttrs>().regions) line.regions.push_back(writer.region(graph_of(region)));
  writer.bind(node, line);
  return true;
}

void read_while(Reader& reader) {
  std::vector<ValueId> carried = reader.all_operands(), captured;
  std::vector<TensorType> types;
  for (const ValueId value : carried) types.push_back(reader.type(value));
  const auto results = carried.size();
  const LoopAttrs attrs{reader.regions(captured, types, {false, true})};
  carried.insert(carried.end(), captured.begin(), captured.end());
  const uint32_t node =
      reader.builder().add(ops::while_, attrs, carried, static_cast<uint32_t>(carried.size()), reader.origin());
  const ValueId first = reader.builder().graph().nodes()[node].first_result;
  for (size_t i = 0; i < results; ++i) reader.result(first + static_cast<ValueId>(i));
}

// ---- calls

void read_call(Reader& reader) {
  const Attribute* callee = reader.attribute("callee");
  if (!callee && !reader.operation().values.empty()) callee = &reader.operation().values[0];
  if (!callee || callee->kind != Attribute::Kind::Symbol) reader.fail("@function expected");
  reader.call(callee->text);
}

// A call of one of Hone's own ops, with its attributes.
bool read_hone(Reader& reader, std::string_view name, const Attribute* fields) {
  constexpr std::string_view kPrefix = "hone.";
  if (!name.starts_with(kPrefix)) return false;
  const Op* const op = find_op(name.substr(kPrefix.size()));
  if (!op || op == &ops::custom_gradient) return false;  // what a host function computes is not in the text
  const Attrs attrs = reader.attrs(*op, fields ? fields->fields : ir::text::Fields());
  const std::vector<ValueId> operands = reader.all_operands();
  const auto given = static_cast<int>(operands.size());
  if (given < op->min_inputs || (op->max_inputs >= 0 && given > op->max_inputs))
    reader.fail(fmt::format("{} operands where {} takes {} to {}", given, op->name, op->min_inputs, op->max_inputs));
  const size_t results = op->outputs >= 0 ? static_cast<size_t>(op->outputs) : reader.operation().result_types.size();
  add_results(reader, *op, attrs, operands, static_cast<uint32_t>(results));
  return true;
}

void read_composite(Reader& reader) {
  const Attribute* name = reader.attribute("name");
  if (!name && !reader.operation().values.empty()) name = &reader.operation().values[0];
  if (!name || name->kind != Attribute::Kind::String) reader.fail("the composite's name is missing");
  if (read_hone(reader, name->text, reader.attribute("composite_attributes"))) return;
  const Attribute* const decomposition = reader.attribute("decomposition");
  if (!decomposition) reader.unsupported(fmt::format("composite {} without a decomposition", name->text));
  reader.call(decomposition->text);
}

void read_custom_call(Reader& reader) {
  const Attribute* target = reader.attribute("call_target_name");
  if (!target && !reader.operation().values.empty()) target = &reader.operation().values[0];
  if (!target || target->text.empty()) reader.fail("@target expected");
  if (read_check(reader, target->text)) return;
  if (read_hone(reader, target->text, reader.attribute("hone.attributes"))) return;
  constexpr std::string_view kSame[] = {"Sharding", "annotate_device_placement", "LayoutConstraint"};
  if (std::ranges::find(kSame, target->text) == std::end(kSame))
    reader.unsupported(fmt::format("stablehlo.custom_call @{}", target->text));
  for (const ValueId value : reader.all_operands()) reader.result(value);
}

// A gradient of the host's own has no text: what is left is the value.
bool write_custom_gradient(Writer& writer, const Node& node) {
  writer.bind(node, std::vector{writer.operand(node, node.operands - 1)});
  return true;
}

constexpr WriteForm kWrite[] = {
    {&ops::if_, write_if}, {&ops::while_, write_while}, {&ops::custom_gradient, write_custom_gradient}};

constexpr ReadForm kRead[] = {{"stablehlo.if", read_if},
                              {"stablehlo.case", read_if},
                              {"stablehlo.while", read_while},
                              {"call", read_call},
                              {"func.call", read_call},
                              {"stablehlo.composite", read_composite},
                              {"stablehlo.custom_call", read_custom_call}};

}  // namespace

Forms control_forms() { return {kWrite, kRead}; }

}  // namespace hone::compiler
