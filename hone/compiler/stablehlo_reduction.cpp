// Reductions over axes and windows: StableHLO combines by a region, Hone by name.
#include <fmt/format.h>

#include <cstring>

#include "hone/base/small_vector.h"
#include "hone/compiler/stablehlo_forms.h"
#include "hone/compiler/stablehlo_probe.h"
#include "hone/ops/creation.h"
#include "hone/tensor/interpreter.h"

namespace hone::compiler {
namespace {

using ir::array_text;
using ir::list_text;
using ir::Node;
using ir::Reader;
using ir::ValueId;
using ir::Writer;

struct Monoid {
  const Op* combine;
  const Op* reduce;
  Combine window;  ///< Set: no window or scatter combines so
};
constexpr Monoid kMonoids[] = {
    {&ops::add, &ops::reduce_sum, Combine::Sum},     {&ops::multiply, &ops::reduce_prod, Combine::Prod},
    {&ops::maximum, &ops::reduce_max, Combine::Max}, {&ops::minimum, &ops::reduce_min, Combine::Min},
    {&ops::and_, &ops::reduce_and, Combine::Set},    {&ops::or_, &ops::reduce_or, Combine::Set}};

const Op& combine_op(int64_t combine) {
  return *std::ranges::find(kMonoids, static_cast<Combine>(combine), &Monoid::window)->combine;
}

std::string stablehlo_name(const Op& op) { return "stablehlo." + std::string(op.name); }

Tensor from_bits(uint64_t bits, DType dtype) {
  Tensor element = Tensor::empty({dtype, {}});
  std::memcpy(element.mutable_bytes(), &bits, size_of(dtype));
  return element;
}

bool same_value(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.rank() != 0 || b.rank() != 0) return false;
  if (std::memcmp(a.raw(), b.raw(), size_of(a.dtype())) == 0) return true;
  return is_floating(a.dtype()) && a.item<double>() == b.item<double>();
}

// Whether the init operand changes nothing; else combines it with the result.
ValueId with_init(Reader& reader, const Op& combine, ValueId reduced, size_t init) {
  const DType dtype = reader.type(reduced).dtype;
  const Tensor element = reader.literal(init);
  if (element.defined() && same_value(element, identity(combine, dtype))) return reduced;
  const ValueId start = reader.operand(init);
  if (!reader.type(start).shape.empty()) reader.fail("an init value must be a scalar");
  return reader.add(combine, {}, {broadcast(reader, start, reader.type(reduced).shape), reduced});
}

// ---- reduce

bool write_reduce(Writer& writer, const Node& node) {
  const Ints& axes = node.attrs.as<AxesAttrs>().axes;
  const Op& combine = *std::ranges::find(kMonoids, node.op, &Monoid::reduce)->combine;
  const DType dtype = writer.operand_type(node, 0).dtype;
  Writer::Line line = writer.line(node, "stablehlo.reduce");
  line.operands.push_back(writer.constant(identity(combine, dtype), {dtype, {}}));
  line.operand_types.push_back({dtype, {}});
  line.pretty = fmt::format("({} init: {}) applies {} across dimensions = {}", line.operands[0], line.operands[1],
                            stablehlo_name(combine), list_text(axes));
  line.properties = "dimensions = " + array_text(axes);
  if (writer.generic()) line.regions = {writer.combiner(stablehlo_name(combine), dtype)};
  writer.bind(node, line);
  return true;
}

// The op of `applies stablehlo.add`, or of the region.
const Op* reducer(Reader& reader, DType dtype) {
  const auto& words = reader.operation().words;
  if (const auto applies = std::ranges::find(words, "applies"); applies != words.end() && applies + 1 != words.end()) {
    const std::string_view word = *(applies + 1);
    for (const Monoid& monoid : kMonoids) {
      if (word == stablehlo_name(*monoid.combine)) {
        if (dtype != bool_) return monoid.combine;
        const bool any = monoid.combine == &ops::add || monoid.combine == &ops::maximum || monoid.combine == &ops::or_;
        return any ? &ops::or_ : &ops::and_;
      }
    }
    return nullptr;
  }
  return combiner(*scalar_regions(reader, std::array{dtype, dtype})[0]);
}

// Operands of the pretty form alternate: (%x init: %c), (%y init: %d).
size_t input_index(Reader& reader, size_t i) { return reader.operation().says("init") ? 2 * i : i; }
size_t init_index(Reader& reader, size_t i) {
  return reader.operation().says("init") ? 2 * i + 1 : reader.operands() / 2 + i;
}

bool counts_along(Reader& reader, ValueId value, int64_t axis) {
  const ir::Graph& graph = reader.builder().graph();
  const uint32_t producer = graph.producer(value);
  if (producer == ir::kNone) return false;
  const Node& node = graph.nodes()[producer];
  if (node.op == &ops::iota) return node.attrs.as<IotaAttrs>().axis == axis;
  if (node.op != &ops::broadcast_in_dim) return false;
  const Ints& dims = node.attrs.as<BroadcastAttrs>().dimensions;
  const auto at = std::ranges::find(dims, axis);
  const ValueId inner = graph.operands(node)[0];
  return at != dims.end() &&
         graph.type(inner).shape[static_cast<size_t>(at - dims.begin())] == graph.type(value).shape[axis] &&
         counts_along(reader, inner, at - dims.begin());
}

// A value and its index along the axis: argmax and argmin.
void read_arg_reduce(Reader& reader, const Ints& axes) {
  const ValueId x = reader.operand(input_index(reader, 0)), index = reader.operand(input_index(reader, 1));
  const DType dtype = reader.type(x).dtype, index_dtype = reader.type(index).dtype;
  const auto region = scalar_regions(reader, std::array{dtype, index_dtype, dtype, index_dtype})[0];
  if (axes.size() != 1 || axes[0] < 0 || axes[0] >= reader.type(index).shape.rank())
    reader.unsupported("stablehlo.reduce of two operands over several axes");
  const std::optional<bool> largest = picks_extremum(*region, dtype, index_dtype);
  if (!largest || !counts_along(reader, index, axes[0]))
    reader.unsupported("stablehlo.reduce of two operands that is neither argmax nor argmin");
  const ValueId number = dtype == bool_ ? reader.add(ops::convert, DTypeAttrs{u8}, {x}) : x;
  const ValueId value = reader.add(*largest ? ops::reduce_max : ops::reduce_min, AxesAttrs{axes}, {number});
  const ValueId at = reader.add(*largest ? ops::argmax : ops::argmin, AxisAttrs{axes[0]}, {number});
  reader.result(dtype == bool_ ? reader.add(ops::convert, DTypeAttrs{bool_}, {value}) : value);
  reader.result(index_dtype == i64 ? at : reader.add(ops::convert, DTypeAttrs{index_dtype}, {at}));
}

void read_reduce(Reader& reader) {
  Ints axes = reader.ints("dimensions");
  std::ranges::sort(axes);
  if (reader.operands() == 4) return read_arg_reduce(reader, axes);
  if (reader.operands() != 2) reader.unsupported(fmt::format("stablehlo.reduce of {} operands", reader.operands() / 2));
  const ValueId x = reader.operand(input_index(reader, 0));
  const Op* const combine = reducer(reader, reader.type(x).dtype);
  const auto monoid = std::ranges::find(kMonoids, combine, &Monoid::combine);
  if (monoid == std::end(kMonoids))
    reader.unsupported("stablehlo.reduce by a region that is no sum, product, minimum, maximum, and, or");
  reader.result(with_init(reader, *combine, reader.add(*monoid->reduce, AxesAttrs{axes}, {x}), init_index(reader, 0)));
}

// ---- argmax and argmin

bool write_arg(Writer& writer, const Node& node) {
  if (!is_static(writer, node)) return false;
  const bool largest = node.op == &ops::argmax;
  const int64_t axis = node.attrs.as<AxisAttrs>().axis;
  const TensorType x = writer.operand_type(node, 0), out = writer.result_types(node)[0];
  const TensorType index{i64, x.shape}, element{x.dtype, {}}, place{i64, {}};
  Writer::Line line = writer.line(node, "stablehlo.reduce");
  line.operands.push_back(writer.emit_one({.name = "stablehlo.iota",
                                           .properties = fmt::format("iota_dimension = {} : i64", axis),
                                           .results = {index},
                                           .pretty = fmt::format(" dim = {}", axis),
                                           .short_types = true}));
  line.operands.push_back(writer.constant(identity(largest ? ops::maximum : ops::minimum, x.dtype), element));
  line.operands.push_back(writer.constant(from_bits(0, i64), place));
  line.operand_types = {x, index, element, place};
  line.results = {{x.dtype, out.shape}, out};
  line.properties = "dimensions = " + array_text({axis});
  line.regions = {writer.block(std::array{element, place, element, place}, [&](const std::vector<std::string>& in) {
    const auto compare = [&](const char* direction, size_t a, size_t b) {
      return writer.emit_one(
          {.name = "stablehlo.compare",
           .operands = {in[a], in[b]},
           .operand_types = {a % 2 == 0 ? element : place, b % 2 == 0 ? element : place},
           .properties = fmt::format("comparison_direction = #stablehlo<comparison_direction {}>", direction),
           .results = {{bool_, {}}},
           .pretty = fmt::format(" {}, {}, {}", direction, in[a], in[b])});
    };
    const auto logic = [&](const char* op, const std::string& a, const std::string& b) {
      return writer.emit_one({.name = std::string("stablehlo.") + op,
                              .operands = {a, b},
                              .operand_types = {{bool_, {}}, {bool_, {}}},
                              .results = {{bool_, {}}}});
    };
    const auto select = [&](const std::string& p, size_t a, size_t b, const TensorType& type) {
      return writer.emit_one({.name = "stablehlo.select",
                              .operands = {p, in[a], in[b]},
                              .operand_types = {{bool_, {}}, type, type},
                              .results = {type}});
    };
    const std::string beyond = compare(largest ? "GT" : "LT", 0, 2), nan = compare("NE", 0, 0);
    const std::string wins = logic("or", beyond, nan);
    const std::string same = compare("EQ", 0, 2), lower = compare("LT", 1, 3);
    const std::string first = logic("and", same, lower);
    const std::string earlier = logic("or", wins, first);
    const std::string value = select(wins, 0, 2, element);
    return std::vector{value, select(earlier, 1, 3, place)};
  })};
  writer.bind(node, std::vector{writer.emit(line)[1]});
  return true;
}

// ---- windows

std::string padding_text(const WindowAttrs& attrs) {
  std::vector<std::string> pairs;
  for (size_t i = 0; i < attrs.low.size(); ++i) pairs.push_back(fmt::format("[{}, {}]", attrs.low[i], attrs.high[i]));
  return fmt::format("padding = dense<{}> : tensor<{}x2xi64>", pairs.empty() ? "" : "[" + joined(pairs) + "]",
                     pairs.size());
}

std::string window_text(const WindowAttrs& attrs) {
  return fmt::format("base_dilations = {}, {}, window_dilations = {}, window_dimensions = {}, window_strides = {}",
                     array_text(attrs.base_dilation), padding_text(attrs), array_text(attrs.window_dilation),
                     array_text(attrs.window), array_text(attrs.strides));
}

WindowAttrs read_window(Reader& reader) {
  WindowAttrs attrs;
  attrs.window = reader.ints("window_dimensions");
  const size_t rank = attrs.window.size();
  const auto list = [&](const char* name) {
    const Ints given = reader.ints(name);
    return given.empty() ? Ints(rank, 1) : given;
  };
  attrs.strides = list("window_strides");
  attrs.base_dilation = list("base_dilations");
  attrs.window_dilation = list("window_dilations");
  std::vector<int64_t> padding = reader.integers("padding");
  if (padding.empty()) padding.resize(2 * rank);
  for (const Ints* list : {&attrs.strides, &attrs.base_dilation, &attrs.window_dilation}) {
    if (list->size() != rank) reader.fail("strides and dilations need an entry for each axis");
  }
  if (padding.size() != 2 * rank) reader.fail("padding needs [low, high] for each axis");
  for (size_t i = 0; i < rank; ++i) {
    attrs.low.push_back(padding[2 * i]);
    attrs.high.push_back(padding[2 * i + 1]);
  }
  return attrs;
}

bool write_window_with(Writer& writer, const Node& node, const WindowAttrs& attrs) {
  const DType dtype = writer.operand_type(node, 0).dtype;
  const Op& combine = combine_op(attrs.combine);
  Writer::Line line = writer.line(node, "stablehlo.reduce_window");
  line.operands.push_back(writer.constant(identity(combine, dtype), {dtype, {}}));
  line.operand_types.push_back({dtype, {}});
  line.properties = window_text(attrs);
  line.regions = {writer.combiner(stablehlo_name(combine), dtype)};
  writer.bind(node, line);
  return true;
}

bool write_reduce_window(Writer& writer, const Node& node) {
  return is_static(writer, node) && write_window_with(writer, node, node.attrs.as<WindowAttrs>());
}

// Running values are windows that reach back to the start.
bool write_cumulative(Writer& writer, const Node& node) {
  if (!is_static(writer, node)) return false;
  const auto& attrs = node.attrs.as<CumulativeAttrs>();
  const Shape& shape = writer.operand_type(node, 0).shape;
  const int64_t extent = shape[static_cast<size_t>(attrs.axis)].number();
  if (extent == 0) return false;
  const Ints ones(shape.size(), 1), zeros(shape.size(), 0);
  WindowAttrs window{ones, ones, zeros, zeros, ones, ones, attrs.combine};
  window.window[attrs.axis] = extent;
  (attrs.reverse ? window.high : window.low)[attrs.axis] = extent - 1;
  return write_window_with(writer, node, window);
}

// The axis of a running value, or -1.
int64_t running_axis(const WindowAttrs& attrs, const Shape& shape) {
  int64_t axis = -1;
  if (shape.size() != attrs.window.size()) return -1;
  for (size_t i = 0; i < attrs.window.size(); ++i) {
    if (attrs.strides[i] != 1 || attrs.base_dilation[i] != 1 || attrs.window_dilation[i] != 1) return -1;
    if (attrs.window[i] == 1 && attrs.low[i] == 0 && attrs.high[i] == 0) continue;
    const int64_t reach = attrs.window[i] - 1;
    const bool back = attrs.low[i] == reach && attrs.high[i] == 0, forth = attrs.high[i] == reach && attrs.low[i] == 0;
    if (axis >= 0 || !(shape[i] == Dim(attrs.window[i])) || (!back && !forth)) return -1;
    axis = static_cast<int64_t>(i);
  }
  return axis;
}

void read_reduce_window(Reader& reader) {
  if (reader.operands() != 2)
    reader.unsupported(fmt::format("stablehlo.reduce_window of {} operands", reader.operands() / 2));
  const ValueId x = reader.operand(0);
  const DType dtype = reader.type(x).dtype;
  const Op* const combine = combiner(*scalar_regions(reader, std::array{dtype, dtype})[0]);
  const auto monoid = std::ranges::find(kMonoids, combine, &Monoid::combine);
  if (monoid == std::end(kMonoids) || monoid->window == Combine::Set)
    reader.unsupported("stablehlo.reduce_window by a region that is no sum, product, minimum or maximum");
  WindowAttrs attrs = read_window(reader);
  attrs.combine = static_cast<int64_t>(monoid->window);
  const int64_t axis = running_axis(attrs, reader.type(x).shape);
  const ValueId reduced =
      axis < 0 ? reader.add(ops::reduce_window, attrs, {x})
               : reader.add(ops::cumulative, CumulativeAttrs{axis, attrs.combine, attrs.high[axis] > 0}, {x});
  reader.result(with_init(reader, *combine, reduced, 1));
}

// ---- select_and_scatter

bool write_select_and_scatter(Writer& writer, const Node& node) {
  const auto& attrs = node.attrs.as<WindowAttrs>();
  const Ints ones(attrs.window.size(), 1);
  if (!is_static(writer, node) || !(attrs.base_dilation == ones) || !(attrs.window_dilation == ones)) return false;
  const DType dtype = writer.operand_type(node, 0).dtype;
  const TensorType element{dtype, {}};
  Writer::Line line = writer.line(node, "stablehlo.select_and_scatter");
  line.operands.push_back(writer.constant(from_bits(0, dtype), element));
  line.operand_types.push_back(element);
  line.properties = fmt::format("{}, window_dimensions = {}, window_strides = {}", padding_text(attrs),
                                array_text(attrs.window), array_text(attrs.strides));
  const char* const direction = static_cast<Combine>(attrs.combine) == Combine::Max ? "GE" : "LE";
  line.regions.push_back(writer.block(std::array{element, element}, [&](const std::vector<std::string>& in) {
    return std::vector{writer.emit_one(
        {.name = "stablehlo.compare",
         .operands = in,
         .operand_types = {element, element},
         .properties = fmt::format("comparison_direction = #stablehlo<comparison_direction {}>", direction),
         .results = {{bool_, {}}},
         .pretty = fmt::format(" {}, {}", direction, joined(in))})};
  }));
  line.regions.push_back(writer.combiner("stablehlo.add", dtype));
  writer.bind(node, line);
  return true;
}

void read_select_and_scatter(Reader& reader) {
  const ValueId x = reader.operand(0), source = reader.operand(1);
  const auto regions = scalar_regions(reader, std::array{reader.type(x).dtype, reader.type(x).dtype});
  if (regions.size() != 2) reader.fail("two regions expected");
  const Op* const select = comparator(*regions[0]);
  if ((select != &ops::greater_equal && select != &ops::less_equal) || combiner(*regions[1]) != &ops::add)
    reader.unsupported("stablehlo.select_and_scatter other than the sum at the maximum or minimum");
  WindowAttrs attrs = read_window(reader);
  attrs.combine = static_cast<int64_t>(select == &ops::greater_equal ? Combine::Max : Combine::Min);
  reader.result(with_init(reader, ops::add, reader.add(ops::select_and_scatter, attrs, {x, source}), 2));
}

constexpr WriteForm kWrite[] = {{&ops::reduce_sum, write_reduce},
                                {&ops::reduce_prod, write_reduce},
                                {&ops::reduce_max, write_reduce},
                                {&ops::reduce_min, write_reduce},
                                {&ops::reduce_and, write_reduce},
                                {&ops::reduce_or, write_reduce},
                                {&ops::argmax, write_arg},
                                {&ops::argmin, write_arg},
                                {&ops::reduce_window, write_reduce_window},
                                {&ops::cumulative, write_cumulative},
                                {&ops::select_and_scatter, write_select_and_scatter}};

constexpr ReadForm kRead[] = {{"stablehlo.reduce", read_reduce},
                              {"stablehlo.reduce_window", read_reduce_window},
                              {"stablehlo.select_and_scatter", read_select_and_scatter}};

}  // namespace

Forms reduction_forms() { return {kWrite, kRead}; }

Tensor identity(const Op& combine, DType dtype) {
  const uint64_t sign = 1ULL << (8 * size_of(dtype) - 1);
  if (&combine == &ops::add) return from_bits(is_floating(dtype) ? sign : 0, dtype);
  if (&combine == &ops::multiply) return scalar(1, dtype);
  if (&combine == &ops::and_) return from_bits(dtype == bool_ ? 1 : ~0ULL, dtype);
  if (&combine == &ops::or_) return from_bits(0, dtype);
  const bool largest = &combine == &ops::maximum;
  if (is_floating(dtype)) return scalar(largest ? -HUGE_VAL : HUGE_VAL, dtype);
  if (is_signed_integer(dtype)) return from_bits(largest ? sign : sign - 1, dtype);
  return from_bits(largest ? 0 : ~0ULL, dtype);
}

}  // namespace hone::compiler
