// Sorting and top_k.
#include <fmt/format.h>

#include "hone/compiler/stablehlo_forms.h"
#include "hone/compiler/stablehlo_probe.h"

namespace hone::compiler {
namespace {

using ir::Node;
using ir::Reader;
using ir::ValueId;
using ir::Writer;

// a before b: in order, NaN last.
std::string comparator_text(Writer& writer, std::span<const TensorType> arguments, bool descending) {
  const TensorType key = arguments[0], truth{bool_, {}};
  return writer.block(arguments, [&](const std::vector<std::string>& in) {
    const auto compare = [&](const char* direction, const std::string& a, const std::string& b) {
      return writer.emit_one(
          {.name = "stablehlo.compare",
           .operands = {a, b},
           .operand_types = {key, key},
           .properties = fmt::format("comparison_direction = #stablehlo<comparison_direction {}>", direction),
           .results = {truth},
           .pretty = fmt::format(" {}, {}, {}", direction, a, b)});
    };
    const auto logic = [&](const char* op, const std::string& a, const std::string& b) {
      return writer.emit_one({.name = std::string("stablehlo.") + op,
                              .operands = {a, b},
                              .operand_types = {truth, truth},
                              .results = {truth},
                              .pretty = fmt::format(" {}, {}", a, b),
                              .short_types = true});
    };
    const std::string before = compare(descending ? "GT" : "LT", in[0], in[1]);
    if (!is_floating(key.dtype)) return std::vector{before};
    const std::string number = compare("EQ", in[0], in[0]), nan = compare("NE", in[1], in[1]);
    return std::vector{logic("or", before, logic("and", number, nan))};
  });
}

bool write_sort(Writer& writer, const Node& node) {
  const auto& attrs = node.attrs.as<SortAttrs>();
  Writer::Line line = writer.line(node, "stablehlo.sort");
  std::vector<TensorType> arguments;
  for (const TensorType& type : line.operand_types) {
    arguments.push_back({type.dtype, {}});
    arguments.push_back({type.dtype, {}});
  }
  line.properties = fmt::format("dimension = {} : i64, is_stable = true", attrs.axis);
  line.regions = {comparator_text(writer, arguments, attrs.descending)};
  writer.bind(node, line);
  return true;
}

void read_sort(Reader& reader) {
  const std::vector<ValueId> values = reader.all_operands();
  if (values.empty()) reader.fail("it sorts nothing");
  std::vector<DType> dtypes;
  for (const ValueId value : values) {
    dtypes.push_back(reader.type(value).dtype);
    dtypes.push_back(reader.type(value).dtype);
  }
  const auto region = scalar_regions(reader, dtypes)[0];
  const std::optional<bool> descending = sorts(*region, dtypes[0]);
  if (!descending) reader.unsupported("stablehlo.sort by another order than that of its first operand");
  int64_t axis = reader.attribute("dimension") ? reader.integer("dimension") : -1;
  if (axis < 0) axis += reader.type(values[0]).shape.rank();
  const auto results = static_cast<uint32_t>(values.size());
  const uint32_t node = reader.builder().add(ops::sort, SortAttrs{axis, *descending}, values, results, reader.origin());
  for (uint32_t i = 0; i < results; ++i) reader.result(reader.builder().graph().nodes()[node].first_result + i);
}

bool write_top_k(Writer& writer, const Node& node) {
  Writer::Line line = writer.line(node, "chlo.top_k");
  line.properties = fmt::format("k = {} : i64", node.attrs.as<TopKAttrs>().k);
  writer.bind(node, line);
  return true;
}

void read_top_k(Reader& reader) {
  const uint32_t node =
      reader.builder().add(ops::top_k, TopKAttrs{reader.integer("k")}, reader.all_operands(), 2, reader.origin());
  const ValueId first = reader.builder().graph().nodes()[node].first_result;
  reader.result(first);
  reader.result(first + 1);
}

constexpr WriteForm kWrite[] = {{&ops::sort, write_sort}, {&ops::top_k, write_top_k}};
constexpr ReadForm kRead[] = {{"stablehlo.sort", read_sort}, {"chlo.top_k", read_top_k}};

}  // namespace

Forms sorting_forms() { return {kWrite, kRead}; }

}  // namespace hone::compiler
