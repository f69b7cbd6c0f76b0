// Elementwise ops, conversion and creation.
#include <fmt/format.h>

#include <cmath>

#include "hone/compiler/stablehlo_forms.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"

namespace hone::compiler {
namespace {

using ir::Node;
using ir::Reader;
using ir::ValueId;
using ir::Writer;
using Inputs = std::span<const Tensor>;

// ---- compare

struct Direction {
  const Op* op;
  std::string_view name;
};
constexpr Direction kDirections[] = {{&ops::equal, "EQ"},      {&ops::not_equal, "NE"}, {&ops::less, "LT"},
                                     {&ops::less_equal, "LE"}, {&ops::greater, "GT"},   {&ops::greater_equal, "GE"}};

bool write_compare(Writer& writer, const Node& node) {
  const auto direction = std::ranges::find(kDirections, node.op, &Direction::op);
  Writer::Line line = writer.line(node, "stablehlo.compare");
  line.pretty = fmt::format(" {}, {}", direction->name, joined(line.operands));
  line.properties = fmt::format("comparison_direction = #stablehlo<comparison_direction {}>", direction->name);
  writer.bind(node, line);
  return true;
}

// Integers in IEEE's total order of the floats.
Tensor total_order(const Tensor& x) {
  constexpr DType kBits[] = {i32, i64, i16, i16};
  const DType type = kBits[static_cast<int>(x.dtype())];
  const Tensor bits = bitcast(x, type);
  const auto width = static_cast<int64_t>(8 * size_of(type));
  const Tensor all = shift_right_arithmetic(bits, width - 1);
  return bits ^ shift_right_logical(all, 1);
}

void read_compare(Reader& reader) {
  const ir::text::Attribute* const attribute = reader.attribute("comparison_direction");
  const auto& words = reader.operation().words;
  const std::string name = attribute ? attribute->text : words.empty() ? "" : words[0];
  const auto direction = std::ranges::find(kDirections, name, &Direction::name);
  if (direction == std::end(kDirections)) reader.fail(fmt::format("'{}' is no comparison_direction", name));
  const ir::text::Attribute* const kind = reader.attribute("compare_type");
  const bool total = (kind && kind->text == "TOTALORDER") || reader.operation().says("TOTALORDER");
  std::vector<ValueId> values = reader.all_operands();
  if (total && values.size() == 2 && is_floating(reader.type(values[0]).dtype)) {
    for (ValueId& value : values)
      value = apply(reader, {&value, 1}, [](Inputs in) { return std::vector{total_order(in[0])}; })[0];
  }
  reader.result(reader.add(*direction->op, {}, values));
}

// ---- bool: StableHLO's arithmetic on i1 is logic

template <const Op* kOp, const Op* kBool>
void read_arithmetic(Reader& reader) {
  const std::vector<ValueId> values = reader.all_operands();
  const bool logic = !values.empty() && reader.type(values[0]).dtype == bool_;
  reader.result(reader.add(logic ? *kBool : *kOp, {}, values));
}

// ---- scalars that StableHLO broadcasts

template <const Op* kOp>
void read_broadcasting(Reader& reader) {
  std::vector<ValueId> values = reader.all_operands();
  Shape shape;
  for (const ValueId value : values) {
    if (!reader.type(value).shape.empty()) shape = reader.type(value).shape;
  }
  for (ValueId& value : values) {
    if (reader.type(value).shape.empty()) value = broadcast(reader, value, shape);
  }
  reader.result(reader.add(*kOp, {}, values));
}

// ---- conversion

bool write_convert(Writer& writer, const Node& node) {
  Writer::Line line = writer.line(node, "stablehlo." + std::string(node.op->name));
  line.pretty = " " + line.operands[0];
  writer.bind(node, line);
  return true;
}
template <const Op* kOp>
void read_convert(Reader& reader) {
  reader.result(reader.add(*kOp, DTypeAttrs{reader.declared(0).dtype}, reader.all_operands()));
}

bool write_reduce_precision(Writer& writer, const Node& node) {
  const auto& attrs = node.attrs.as<ParamAttrs>();
  Writer::Line line = writer.line(node, "stablehlo.reduce_precision");
  line.pretty = fmt::format(" {}, format = e{}m{}", line.operands[0], attrs.a, attrs.b);
  line.short_types = true;
  line.properties = fmt::format("exponent_bits = {} : i32, mantissa_bits = {} : i32", attrs.a, attrs.b);
  writer.bind(node, line);
  return true;
}
void read_reduce_precision(Reader& reader) {
  ParamAttrs attrs;
  if (const ir::text::Attribute* format = reader.attribute("format")) {  // e5m10
    int exponent = 0, mantissa = 0;
    if (std::sscanf(format->text.c_str(), "e%dm%d", &exponent, &mantissa) != 2) reader.fail("format must be e5m10");
    attrs = {static_cast<double>(exponent), static_cast<double>(mantissa)};
  } else {
    attrs = {static_cast<double>(reader.integer("exponent_bits")),
             static_cast<double>(reader.integer("mantissa_bits"))};
  }
  reader.result(reader.add(ops::reduce_precision, attrs, reader.all_operands()));
}

// ---- creation

void read_constant(Reader& reader) {
  const ir::text::Attribute* value = reader.attribute("value");
  if (!value && !reader.operation().values.empty()) value = &reader.operation().values[0];
  if (!value || value->kind != ir::text::Attribute::Kind::Elements) reader.fail("dense<...> expected");
  if (!value->tensor.defined()) reader.unsupported(fmt::format("a constant of {}", value->type.spelling));
  reader.result(value->tensor, value->type.tensor());
}

bool write_iota(Writer& writer, const Node& node) {
  if (!is_static(writer, node)) return false;
  const int64_t axis = node.attrs.as<IotaAttrs>().axis;
  Writer::Line line = writer.line(node, "stablehlo.iota");
  line.pretty = fmt::format(" dim = {}", axis);
  line.short_types = true;
  line.properties = fmt::format("iota_dimension = {} : i64", axis);
  writer.bind(node, line);
  return true;
}
void read_iota(Reader& reader) {
  const TensorType type = reader.declared_tensor(0);
  reader.result(reader.add(ops::iota, IotaAttrs{type.dtype, type.shape, reader.integer("dim", "iota_dimension")}, {}));
}

// ---- chlo

bool write_chlo(Writer& writer, const Node& node) {
  writer.bind(node, writer.line(node, "chlo." + std::string(node.op->name)));
  return true;
}
template <const Op* kOp>
void read_plain(Reader& reader) {
  reader.result(reader.add(*kOp, {}, reader.all_operands()));
}
template <auto kFunction>
void read_unary(Reader& reader) {
  read_formula(reader, [](Inputs in) { return std::vector<Tensor>{kFunction(in[0])}; });
}

Tensor sinh_of(const Tensor& x) {  // expm1 keeps small arguments exact
  const Tensor e = expm1(abs(x));
  return sign(x) * 0.5 * (e + e / (e + 1));
}
Tensor cosh_of(const Tensor& x) {
  const Tensor e = exp(abs(x) - 0.6931471805599453);
  return e + 0.25 / e;
}
Tensor asin_of(const Tensor& x) { return atan2(x, sqrt((1 - x) * (1 + x))); }
Tensor acos_of(const Tensor& x) { return atan2(sqrt((1 - x) * (1 + x)), x); }
Tensor atan_of(const Tensor& x) { return atan2(x, ones_like(x)); }
Tensor asinh_of(const Tensor& x) {
  const Tensor a = abs(x);
  return sign(x) * log1p(a + a * a / (1 + sqrt(a * a + 1)));
}
Tensor acosh_of(const Tensor& x) { return log1p((x - 1) + sqrt((x - 1) * (x + 1))); }
Tensor atanh_of(const Tensor& x) { return (log1p(x) - log1p(-x)) * 0.5; }
Tensor erfc_of(const Tensor& x) { return 1 - erf(x); }
Tensor square_of(const Tensor& x) { return x * x; }
Tensor is_inf_of(const Tensor& x) { return is_inf(x); }
Tensor is_pos_inf_of(const Tensor& x) { return x == HUGE_VAL; }
Tensor is_neg_inf_of(const Tensor& x) { return x == -HUGE_VAL; }

// Counts bits by halves.
Tensor popcnt_of(const Tensor& x) {
  const auto width = static_cast<int64_t>(8 * size_of(x.dtype()));
  Tensor count = zeros_like(x);
  for (int64_t i = 0; i < width; ++i) count = count + (shift_right_logical(x, i) & 1);
  return count;
}
Tensor clz_of(const Tensor& x) {
  const auto width = static_cast<int64_t>(8 * size_of(x.dtype()));
  Tensor smeared = x;
  for (int64_t i = 1; i < width; i *= 2) smeared = smeared | shift_right_logical(smeared, i);
  return popcnt_of(~smeared);
}

constexpr WriteForm kWrite[] = {{&ops::equal, write_compare},
                                {&ops::not_equal, write_compare},
                                {&ops::less, write_compare},
                                {&ops::less_equal, write_compare},
                                {&ops::greater, write_compare},
                                {&ops::greater_equal, write_compare},
                                {&ops::convert, write_convert},
                                {&ops::bitcast_convert, write_convert},
                                {&ops::reduce_precision, write_reduce_precision},
                                {&ops::iota, write_iota},
                                {&ops::erf, write_chlo},
                                {&ops::erf_inv, write_chlo}};

constexpr ReadForm kRead[] = {{"stablehlo.compare", read_compare},
                              {"stablehlo.add", read_arithmetic<&ops::add, &ops::or_>},
                              {"stablehlo.maximum", read_arithmetic<&ops::maximum, &ops::or_>},
                              {"stablehlo.multiply", read_arithmetic<&ops::multiply, &ops::and_>},
                              {"stablehlo.minimum", read_arithmetic<&ops::minimum, &ops::and_>},
                              {"stablehlo.select", read_broadcasting<&ops::select>},
                              {"stablehlo.clamp", read_broadcasting<&ops::clamp>},
                              {"stablehlo.convert", read_convert<&ops::convert>},
                              {"stablehlo.bitcast_convert", read_convert<&ops::bitcast_convert>},
                              {"stablehlo.reduce_precision", read_reduce_precision},
                              {"stablehlo.constant", read_constant},
                              {"stablehlo.iota", read_iota},
                              {"stablehlo.popcnt", read_unary<popcnt_of>},
                              {"stablehlo.count_leading_zeros", read_unary<clz_of>},
                              {"chlo.constant", read_constant},
                              {"chlo.erf", read_plain<&ops::erf>},
                              {"chlo.erf_inv", read_plain<&ops::erf_inv>},
                              {"chlo.tan", read_plain<&ops::tan>},
                              {"chlo.square", read_unary<square_of>},
                              {"chlo.sinh", read_unary<sinh_of>},
                              {"chlo.cosh", read_unary<cosh_of>},
                              {"chlo.asin", read_unary<asin_of>},
                              {"chlo.acos", read_unary<acos_of>},
                              {"chlo.atan", read_unary<atan_of>},
                              {"chlo.asinh", read_unary<asinh_of>},
                              {"chlo.acosh", read_unary<acosh_of>},
                              {"chlo.atanh", read_unary<atanh_of>},
                              {"chlo.erfc", read_unary<erfc_of>},
                              {"chlo.is_inf", read_unary<is_inf_of>},
                              {"chlo.is_pos_inf", read_unary<is_pos_inf_of>},
                              {"chlo.is_neg_inf", read_unary<is_neg_inf_of>}};

}  // namespace

Forms elementwise_forms() { return {kWrite, kRead}; }

}  // namespace hone::compiler
