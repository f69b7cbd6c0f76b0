// Movement of elements by attributes alone.
#include <fmt/format.h>

#include "hone/compiler/stablehlo_forms.h"

namespace hone::compiler {
namespace {

using ir::array_text;
using ir::list_text;
using ir::Node;
using ir::Reader;
using ir::ValueId;
using ir::Writer;

bool write_plain(Writer& writer, const Node& node) {
  writer.bind(node, writer.line(node, "stablehlo." + std::string(node.op->name)));
  return true;
}

bool write_reshape(Writer& writer, const Node& node) {
  if (!is_static(writer, node)) return false;
  Writer::Line line = writer.line(node, "stablehlo.reshape");
  line.pretty = " " + line.operands[0];
  writer.bind(node, line);
  return true;
}
void read_reshape(Reader& reader) {
  const Shape shape = reader.declared_tensor(0).shape;
  reader.result(reader.add(ops::reshape, ShapeAttrs{shape}, {reader.operand(0)}));
}

bool write_transpose(Writer& writer, const Node& node) {
  const Ints& order = node.attrs.as<TransposeAttrs>().permutation;
  Writer::Line line = writer.line(node, "stablehlo.transpose");
  line.pretty = fmt::format(" {}, dims = {}", line.operands[0], list_text(order));
  line.properties = "permutation = " + array_text(order);
  writer.bind(node, line);
  return true;
}
void read_transpose(Reader& reader) {
  reader.result(reader.add(ops::transpose, TransposeAttrs{reader.ints("dims", "permutation")}, reader.all_operands()));
}

bool write_broadcast(Writer& writer, const Node& node) {
  if (!is_static(writer, node)) return false;
  const Ints& dims = node.attrs.as<BroadcastAttrs>().dimensions;
  Writer::Line line = writer.line(node, "stablehlo.broadcast_in_dim");
  line.pretty = fmt::format(" {}, dims = {}", line.operands[0], list_text(dims));
  line.properties = "broadcast_dimensions = " + array_text(dims);
  writer.bind(node, line);
  return true;
}
void read_broadcast(Reader& reader) {
  const Shape shape = reader.declared_tensor(0).shape;
  const Ints dims = reader.ints("dims", "broadcast_dimensions");
  if (const Tensor element = reader.literal(0); element.defined() && element.rank() == 0)  // still one element
    return reader.result(element, {element.dtype(), shape});
  reader.result(reader.add(ops::broadcast_in_dim, BroadcastAttrs{shape, dims}, {reader.operand(0)}));
}

bool write_concatenate(Writer& writer, const Node& node) {
  const int64_t axis = node.attrs.as<AxisAttrs>().axis;
  Writer::Line line = writer.line(node, "stablehlo.concatenate");
  line.pretty = fmt::format(" {}, dim = {}", joined(line.operands), axis);
  line.properties = fmt::format("dimension = {} : i64", axis);
  writer.bind(node, line);
  return true;
}
void read_concatenate(Reader& reader) {
  reader.result(reader.add(ops::concatenate, AxisAttrs{reader.integer("dim", "dimension")}, reader.all_operands()));
}

bool write_slice(Writer& writer, const Node& node) {
  if (!is_static(writer, node)) return false;
  const auto& attrs = node.attrs.as<SliceAttrs>();
  const Ints start = attrs.start.numbers(), limit = attrs.limit.numbers();
  Writer::Line line = writer.line(node, "stablehlo.slice");
  std::vector<std::string> ranges;
  for (size_t i = 0; i < start.size(); ++i) {
    ranges.push_back(fmt::format("{}:{}", start[i], limit[i]));
    if (attrs.strides[i] != 1) ranges.back() += fmt::format(":{}", attrs.strides[i]);
  }
  line.pretty = fmt::format(" {} [{}]", line.operands[0], joined(ranges));
  line.properties = fmt::format("limit_indices = {}, start_indices = {}, strides = {}", array_text(limit),
                                array_text(start), array_text(attrs.strides));
  writer.bind(node, line);
  return true;
}
void read_slice(Reader& reader) {
  SliceAttrs attrs;
  if (!reader.operation().values.empty()) {
    for (const ir::text::Attribute& range : reader.operation().values[0].items) {
      const std::vector<int64_t> bounds = range.items.empty() ? std::vector<int64_t>() : reader.integers(range);
      if (bounds.size() < 2 || bounds.size() > 3) reader.fail("[start:limit:stride, ...] expected");
      attrs.start.push_back(bounds[0]);
      attrs.limit.push_back(bounds[1]);
      attrs.strides.push_back(bounds.size() == 3 ? bounds[2] : 1);
    }
  } else {
    attrs.start = Shape(std::span<const int64_t>(reader.integers("start_indices")));
    attrs.limit = Shape(std::span<const int64_t>(reader.integers("limit_indices")));
    attrs.strides = reader.ints("strides");
  }
  reader.result(reader.add(ops::slice, attrs, reader.all_operands()));
}

bool write_pad(Writer& writer, const Node& node) {
  const auto& attrs = node.attrs.as<PadAttrs>();
  Writer::Line line = writer.line(node, "stablehlo.pad");
  line.pretty = fmt::format(" {}, low = {}, high = {}, interior = {}", joined(line.operands), list_text(attrs.low),
                            list_text(attrs.high), list_text(attrs.interior));
  line.properties = fmt::format("edge_padding_high = {}, edge_padding_low = {}, interior_padding = {}",
                                array_text(attrs.high), array_text(attrs.low), array_text(attrs.interior));
  writer.bind(node, line);
  return true;
}
void read_pad(Reader& reader) {
  const PadAttrs attrs{reader.ints("low", "edge_padding_low"), reader.ints("high", "edge_padding_high"),
                       reader.ints("interior", "interior_padding")};
  reader.result(reader.add(ops::pad, attrs, reader.all_operands()));
}

bool write_reverse(Writer& writer, const Node& node) {
  const Ints& axes = node.attrs.as<AxesAttrs>().axes;
  Writer::Line line = writer.line(node, "stablehlo.reverse");
  line.pretty = fmt::format(" {}, dims = {}", line.operands[0], list_text(axes));
  line.short_types = true;
  line.properties = "dimensions = " + array_text(axes);
  writer.bind(node, line);
  return true;
}
void read_reverse(Reader& reader) {
  Ints axes = reader.ints("dims", "dimensions");
  std::ranges::sort(axes);
  reader.result(reader.add(ops::reverse, AxesAttrs{axes}, reader.all_operands()));
}

bool write_dimension_size(Writer& writer, const Node& node) {
  const int64_t axis = node.attrs.as<AxisAttrs>().axis;
  Writer::Line line = writer.line(node, "stablehlo.get_dimension_size");
  line.pretty = fmt::format(" {}, dim = {}", line.operands[0], axis);
  line.properties = fmt::format("dimension = {} : i64", axis);
  writer.bind(node, line);
  return true;
}
void read_dimension_size(Reader& reader) {
  reader.result(
      reader.add(ops::get_dimension_size, AxisAttrs{reader.integer("dim", "dimension")}, reader.all_operands()));
}

void read_barrier(Reader& reader) {
  const std::vector<ValueId> values = reader.all_operands();
  const auto results = static_cast<uint32_t>(values.size());
  const uint32_t node = reader.builder().add(ops::optimization_barrier, {}, values, results, reader.origin());
  for (uint32_t i = 0; i < results; ++i) reader.result(reader.builder().graph().nodes()[node].first_result + i);
}

constexpr WriteForm kWrite[] = {{&ops::reshape, write_reshape},
                                {&ops::transpose, write_transpose},
                                {&ops::broadcast_in_dim, write_broadcast},
                                {&ops::concatenate, write_concatenate},
                                {&ops::slice, write_slice},
                                {&ops::pad, write_pad},
                                {&ops::reverse, write_reverse},
                                {&ops::get_dimension_size, write_dimension_size},
                                {&ops::optimization_barrier, write_plain}};

constexpr ReadForm kRead[] = {{"stablehlo.reshape", read_reshape},
                              {"stablehlo.transpose", read_transpose},
                              {"stablehlo.broadcast_in_dim", read_broadcast},
                              {"stablehlo.concatenate", read_concatenate},
                              {"stablehlo.slice", read_slice},
                              {"stablehlo.pad", read_pad},
                              {"stablehlo.reverse", read_reverse},
                              {"stablehlo.get_dimension_size", read_dimension_size},
                              {"stablehlo.optimization_barrier", read_barrier}};

}  // namespace

Forms movement_forms() { return {kWrite, kRead}; }

}  // namespace hone::compiler
