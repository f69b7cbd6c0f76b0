// Products and convolutions. Hone's have bias operands and one layout; StableHLO's name every axis.
#include <fmt/format.h>

#include "hone/compiler/stablehlo_forms.h"
#include "hone/ops/dot_axes.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/tensor/interpreter.h"

namespace hone::compiler {
namespace {

using ir::array_text;
using ir::list_text;
using ir::Node;
using ir::Reader;
using ir::ValueId;
using ir::Writer;
using ir::text::Attribute;

// ---- dot_general

bool write_dot(Writer& writer, const Node& node) {
  const auto& attrs = node.attrs.as<DotAttrs>();
  Writer::Line line = writer.line(node, "stablehlo.dot_general");
  line.pretty = " " + joined(line.operands);
  if (!attrs.lhs_batch.empty())
    line.pretty += fmt::format(", batching_dims = {} x {}", list_text(attrs.lhs_batch), list_text(attrs.rhs_batch));
  line.pretty +=
      fmt::format(", contracting_dims = {} x {}", list_text(attrs.lhs_contract), list_text(attrs.rhs_contract));
  line.properties = fmt::format(
      "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = {}, rhs_batching_dimensions = {}, "
      "lhs_contracting_dimensions = {}, rhs_contracting_dimensions = {}>",
      list_text(attrs.lhs_batch), list_text(attrs.rhs_batch), list_text(attrs.lhs_contract),
      list_text(attrs.rhs_contract));
  writer.bind(node, line);
  return true;
}

// Operands in the type of the result, which may be wider.
ValueId converted(Reader& reader, ValueId x) {
  const DType dtype = reader.declared(0).dtype;
  return reader.type(x).dtype == dtype ? x : reader.add(ops::convert, DTypeAttrs{dtype}, {x});
}

void read_pair(Reader& reader, std::string_view name, Ints& lhs, Ints& rhs) {
  const Attribute* const pair = reader.attribute(name);
  if (!pair) return;
  if (pair->kind != Attribute::Kind::List || pair->items.size() != 2)
    reader.fail(fmt::format("{} = [..] x [..] expected", name));
  lhs = reader.ints(pair->items[0]);
  rhs = reader.ints(pair->items[1]);
}

void read_dot(Reader& reader) {
  DotAttrs attrs;
  if (const Attribute* numbers = reader.attribute("dot_dimension_numbers")) {
    const auto list = [&](const char* name) {
      const Attribute* const found = find(numbers->fields, name);
      return found ? reader.ints(*found) : Ints();
    };
    attrs = {list("lhs_batching_dimensions"), list("rhs_batching_dimensions"), list("lhs_contracting_dimensions"),
             list("rhs_contracting_dimensions")};
  } else {
    read_pair(reader, "batching_dims", attrs.lhs_batch, attrs.rhs_batch);
    read_pair(reader, "contracting_dims", attrs.lhs_contract, attrs.rhs_contract);
  }
  reader.result(reader.add(ops::dot_general, attrs,
                           {converted(reader, reader.operand(0)), converted(reader, reader.operand(1))}));
}

// stablehlo.dot: the last axis of lhs with the first of rhs.
void read_simple_dot(Reader& reader) {
  const ValueId lhs = converted(reader, reader.operand(0)), rhs = converted(reader, reader.operand(1));
  reader.result(reader.add(ops::dot_general, dense_as_dot(reader.type(lhs).shape.rank()), {lhs, rhs}));
}

// ---- dense and convolution with bias

Tensor with_bias(Tensor x, std::span<const Tensor> inputs) {
  return inputs.size() > 2 ? x + inputs[2] : x;  // over the last axis
}

bool write_dense(Writer& writer, const Node& node) {
  return write_composite(writer, node, [](std::span<const Tensor> in) {
    const Tensor product = call_op(ops::dot_general, dense_as_dot(in[0].rank()), {}, in[0], in[1]);
    return std::vector{with_bias(product, in)};
  });
}

std::string convolution_text(const ConvAttrs& attrs) {
  std::string axes;
  for (size_t i = 0; i < attrs.strides.size(); ++i) axes += fmt::format("{}, ", i);
  std::vector<std::string> padding, reversal(attrs.strides.size(), "false");
  for (size_t i = 0; i < attrs.low.size(); ++i) padding.push_back(fmt::format("[{}, {}]", attrs.low[i], attrs.high[i]));
  return fmt::format(
      "batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, {0}f]x[{0}i, o]->[b, {0}f]>, "
      "feature_group_count = {1} : i64, lhs_dilation = {2}, padding = dense<[{3}]> : tensor<{4}x2xi64>, rhs_dilation = "
      "{5}, window_strides = {6}",
      axes, attrs.groups, array_text(attrs.base_dilation), joined(padding), padding.size(),
      array_text(attrs.window_dilation), array_text(attrs.strides));
}

bool write_convolution(Writer& writer, const Node& node) {
  const auto& attrs = node.attrs.as<ConvAttrs>();
  if (node.operands == 2) {
    Writer::Line line = writer.line(node, "stablehlo.convolution");
    line.properties = convolution_text(attrs);
    writer.bind(node, line);
    return true;
  }
  return write_composite(writer, node, [&](std::span<const Tensor> in) {
    return std::vector{with_bias(call_op(ops::convolution, attrs, {}, in[0], in[1]), in)};
  });
}

// ---- gradients of convolution, as convolutions

// [..., g a, ...] with axis `at` as [..., g, a, ...], the groups moved before axis `to`, and joined with it.
Tensor move_groups(const Tensor& x, int64_t groups, int at, int to) {
  Shape split, joint;
  Ints order;
  for (int i = 0; i < x.rank(); ++i) {
    if (i == at) split.push_back(groups);
    split.push_back(i == at ? floor_div(x.shape()[i], groups) : x.shape()[i]);
    if (i == to) order.push_back(at);
    order.push_back(i < at ? i : i + 1);
    joint.push_back(i == at ? split.back() : i == to ? x.shape()[i] * groups : x.shape()[i]);
  }
  return reshape(transpose(reshape(x, split), order), joint);
}

bool has_elements(const Writer& writer, const Node& node) {
  const auto filled = [](const TensorType& type) { return type.shape.is_static() && type.shape.count() > 0; };
  return std::ranges::all_of(writer.operand_types(node), filled) &&
         std::ranges::all_of(writer.result_types(node), filled);
}

int64_t spread(int64_t extent, int64_t dilation) { return (extent - 1) * dilation + 1; }

// The cotangent, spread by the strides, with the kernel turned around.
Tensor input_gradient(const Tensor& ct, const Tensor& kernel, const ConvAttrs& a) {
  ConvAttrs back{a.base_dilation, {}, {}, a.strides, a.window_dilation, a.groups, {}};
  Ints axes, order;
  for (int i = 0; i < static_cast<int>(a.strides.size()); ++i) {
    const int64_t reach = (kernel.dim(i) - 1) * a.window_dilation[i];
    back.low.push_back(reach - a.low[i]);
    back.high.push_back(spread(a.shape[i + 1].number(), a.base_dilation[i]) + reach -
                        spread(ct.dim(i + 1), a.strides[i]) - back.low[i]);
    axes.push_back(i);
    order.push_back(i);
  }
  const int in = static_cast<int>(axes.size()), out = in + 1;
  order.push_back(out);
  order.push_back(in);
  const Tensor grouped = move_groups(reverse(kernel, axes), a.groups, out, in);  // [spatial..., c, out / groups]
  return call_op(ops::convolution, back, {}, ct, transpose(grouped, order));
}

// The input, with batch and features exchanged, under windows that are the cotangent.
Tensor kernel_gradient(const Tensor& x, const Tensor& ct, const ConvAttrs& a) {
  ConvAttrs back{a.window_dilation, a.low, {}, a.base_dilation, a.strides, a.groups, {}};
  Ints order{x.rank() - 1}, kernel_order, result_order;
  for (int i = 0; i < static_cast<int>(a.strides.size()); ++i) {
    back.high.push_back((a.shape[i].number() - 1) * a.window_dilation[i] + spread(ct.dim(i + 1), a.strides[i]) -
                        spread(x.dim(i + 1), a.base_dilation[i]) - a.low[i]);
    order.push_back(i + 1);
    kernel_order.push_back(i + 1);
    result_order.push_back(i + 1);
  }
  order.push_back(0);
  kernel_order.push_back(0);
  kernel_order.push_back(x.rank() - 1);
  result_order.push_back(0);
  result_order.push_back(x.rank() - 1);
  const Tensor exchanged = move_groups(transpose(x, order), a.groups, 0, x.rank() - 1);  // [c / groups, ..., groups n]
  return transpose(call_op(ops::convolution, back, {}, exchanged, transpose(ct, kernel_order)), result_order);
}

template <auto kGradient>
bool write_gradient(Writer& writer, const Node& node) {
  const auto& attrs = node.attrs.as<ConvAttrs>();
  return has_elements(writer, node) && write_composite(writer, node, [&](std::span<const Tensor> in) {
           return std::vector{kGradient(in[0], in[1], attrs)};
         });
}

// Axes by what [b, 0, 1, f] names them: the outer letter, spatial axes by number, the inner letter; for a kernel
// spatial axes come first.
Ints axes_of(Reader& reader, const Attribute& list, std::string_view first, std::string_view last, bool first_leads) {
  const auto rank = static_cast<int64_t>(list.items.size());
  Ints order(static_cast<size_t>(rank), -1);
  for (int64_t axis = 0; axis < rank; ++axis) {
    const Attribute& item = list.items[static_cast<size_t>(axis)];
    int64_t place = -1;
    if (item.kind == Attribute::Kind::Integer && item.integer >= 0 && item.integer < rank - 2)
      place = item.integer + (first_leads ? 1 : 0);
    else if (item.text == first)
      place = first_leads ? 0 : rank - 2;
    else if (item.text == last)
      place = rank - 1;
    if (place < 0 || order[static_cast<size_t>(place)] >= 0) reader.fail("dim_numbers must name each axis once");
    order[static_cast<size_t>(place)] = axis;
  }
  return order;
}

ValueId permuted(Reader& reader, ValueId x, const Ints& order) {
  if (order.size() != reader.type(x).shape.size()) reader.fail("dim_numbers must name each axis of its operands");
  return std::ranges::is_sorted(order) ? x : reader.add(ops::transpose, TransposeAttrs{order}, {x});
}

Ints inverse(const Ints& order) {
  Ints out(order.size(), 0);
  for (size_t i = 0; i < order.size(); ++i) out[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return out;
}

// Groups of the batch become groups of features: [g n, ..., c] to [n, ..., g c].
ValueId batch_to_features(Reader& reader, ValueId x, int64_t groups) {
  const Shape shape = reader.type(x).shape;
  const Dim each = floor_div(shape[0], groups);
  Shape split{groups, each}, joint{each};
  Ints order{1};
  for (size_t i = 1; i + 1 < shape.size(); ++i) {
    split.push_back(shape[i]);
    joint.push_back(shape[i]);
    order.push_back(static_cast<int64_t>(i) + 1);
  }
  split.push_back(shape.back());
  joint.push_back(shape.back() * groups);
  order.push_back(0);
  order.push_back(shape.rank());
  x = reader.add(ops::reshape, ShapeAttrs{split}, {x});
  x = reader.add(ops::transpose, TransposeAttrs{order}, {x});
  return reader.add(ops::reshape, ShapeAttrs{joint}, {x});
}

const Attribute* window_field(Reader& reader, std::string_view name, std::string_view pretty) {
  if (const Attribute* window = reader.attribute("window")) return find(window->fields, pretty);
  return reader.attribute(name);
}

void read_convolution(Reader& reader) {
  const Attribute* const numbers = reader.attribute("dim_numbers", "dimension_numbers");
  if (!numbers || numbers->items.size() != 3) reader.fail("dim_numbers = [..]x[..]->[..] expected");
  const size_t spatial = numbers->items[0].items.size() - 2;
  if (numbers->items[0].items.size() < 3 || spatial > 3)
    reader.unsupported(fmt::format("stablehlo.convolution over {} axes", numbers->items[0].items.size()));
  const Ints input = axes_of(reader, numbers->items[0], "b", "f", true),
             kernel = axes_of(reader, numbers->items[1], "i", "o", false),
             output = axes_of(reader, numbers->items[2], "b", "f", true);
  const auto list = [&](const char* name, const char* pretty) {
    const Attribute* const found = window_field(reader, name, pretty);
    return found ? reader.ints(*found) : Ints(spatial, 1);
  };
  ConvAttrs attrs{list("window_strides", "stride"),   {}, {}, list("lhs_dilation", "lhs_dilate"),
                  list("rhs_dilation", "rhs_dilate"), 1,  {}};
  const Attribute* const padding = window_field(reader, "padding", "pad");
  std::vector<int64_t> pads = padding ? reader.integers(*padding) : std::vector<int64_t>(2 * spatial);
  if (pads.size() != 2 * spatial) reader.fail("padding needs [low, high] for each spatial axis");
  for (size_t i = 0; i < spatial; ++i) {
    attrs.low.push_back(pads[2 * i]);
    attrs.high.push_back(pads[2 * i + 1]);
  }
  if (reader.attribute("feature_group_count")) attrs.groups = reader.integer("feature_group_count");
  const int64_t batch_groups = reader.attribute("batch_group_count") ? reader.integer("batch_group_count") : 1;
  ValueId x = permuted(reader, converted(reader, reader.operand(0)), input);
  ValueId w = permuted(reader, converted(reader, reader.operand(1)), kernel);
  if (const Attribute* reversal = window_field(reader, "window_reversal", "reverse")) {
    const Ints flags = reader.ints(*reversal);
    Ints axes;
    for (size_t i = 0; i < flags.size(); ++i) {
      if (flags[i]) axes.push_back(static_cast<int64_t>(i));
    }
    if (!axes.empty()) w = reader.add(ops::reverse, AxesAttrs{axes}, {w});
  }
  if (batch_groups > 1) {
    x = batch_to_features(reader, x, batch_groups);
    attrs.groups = batch_groups;
  }
  const ValueId result = reader.add(ops::convolution, attrs, {x, w});
  reader.result(permuted(reader, result, inverse(output)));
}

constexpr WriteForm kWrite[] = {{&ops::dot_general, write_dot},
                                {&ops::dense, write_dense},
                                {&ops::convolution, write_convolution},
                                {&ops::convolution_input_grad, write_gradient<input_gradient>},
                                {&ops::convolution_kernel_grad, write_gradient<kernel_gradient>}};

constexpr ReadForm kRead[] = {{"stablehlo.dot_general", read_dot},
                              {"stablehlo.dot", read_simple_dot},
                              {"stablehlo.convolution", read_convolution}};

}  // namespace

Forms contraction_forms() { return {kWrite, kRead}; }

}  // namespace hone::compiler
