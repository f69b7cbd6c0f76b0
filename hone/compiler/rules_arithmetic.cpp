// Rules over values: what adds, multiplies or selects nothing.
#include "hone/compiler/rule_domain.h"
#include "hone/compiler/rules.h"

namespace hone::compiler {
namespace {

using ir::ValueId;
using Result = std::optional<ValueId>;
namespace d = domain;

// Binary calls of an operand and a constant, on either side, over all types.
template <const Op& kOp>
std::vector<ir::Graph> with_constant(std::span<const DType> types, std::initializer_list<double> values) {
  std::vector<ir::Graph> graphs;
  for (const DType dtype : types) {
    for (const double value : values) {
      const TensorType type{dtype, {40}};
      graphs.push_back(d::graph(
          {type}, [&](ir::Builder& b, auto in) { return d::call(b, kOp, {}, {in[0], d::constant(b, type, value)}); }));
      graphs.push_back(d::graph(
          {type}, [&](ir::Builder& b, auto in) { return d::call(b, kOp, {}, {d::constant(b, type, value), in[0]}); }));
    }
  }
  return graphs;
}

template <const Op& kOuter, const Op& kInner>
std::vector<ir::Graph> nested(std::span<const DType> types) {
  std::vector<ir::Graph> graphs;
  for (const DType dtype : types) {
    graphs.push_back(d::graph({{dtype, {40}}}, [](ir::Builder& b, auto in) {
      return d::call(b, kOuter, {}, {d::call(b, kInner, {}, {in[0]})});
    }));
  }
  return graphs;
}

template <const Op& kOp>
std::vector<ir::Graph> with_itself(std::span<const DType> types) {
  std::vector<ir::Graph> graphs;
  for (const DType dtype : types)
    graphs.push_back(
        d::graph({{dtype, {40}}}, [](ir::Builder& b, auto in) { return d::call(b, kOp, {}, {in[0], in[0]}); }));
  return graphs;
}

constexpr DType kSignedTypes[] = {f32, f64, f16, bf16, i8, i32};
constexpr DType kLogicTypes[] = {bool_, i32, u8};

bool floating(const Match& m) { return is_floating(m.type().dtype); }

// -0 is what adds nothing: 0 + -0 = 0 and -0 + -0 = -0. +0 does not: -0 + 0 = 0.
Result add_zero(const Match& m) {
  const double zero = floating(m) ? -0.0 : 0.0;
  if (m.is(1, zero)) return m.in(0);
  if (m.is(0, zero)) return m.in(1);
  return std::nullopt;
}
Result subtract_zero(const Match& m) { return m.is(1, 0.0) ? Result(m.in(0)) : std::nullopt; }
Result multiply_by_one(const Match& m) {
  if (m.is(1, 1)) return m.in(0);
  if (m.is(0, 1)) return m.in(1);
  return std::nullopt;
}
Result divide_by_one(const Match& m) { return m.is(1, 1) ? Result(m.in(0)) : std::nullopt; }
// Of floats x * 0 is NaN or -0 where x is.
Result multiply_by_zero(const Match& m) {
  if (floating(m)) return std::nullopt;
  if (m.is(0, 0)) return m.in(0);
  if (m.is(1, 0)) return m.in(1);
  return std::nullopt;
}

template <const Op& kOp>
Result undo(const Match& m) {
  const ir::Node* inner = m.made_by(0, kOp);
  return inner ? Result(m.operand_of(*inner, 0)) : std::nullopt;
}
template <const Op& kOp>
Result repeat(const Match& m) {
  return m.made_by(0, kOp) ? Result(m.in(0)) : std::nullopt;
}
Result abs_of_negate(const Match& m) {
  const ir::Node* inner = m.made_by(0, ops::negate);
  return inner ? Result(m.make(ops::abs, {}, {m.operand_of(*inner, 0)})) : std::nullopt;
}
Result same_operands(const Match& m) { return m.in(0) == m.in(1) ? Result(m.in(0)) : std::nullopt; }

Result select_constant(const Match& m) {
  if (m.in(1) == m.in(2)) return m.in(1);
  if (const auto bits = m.splat_bits(0)) return m.in(*bits & 1 ? 1 : 2);
  return std::nullopt;
}
std::vector<ir::Graph> select_domain() {
  std::vector<ir::Graph> graphs;
  const TensorType mask{bool_, {40}}, type{f32, {40}};
  for (const double value : {0.0, 1.0}) {
    graphs.push_back(d::graph({type, type}, [&](ir::Builder& b, auto in) {
      return d::call(b, ops::select, {}, {d::constant(b, mask, value), in[0], in[1]});
    }));
  }
  graphs.push_back(d::graph(
      {mask, type}, [](ir::Builder& b, auto in) { return d::call(b, ops::select, {}, {in[0], in[1], in[1]}); }));
  return graphs;
}

// Whether each value of `from` is one of `to`.
bool widens(DType from, DType to) {
  if (from == to) return true;
  switch (from) {
    case DType::bool_:
      return true;
    case DType::f16:
    case DType::bf16:
      return to == f32 || to == f64;
    case DType::f32:
      return to == f64;
    case DType::i8:
      return to == i16 || to == i32 || to == i64 || is_floating(to);
    case DType::u8:
      return to == u16 || to == u32 || to == u64 || to == i16 || to == i32 || to == i64 || to == f16 || to == f32 ||
             to == f64;
    case DType::i16:
      return to == i32 || to == i64 || to == f32 || to == f64;
    case DType::u16:
      return to == u32 || to == u64 || to == i32 || to == i64 || to == f32 || to == f64;
    case DType::i32:
    case DType::u32:
      return to == i64 || to == f64 || (from == DType::u32 && to == u64);
    default:
      return false;
  }
}
Result convert_of_convert(const Match& m) {
  if (m.in_type(0).dtype == m.type().dtype) return m.in(0);
  const ir::Node* inner = m.made_by(0, ops::convert);
  if (!inner) return std::nullopt;
  const ValueId x = m.operand_of(*inner, 0);
  if (m.type_of(x).dtype != m.type().dtype || !widens(m.type().dtype, m.in_type(0).dtype)) return std::nullopt;
  return x;
}
std::vector<ir::Graph> convert_domain() {
  std::vector<ir::Graph> graphs;
  for (int from = 0; from < kDTypes; ++from) {
    for (int middle = 0; middle < kDTypes; ++middle) {
      graphs.push_back(d::graph({{static_cast<DType>(from), {40}}}, [&](ir::Builder& b, auto in) {
        const ValueId wide = d::call(b, ops::convert, DTypeAttrs{static_cast<DType>(middle)}, {in[0]});
        return d::call(b, ops::convert, DTypeAttrs{static_cast<DType>(from)}, {wide});
      }));
    }
  }
  return graphs;
}

const Rule kRules[] = {
    {"add_zero", "x + (-0) = x; of integers x + 0 = x", Rule::Exact, &ops::add, add_zero,
     [] { return with_constant<ops::add>(d::kSomeTypes, {-0.0, 0.0, 1.0}); }},
    {"subtract_zero", "x - 0 = x", Rule::Exact, &ops::subtract, subtract_zero,
     [] { return with_constant<ops::subtract>(d::kSomeTypes, {0.0, -0.0}); }},
    {"multiply_by_one", "x * 1 = x", Rule::Exact, &ops::multiply, multiply_by_one,
     [] { return with_constant<ops::multiply>(d::kSomeTypes, {1.0, 2.0}); }},
    {"multiply_by_zero", "of integers x * 0 = 0", Rule::Exact, &ops::multiply, multiply_by_zero,
     [] { return with_constant<ops::multiply>(d::kSomeTypes, {0.0}); }},
    {"divide_by_one", "x / 1 = x", Rule::Exact, &ops::divide, divide_by_one,
     [] { return with_constant<ops::divide>(d::kSomeTypes, {1.0}); }},
    {"negate_of_negate", "-(-x) = x", Rule::Exact, &ops::negate, undo<ops::negate>,
     [] { return nested<ops::negate, ops::negate>(kSignedTypes); }},
    {"not_of_not", "!!x = x", Rule::Exact, &ops::not_, undo<ops::not_>,
     [] { return nested<ops::not_, ops::not_>(kLogicTypes); }},
    {"abs_of_abs", "|(|x|)| = |x|", Rule::Exact, &ops::abs, repeat<ops::abs>,
     [] { return nested<ops::abs, ops::abs>(kSignedTypes); }},
    {"abs_of_negate", "|-x| = |x|", Rule::Exact, &ops::abs, abs_of_negate,
     [] { return nested<ops::abs, ops::negate>(kSignedTypes); }},
    {"relu_of_relu", "relu(relu(x)) = relu(x)", Rule::Exact, &ops::relu, repeat<ops::relu>,
     [] { return nested<ops::relu, ops::relu>(d::kFloatTypes); }},
    {"floor_of_floor", "floor(floor(x)) = floor(x)", Rule::Exact, &ops::floor, repeat<ops::floor>,
     [] { return nested<ops::floor, ops::floor>(d::kFloatTypes); }},
    {"maximum_of_itself", "max(x, x) = x", Rule::Exact, &ops::maximum, same_operands,
     [] { return with_itself<ops::maximum>(d::kSomeTypes); }},
    {"minimum_of_itself", "min(x, x) = x", Rule::Exact, &ops::minimum, same_operands,
     [] { return with_itself<ops::minimum>(d::kSomeTypes); }},
    {"and_of_itself", "x & x = x", Rule::Exact, &ops::and_, same_operands,
     [] { return with_itself<ops::and_>(kLogicTypes); }},
    {"or_of_itself", "x | x = x", Rule::Exact, &ops::or_, same_operands,
     [] { return with_itself<ops::or_>(kLogicTypes); }},
    {"select_constant", "select(true, x, y) = x; select(c, x, x) = x", Rule::Exact, &ops::select, select_constant,
     select_domain},
    {"convert_of_convert", "convert(convert(x, wider), own type) = x", Rule::Exact, &ops::convert, convert_of_convert,
     convert_domain},
};

}  // namespace

std::span<const Rule> arithmetic_rules() { return kRules; }

}  // namespace hone::compiler
