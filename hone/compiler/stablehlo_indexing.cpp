// Indices known at run time: dynamic slices, gather, scatter.
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
using ir::text::Attribute;

bool write_dynamic_slice(Writer& writer, const Node& node) {
  if (!is_static(writer, node)) return false;
  const Ints sizes = node.attrs.as<ShapeAttrs>().shape.numbers();
  Writer::Line line = writer.line(node, "stablehlo.dynamic_slice");
  line.pretty = fmt::format(" {}, sizes = {}", joined(line.operands), list_text(sizes));
  line.properties = "slice_sizes = " + array_text(sizes);
  writer.bind(node, line);
  return true;
}
void read_dynamic_slice(Reader& reader) {
  const Ints sizes = reader.ints("sizes", "slice_sizes");
  reader.result(reader.add(ops::dynamic_slice, ShapeAttrs{Shape(std::span<const int64_t>(sizes.data(), sizes.size()))},
                           reader.all_operands()));
}

bool write_dynamic_update_slice(Writer& writer, const Node& node) {
  Writer::Line line = writer.line(node, "stablehlo.dynamic_update_slice");
  line.pretty = " " + joined(line.operands);
  writer.bind(node, line);
  return true;
}
void read_dynamic_update_slice(Reader& reader) {
  reader.result(reader.add(ops::dynamic_update_slice, {}, reader.all_operands()));
}

// ---- gather and scatter

// The lists of #stablehlo.gather<...> and #stablehlo.scatter<...>.
struct Numbers {
  Ints window_dims, dropped, batching, index_batching, map;
  int64_t vector_dim = 0;
};

Numbers read_numbers(Reader& reader, std::string_view attribute, std::span<const std::string_view, 5> names) {
  const Attribute* const given = reader.attribute(attribute);
  if (!given || (given->kind != Attribute::Kind::Dict && given->kind != Attribute::Kind::Word))
    reader.fail(fmt::format("the attribute {} is missing", attribute));
  Numbers numbers;
  Ints* const lists[] = {&numbers.window_dims, &numbers.dropped, &numbers.batching, &numbers.index_batching,
                         &numbers.map};
  for (size_t i = 0; i < names.size(); ++i) {
    if (const Attribute* list = find(given->fields, names[i])) *lists[i] = reader.ints(*list);
  }
  if (const Attribute* at = find(given->fields, "index_vector_dim")) numbers.vector_dim = at->integer;
  return numbers;
}

// Batching axes become components of the index vectors that count along the grid.
ValueId expand_batching(Reader& reader, ValueId indices, Numbers& numbers) {
  if (numbers.batching.empty()) return indices;
  if (numbers.batching.size() != numbers.index_batching.size())
    reader.fail("batching axes of operand and indices must pair");
  TensorType type = reader.type(indices);
  if (numbers.vector_dim == type.shape.rank()) {
    type.shape.push_back(1);
    indices = reader.add(ops::reshape, ShapeAttrs{type.shape}, {indices});
  }
  std::vector<ValueId> parts;
  TensorType one = type;
  if (numbers.vector_dim < 0 || numbers.vector_dim >= type.shape.rank())
    reader.fail("index_vector_dim is out of range");
  one.shape[static_cast<size_t>(numbers.vector_dim)] = 1;
  for (const int64_t axis : numbers.index_batching)
    parts.push_back(reader.add(ops::iota, IotaAttrs{type.dtype, one.shape, axis}, {}));
  parts.push_back(indices);
  Ints map = numbers.batching;
  for (const int64_t axis : numbers.map) map.push_back(axis);
  numbers.map = map;
  for (const int64_t axis : numbers.batching) numbers.dropped.push_back(axis);
  std::ranges::sort(numbers.dropped);
  return reader.add(ops::concatenate, AxisAttrs{numbers.vector_dim}, parts);
}

bool write_gather(Writer& writer, const Node& node) {
  if (!is_static(writer, node)) return false;
  const auto& attrs = node.attrs.as<GatherAttrs>();
  Writer::Line line = writer.line(node, "stablehlo.gather");
  line.properties = fmt::format(
      "dimension_numbers = #stablehlo.gather<offset_dims = {}, collapsed_slice_dims = {}, start_index_map = {}, "
      "index_vector_dim = {}>, slice_sizes = {}",
      list_text(attrs.offset_dims), list_text(attrs.collapsed_slice_dims), list_text(attrs.start_index_map),
      attrs.index_vector_dim, array_text(attrs.slice_sizes.numbers()));
  writer.bind(node, line);
  return true;
}

void read_gather(Reader& reader) {
  constexpr std::string_view kNames[] = {"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
                                         "start_indices_batching_dims", "start_index_map"};
  Numbers numbers = read_numbers(reader, "dimension_numbers", kNames);
  const ValueId x = reader.operand(0), indices = expand_batching(reader, reader.operand(1), numbers);
  const Ints sizes = reader.ints("slice_sizes");
  const GatherAttrs attrs{numbers.window_dims, numbers.dropped, numbers.map, numbers.vector_dim,
                          Shape(std::span<const int64_t>(sizes.data(), sizes.size()))};
  reader.result(reader.add(ops::gather, attrs, {x, indices}));
}

struct Update {
  Combine combine;
  const Op* op;
};
constexpr Update kUpdates[] = {{Combine::Sum, &ops::add},
                               {Combine::Prod, &ops::multiply},
                               {Combine::Max, &ops::maximum},
                               {Combine::Min, &ops::minimum}};

bool write_scatter(Writer& writer, const Node& node) {
  if (!is_static(writer, node)) return false;
  const auto& attrs = node.attrs.as<ScatterAttrs>();
  const DType dtype = writer.operand_type(node, 0).dtype;
  const TensorType element{dtype, {}};
  Writer::Line line = writer.line(node, "stablehlo.scatter");
  line.properties = fmt::format(
      "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = {}, inserted_window_dims = {}, "
      "scatter_dims_to_operand_dims = {}, index_vector_dim = {}>",
      list_text(attrs.update_window_dims), list_text(attrs.inserted_window_dims),
      list_text(attrs.scatter_dims_to_operand_dims), attrs.index_vector_dim);
  const auto update = std::ranges::find(kUpdates, static_cast<Combine>(attrs.combine), &Update::combine);
  line.regions = {update == std::end(kUpdates)
                      ? writer.block(std::array{element, element}, [](const auto& in) { return std::vector{in[1]}; })
                      : writer.combiner("stablehlo." + std::string(update->op->name), dtype)};
  writer.bind(node, line);
  return true;
}

void read_scatter(Reader& reader) {
  if (reader.operands() != 3)
    reader.unsupported(fmt::format("stablehlo.scatter into {} operands", reader.operands() / 2));
  constexpr std::string_view kNames[] = {"update_window_dims", "inserted_window_dims", "input_batching_dims",
                                         "scatter_indices_batching_dims", "scatter_dims_to_operand_dims"};
  Numbers numbers = read_numbers(reader, "scatter_dimension_numbers", kNames);
  const ValueId x = reader.operand(0), indices = expand_batching(reader, reader.operand(1), numbers);
  ValueId updates = reader.operand(2);
  const DType dtype = reader.type(x).dtype;
  const auto region = scalar_regions(reader, std::array{dtype, dtype})[0];
  ScatterAttrs attrs{numbers.window_dims, numbers.dropped, numbers.map, numbers.vector_dim,
                     static_cast<int64_t>(Combine::Set)};
  const Op* const op = combiner(*region);
  const auto update = std::ranges::find(kUpdates, op, &Update::op);
  if (returns(*region, 0)) return reader.result(x);
  if (update != std::end(kUpdates)) {
    attrs.combine = static_cast<int64_t>(update->combine);
  } else if (op == &ops::subtract && region->operands(region->nodes()[0])[0] == region->inputs()[0].value) {
    attrs.combine = static_cast<int64_t>(Combine::Sum);
    updates = reader.add(ops::negate, {}, {updates});
  } else if (!returns(*region, 1)) {
    reader.unsupported(
        "stablehlo.scatter by a region that does not set, add, multiply, or take the minimum or maximum");
  }
  reader.result(reader.add(ops::scatter, attrs, {x, indices, updates}));
}

constexpr WriteForm kWrite[] = {{&ops::dynamic_slice, write_dynamic_slice},
                                {&ops::dynamic_update_slice, write_dynamic_update_slice},
                                {&ops::gather, write_gather},
                                {&ops::scatter, write_scatter}};

constexpr ReadForm kRead[] = {{"stablehlo.dynamic_slice", read_dynamic_slice},
                              {"stablehlo.dynamic_update_slice", read_dynamic_update_slice},
                              {"stablehlo.gather", read_gather},
                              {"stablehlo.scatter", read_scatter}};

}  // namespace

Forms indexing_forms() { return {kWrite, kRead}; }

}  // namespace hone::compiler
