#include "hone/ops/elementwise.h"

#include "hone/ops/creation.h"
#include "hone/ops/family.h"
#include "hone/ops/movement.h"
#include "hone/ops/promote.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

using family::binary;
using family::compare;
using family::Rules;
using family::unary;

constexpr uint32_t kSignedNumbers = kFloats | kSigned;

template <double kLow, double kHigh, int kOperands = 1>
std::vector<Sample> within() {
  return family::elementwise_samples(kOperands, kLow, kHigh);
}
template <int kOperands, DType kType>
std::vector<Sample> of_type() {
  return family::elementwise_samples(kOperands, 0, 9, kType);
}

// Steps and comparisons: the derivative is zero wherever it exists.
void no_gradient(VjpContext&) {}

void infer_select(InferContext& c) {
  if (c.dtype(0) != bool_) c.fail("dtype mismatch", "the condition must be bool", "compare first: where(x > 0, a, b)");
  if (!(c.shape(0) == c.shape(1))) c.fail("shape mismatch", "condition and values must have one shape");
  family::check_same_types(c, 1);
  c.out() = c.in(1);
}

void infer_clamp(InferContext& c) {
  c.check_dtype();
  family::check_same_types(c);
  c.out() = c.in(0);
}

std::vector<Sample> select_samples() {
  std::vector<Sample> samples = family::elementwise_samples(3, -2, 2);
  for (Sample& sample : samples) sample.inputs[0].dtype = bool_;
  return samples;
}

constexpr Op ternary(OpId id, Rules rules, std::string_view operands, void (*infer)(InferContext&)) {
  Op op = family::detail::elementwise(id, rules, 3);
  op.operands = operands;
  op.infer = infer;
  return op;
}

constexpr Op unary_to_bool(OpId id, Rules rules) {
  Op op = unary(id, rules);
  op.infer = [](InferContext& c) { family::infer_unary(c), c.out().dtype = bool_; };
  return op;
}

}  // namespace

namespace ops {

constinit const Op abs = unary(OpId::abs, {.doc = "magnitude",
                                           .dtypes = kSignedNumbers,
                                           .vjp = [](VjpContext& c) { c.set(0, c.ct() * hone::sign(c.in(0))); },
                                           .reads = {.in = 1}});
constinit const Op negate =
    unary(OpId::negate, {.doc = "-x", .dtypes = kNumbers, .vjp = [](VjpContext& c) { c.set(0, -c.ct()); }});
constinit const Op sign = unary(
    OpId::sign, {.doc = "-1, 0, 1; NaN for NaN; -0 keeps its sign", .dtypes = kSignedNumbers, .vjp = no_gradient});
constinit const Op floor = unary(OpId::floor, {.doc = "largest integer <= x", .vjp = no_gradient});
constinit const Op ceil = unary(OpId::ceil, {.doc = "smallest integer >= x", .vjp = no_gradient});
constinit const Op round_nearest_even =
    unary(OpId::round_nearest_even, {.doc = "nearest integer, ties to even", .vjp = no_gradient});
constinit const Op round_nearest_afz =
    unary(OpId::round_nearest_afz, {.doc = "nearest integer, ties away from zero", .vjp = no_gradient});
constinit const Op exponential = unary(OpId::exponential, {.doc = "e^x",
                                                           .vjp = [](VjpContext& c) { c.set(0, c.ct() * c.out()); },
                                                           .reads = {.out = 1},
                                                           .flops = 10,
                                                           .numerics = NumericsClass::Approximate});
constinit const Op exponential_minus_one =
    unary(OpId::exponential_minus_one, {.doc = "e^x - 1",
                                        .vjp = [](VjpContext& c) { c.set(0, c.ct() * (c.out() + 1)); },
                                        .reads = {.out = 1},
                                        .flops = 12,
                                        .numerics = NumericsClass::Approximate});
constinit const Op log = unary(OpId::log, {.doc = "natural logarithm",
                                           .vjp = [](VjpContext& c) { c.set(0, c.ct() / c.in(0)); },
                                           .reads = {.in = 1},
                                           .samples = within<0.1, 4.0>,
                                           .flops = 10,
                                           .numerics = NumericsClass::Approximate});
constinit const Op log_plus_one =
    unary(OpId::log_plus_one, {.doc = "log(1 + x)",
                               .vjp = [](VjpContext& c) { c.set(0, c.ct() / (c.in(0) + 1)); },
                               .reads = {.in = 1},
                               .samples = within<-0.9, 4.0>,
                               .flops = 12,
                               .numerics = NumericsClass::Approximate});
constinit const Op logistic =
    unary(OpId::logistic, {.doc = "1 / (1 + e^-x)",
                           .vjp = [](VjpContext& c) { c.set(0, call_op(ops::logistic_grad, {}, {}, c.out(), c.ct())); },
                           .reads = {.out = 1},
                           .flops = 12,
                           .numerics = NumericsClass::Approximate});
constinit const Op tanh =
    unary(OpId::tanh, {.doc = "hyperbolic tangent",
                       .vjp = [](VjpContext& c) { c.set(0, call_op(ops::tanh_grad, {}, {}, c.out(), c.ct())); },
                       .reads = {.out = 1},
                       .flops = 12,
                       .numerics = NumericsClass::Approximate});
constinit const Op tan = unary(OpId::tan, {.doc = "tangent",
                                           .vjp = [](VjpContext& c) { c.set(0, c.ct() * (c.out() * c.out() + 1)); },
                                           .reads = {.out = 1},
                                           .samples = within<-1.2, 1.2>,
                                           .flops = 20,
                                           .numerics = NumericsClass::Approximate});
constinit const Op sine = unary(OpId::sine, {.doc = "sine",
                                             .vjp = [](VjpContext& c) { c.set(0, c.ct() * cos(c.in(0))); },
                                             .reads = {.in = 1},
                                             .flops = 15,
                                             .numerics = NumericsClass::Approximate});
constinit const Op cosine = unary(OpId::cosine, {.doc = "cosine",
                                                 .vjp = [](VjpContext& c) { c.set(0, -(c.ct() * sin(c.in(0)))); },
                                                 .reads = {.in = 1},
                                                 .flops = 15,
                                                 .numerics = NumericsClass::Approximate});
constinit const Op sqrt = unary(OpId::sqrt, {.doc = "square root",
                                             .vjp = [](VjpContext& c) { c.set(0, c.ct() * 0.5 / c.out()); },
                                             .reads = {.out = 1},
                                             .samples = within<0.1, 4.0>,
                                             .flops = 4});
constinit const Op rsqrt =
    unary(OpId::rsqrt, {.doc = "1 / sqrt(x)",
                        .vjp = [](VjpContext& c) { c.set(0, c.ct() * -0.5 * c.out() / c.in(0)); },
                        .reads = {.in = 1, .out = 1},
                        .samples = within<0.1, 4.0>,
                        .flops = 8,
                        .numerics = NumericsClass::Approximate});
constinit const Op cbrt = unary(OpId::cbrt, {.doc = "cube root",
                                             .vjp = [](VjpContext& c) { c.set(0, c.ct() / (c.out() * c.out() * 3)); },
                                             .reads = {.out = 1},
                                             .samples = within<0.1, 4.0>,
                                             .flops = 15,
                                             .numerics = NumericsClass::Approximate});
constinit const Op is_finite = unary_to_bool(OpId::is_finite, {.doc = "neither NaN nor Inf", .vjp = no_gradient});
constinit const Op not_ =
    unary(OpId::not_, {.doc = "bits flipped; logical for bool", .dtypes = kInts | kBool, .samples = of_type<1, i32>});
constinit const Op erf = unary(
    OpId::erf, {.doc = "error function (CHLO)",
                .vjp = [](VjpContext& c) { c.set(0, c.ct() * 1.1283791670955126 * hone::exp(-(c.in(0) * c.in(0)))); },
                .reads = {.in = 1},
                .flops = 15,
                .numerics = NumericsClass::Approximate});
constinit const Op erf_inv = unary(
    OpId::erf_inv, {.doc = "inverse of erf (CHLO)",
                    .vjp = [](VjpContext& c) { c.set(0, c.ct() * 0.8862269254527580 * hone::exp(c.out() * c.out())); },
                    .reads = {.out = 1},
                    .samples = within<-0.9, 0.9>,
                    .flops = 20,
                    .numerics = NumericsClass::Approximate});

constinit const Op add =
    binary(OpId::add, {.doc = "a + b; for bool logical or", .dtypes = kAnyType, .vjp = [](VjpContext& c) {
                         c.set(0, c.ct()), c.set(1, c.ct());
                       }});
constinit const Op subtract = binary(OpId::subtract, {.doc = "a - b", .dtypes = kNumbers, .vjp = [](VjpContext& c) {
                                                        c.set(0, c.ct());
                                                        if (c.need(1)) c.set(1, -c.ct());
                                                      }});
constinit const Op multiply = binary(OpId::multiply, {.doc = "a * b; for bool logical and",
                                                      .dtypes = kAnyType,
                                                      .vjp =
                                                          [](VjpContext& c) {
                                                            if (c.need(0)) c.set(0, c.ct() * c.in(1));
                                                            if (c.need(1)) c.set(1, c.ct() * c.in(0));
                                                          },
                                                      .reads = {.in = 3}});
constinit const Op divide = binary(OpId::divide, {.doc = "a / b; integers round towards zero",
                                                  .dtypes = kNumbers,
                                                  .vjp =
                                                      [](VjpContext& c) {
                                                        if (c.need(0)) c.set(0, c.ct() / c.in(1));
                                                        if (c.need(1)) c.set(1, -(c.ct() * c.out() / c.in(1)));
                                                      },
                                                  .reads = {.in = 2, .out = 1},
                                                  .samples = within<0.5, 3.0, 2>});
constinit const Op remainder =
    binary(OpId::remainder,
           {.doc = "remainder with the dividend's sign",
            .dtypes = kNumbers,
            .vjp =
                [](VjpContext& c) {
                  c.set(0, c.ct());
                  if (c.need(1)) {
                    const Tensor quotient = c.in(0) / c.in(1);
                    c.set(1, -(c.ct() * hone::where(quotient < 0, hone::ceil(quotient), hone::floor(quotient))));
                  }
                },
            .reads = {.in = 3},
            .samples =
                [] {
                  std::vector<Sample> samples = family::elementwise_samples(2, 0.5, 3);
                  for (Sample& sample : samples) sample.differentiable = false;  // jumps
                  return samples;
                }});
constinit const Op power =
    binary(OpId::power, {.doc = "a to the power b (C99 special cases)",
                         .dtypes = kNumbers,
                         .vjp =
                             [](VjpContext& c) {
                               if (c.need(0)) {
                                 const Tensor slope = c.in(1) * hone::pow(c.in(0), c.in(1) - 1);
                                 c.set(0, c.ct() * hone::where(c.in(1) == 0, hone::zeros_like(slope), slope));
                               }
                               if (c.need(1)) {  // 0^b is constant for b > 0
                                 const Tensor base = hone::where(c.in(0) == 0, hone::ones_like(c.in(0)), c.in(0));
                                 c.set(1, c.ct() * c.out() * hone::log(base));
                               }
                             },
                         .reads = {.in = 3, .out = 1},
                         .samples = within<0.5, 2.0, 2>,
                         .flops = 30,
                         .numerics = NumericsClass::Approximate});
// Ties share the gradient, as in JAX.
constinit const Op maximum =
    binary(OpId::maximum, {.doc = "larger; NaN propagates, +0 > -0",
                           .dtypes = kAnyType,
                           .vjp =
                               [](VjpContext& c) {
                                 const Tensor half = hone::where(c.in(0) == c.in(1), c.ct() * 0.5, c.ct()),
                                              zero = hone::zeros_like(half);
                                 if (c.need(0)) c.set(0, hone::where(c.in(0) >= c.in(1), half, zero));
                                 if (c.need(1)) c.set(1, hone::where(c.in(1) >= c.in(0), half, zero));
                               },
                           .reads = {.in = 3}});
constinit const Op minimum =
    binary(OpId::minimum, {.doc = "smaller; NaN propagates, -0 < +0",
                           .dtypes = kAnyType,
                           .vjp =
                               [](VjpContext& c) {
                                 const Tensor half = hone::where(c.in(0) == c.in(1), c.ct() * 0.5, c.ct()),
                                              zero = hone::zeros_like(half);
                                 if (c.need(0)) c.set(0, hone::where(c.in(0) <= c.in(1), half, zero));
                                 if (c.need(1)) c.set(1, hone::where(c.in(1) <= c.in(0), half, zero));
                               },
                           .reads = {.in = 3}});
constinit const Op atan2 = binary(OpId::atan2, {.doc = "angle of the point (b, a)",
                                                .vjp =
                                                    [](VjpContext& c) {
                                                      const Tensor norm = c.in(0) * c.in(0) + c.in(1) * c.in(1);
                                                      if (c.need(0)) c.set(0, c.ct() * c.in(1) / norm);
                                                      if (c.need(1)) c.set(1, -(c.ct() * c.in(0) / norm));
                                                    },
                                                .reads = {.in = 3},
                                                .samples = within<0.5, 2.0, 2>,
                                                .flops = 30,
                                                .numerics = NumericsClass::Approximate});
constinit const Op and_ =
    binary(OpId::and_, {.doc = "bitwise and; logical for bool", .dtypes = kInts | kBool, .samples = of_type<2, i32>});
constinit const Op or_ =
    binary(OpId::or_, {.doc = "bitwise or; logical for bool", .dtypes = kInts | kBool, .samples = of_type<2, i32>});
constinit const Op xor_ = binary(
    OpId::xor_, {.doc = "bitwise exclusive or; logical for bool", .dtypes = kInts | kBool, .samples = of_type<2, i32>});
constinit const Op shift_left =
    binary(OpId::shift_left, {.doc = "a << b; 0 where b >= width", .dtypes = kInts, .samples = of_type<2, i32>});
constinit const Op shift_right_logical =
    binary(OpId::shift_right_logical, {.doc = "a >> b with zeros", .dtypes = kInts, .samples = of_type<2, i32>});
constinit const Op shift_right_arithmetic =
    binary(OpId::shift_right_arithmetic, {.doc = "a >> b with the sign", .dtypes = kInts, .samples = of_type<2, i32>});

constinit const Op equal =
    compare(OpId::equal, {.doc = "a == b (NaN differs from all)", .dtypes = kAnyType, .vjp = no_gradient});
constinit const Op not_equal = compare(OpId::not_equal, {.doc = "a != b", .dtypes = kAnyType, .vjp = no_gradient});
constinit const Op less = compare(OpId::less, {.doc = "a < b", .dtypes = kAnyType, .vjp = no_gradient});
constinit const Op less_equal = compare(OpId::less_equal, {.doc = "a <= b", .dtypes = kAnyType, .vjp = no_gradient});
constinit const Op greater = compare(OpId::greater, {.doc = "a > b", .dtypes = kAnyType, .vjp = no_gradient});
constinit const Op greater_equal =
    compare(OpId::greater_equal, {.doc = "a >= b", .dtypes = kAnyType, .vjp = no_gradient});

constinit const Op select = ternary(OpId::select,
                                    {.doc = "a where the condition holds, else b",
                                     .dtypes = kBool,
                                     .vjp =
                                         [](VjpContext& c) {
                                           const Tensor zero = hone::zeros_like(c.ct());
                                           if (c.need(1)) c.set(1, hone::where(c.in(0), c.ct(), zero));
                                           if (c.need(2)) c.set(2, hone::where(c.in(0), zero, c.ct()));
                                         },
                                     .reads = {.in = 1},
                                     .samples = select_samples},
                                    "condition a b", infer_select);
constinit const Op clamp = ternary(OpId::clamp,
                                   {.doc = "min(max(x, low), high); NaN propagates",
                                    .dtypes = kNumbers,
                                    .vjp =
                                        [](VjpContext& c) {
                                          const Tensor zero = hone::zeros_like(c.ct());
                                          const Tensor below = c.in(1)<c.in(0), above = c.in(1)> c.in(2);
                                          if (c.need(0)) c.set(0, hone::where(below, c.ct(), zero));
                                          if (c.need(1)) c.set(1, hone::where(below | above, zero, c.ct()));
                                          if (c.need(2)) c.set(2, hone::where(above, c.ct(), zero));
                                        },
                                    .reads = {.in = 7},
                                    .samples =
                                        [] {
                                          std::vector<Sample> samples = family::elementwise_samples(3, -2, 2);
                                          for (Sample& sample : samples)
                                            sample.differentiable = false;  // low may exceed high
                                          return samples;
                                        }},
                                   "low x high", infer_clamp);
constinit const Op reduce_precision = [] {
  Op op = unary(OpId::reduce_precision, {.doc = "rounds to fewer exponent and mantissa bits",
                                         .vjp = [](VjpContext& c) { c.set(0, c.ct()); },
                                         .samples =
                                             [] {
                                               std::vector<Sample> samples =
                                                   family::with_attrs(within<-2.0, 2.0>(), Attrs(ParamAttrs{5, 10}));
                                               for (Sample& sample : samples)
                                                 sample.differentiable = false;  // a staircase
                                               return samples;
                                             },
                                         .attrs = &attr_type<ParamAttrs>()});
  op.infer = [](InferContext& c) {
    family::infer_unary(c);
    const auto& format = c.attrs<ParamAttrs>();
    if (format.a >= 1 && format.a <= 64 && format.b >= 0 && format.b <= 64) return;
    c.fail("no such format", "expected: 1 to 64 exponent bits and 0 to 64 mantissa bits",
           "f16 has 5 and 10, bf16 has 8 and 7");
  };
  return op;
}();

}  // namespace ops

Tensor abs(Operand x) { return elementwise<false>(ops::abs, x); }
Tensor negate(Operand x) { return elementwise<false>(ops::negate, x); }
Tensor sign(Operand x) { return elementwise<false>(ops::sign, x); }
Tensor floor(Operand x) { return elementwise<true>(ops::floor, x); }
Tensor ceil(Operand x) { return elementwise<true>(ops::ceil, x); }
Tensor round(Operand x) { return elementwise<true>(ops::round_nearest_even, x); }
Tensor round_nearest_afz(Operand x) { return elementwise<true>(ops::round_nearest_afz, x); }
Tensor exp(Operand x) { return elementwise<true>(ops::exponential, x); }
Tensor expm1(Operand x) { return elementwise<true>(ops::exponential_minus_one, x); }
Tensor log(Operand x) { return elementwise<true>(ops::log, x); }
Tensor log1p(Operand x) { return elementwise<true>(ops::log_plus_one, x); }
Tensor sigmoid(Operand x) { return elementwise<true>(ops::logistic, x); }
Tensor tanh(Operand x) { return elementwise<true>(ops::tanh, x); }
Tensor tan(Operand x) { return elementwise<true>(ops::tan, x); }
Tensor sin(Operand x) { return elementwise<true>(ops::sine, x); }
Tensor cos(Operand x) { return elementwise<true>(ops::cosine, x); }
Tensor sqrt(Operand x) { return elementwise<true>(ops::sqrt, x); }
Tensor rsqrt(Operand x) { return elementwise<true>(ops::rsqrt, x); }
Tensor cbrt(Operand x) { return elementwise<true>(ops::cbrt, x); }
Tensor square(Operand x) {
  Operand y = x;
  return elementwise<false>(ops::multiply, x, y);
}
Tensor reciprocal(Operand x) {
  Operand one(1, x.location);
  return elementwise<true>(ops::divide, one, x);
}
Tensor erf(Operand x) { return elementwise<true>(ops::erf, x); }
Tensor erf_inv(Operand x) { return elementwise<true>(ops::erf_inv, x); }
Tensor is_finite(Operand x) { return elementwise<true>(ops::is_finite, x); }
Tensor is_nan(Operand x) {
  Operand y = x;
  return elementwise<false>(ops::not_equal, x, y);
}
Tensor is_inf(Operand x) {
  const Location location = x.location;
  return equal(Operand(abs(std::move(x)), location), Operand(__builtin_inf(), location));
}

Tensor add(Operand a, Operand b) { return elementwise<false>(ops::add, a, b); }
Tensor subtract(Operand a, Operand b) { return elementwise<false>(ops::subtract, a, b); }
Tensor multiply(Operand a, Operand b) { return elementwise<false>(ops::multiply, a, b); }
Tensor divide(Operand a, Operand b) { return elementwise<false>(ops::divide, a, b); }
Tensor remainder(Operand a, Operand b) { return elementwise<false>(ops::remainder, a, b); }
Tensor pow(Operand a, Operand b) { return elementwise<false>(ops::power, a, b); }
Tensor maximum(Operand a, Operand b) { return elementwise<false>(ops::maximum, a, b); }
Tensor minimum(Operand a, Operand b) { return elementwise<false>(ops::minimum, a, b); }
Tensor atan2(Operand y, Operand x) { return elementwise<true>(ops::atan2, y, x); }
Tensor bitwise_and(Operand a, Operand b) { return elementwise<false>(ops::and_, a, b); }
Tensor bitwise_or(Operand a, Operand b) { return elementwise<false>(ops::or_, a, b); }
Tensor bitwise_xor(Operand a, Operand b) { return elementwise<false>(ops::xor_, a, b); }
Tensor bitwise_not(Operand x) { return elementwise<false>(ops::not_, x); }
Tensor logical_and(Operand a, Operand b) {
  const Location location = a.location;
  return bitwise_and(Operand(to_tensor(std::move(a), bool_), location),
                     Operand(to_tensor(std::move(b), bool_), location));
}
Tensor logical_or(Operand a, Operand b) {
  const Location location = a.location;
  return bitwise_or(Operand(to_tensor(std::move(a), bool_), location),
                    Operand(to_tensor(std::move(b), bool_), location));
}
Tensor logical_not(Operand x) {
  const Location location = x.location;
  return bitwise_not(Operand(to_tensor(std::move(x), bool_), location));
}
Tensor shift_left(Operand a, Operand b) { return elementwise<false>(ops::shift_left, a, b); }
Tensor shift_right_logical(Operand a, Operand b) { return elementwise<false>(ops::shift_right_logical, a, b); }
Tensor shift_right_arithmetic(Operand a, Operand b) { return elementwise<false>(ops::shift_right_arithmetic, a, b); }

Tensor equal(Operand a, Operand b) { return elementwise<false>(ops::equal, a, b); }
Tensor not_equal(Operand a, Operand b) { return elementwise<false>(ops::not_equal, a, b); }
Tensor less(Operand a, Operand b) { return elementwise<false>(ops::less, a, b); }
Tensor less_equal(Operand a, Operand b) { return elementwise<false>(ops::less_equal, a, b); }
Tensor greater(Operand a, Operand b) { return elementwise<false>(ops::greater, a, b); }
Tensor greater_equal(Operand a, Operand b) { return elementwise<false>(ops::greater_equal, a, b); }

Tensor where(Operand condition, Operand a, Operand b) {
  const Location location = condition.location;
  const Operand* values[] = {&a, &b};
  const DType dtype = promoted(values);
  Tensor mask = to_tensor(std::move(condition), bool_);
  Tensor x = to_tensor(std::move(a), dtype), y = to_tensor(std::move(b), dtype);
  Shape shape = mask.shape();
  for (const Tensor* value : {&x, &y}) {
    Shape joined;
    shape = broadcast_shapes(shape, value->shape(), joined) ? joined : value->shape();
  }
  return call_op(ops::select, {}, location, broadcast_to(std::move(mask), shape, location),
                 broadcast_to(std::move(x), shape, location), broadcast_to(std::move(y), shape, location));
}

Tensor clamp(Operand low, Operand x, Operand high) { return elementwise<false>(ops::clamp, low, x, high); }
Tensor reduce_precision(Operand x, int exponent_bits, int mantissa_bits) {
  return elementwise(ops::reduce_precision,
                     ParamAttrs{static_cast<double>(exponent_bits), static_cast<double>(mantissa_bits)}, x);
}

Tensor operator+(Operand a, Operand b) { return elementwise<false>(ops::add, a, b); }
Tensor operator-(Operand a, Operand b) { return elementwise<false>(ops::subtract, a, b); }
Tensor operator*(Operand a, Operand b) { return elementwise<false>(ops::multiply, a, b); }
Tensor operator/(Operand a, Operand b) { return elementwise<false>(ops::divide, a, b); }
Tensor operator%(Operand a, Operand b) { return elementwise<false>(ops::remainder, a, b); }
Tensor operator-(Operand x) { return elementwise<false>(ops::negate, x); }
Tensor operator==(Operand a, Operand b) { return elementwise<false>(ops::equal, a, b); }
Tensor operator!=(Operand a, Operand b) { return elementwise<false>(ops::not_equal, a, b); }
Tensor operator<(Operand a, Operand b) { return elementwise<false>(ops::less, a, b); }
Tensor operator<=(Operand a, Operand b) { return elementwise<false>(ops::less_equal, a, b); }
Tensor operator>(Operand a, Operand b) { return elementwise<false>(ops::greater, a, b); }
Tensor operator>=(Operand a, Operand b) { return elementwise<false>(ops::greater_equal, a, b); }
Tensor operator&(Operand a, Operand b) { return elementwise<false>(ops::and_, a, b); }
Tensor operator|(Operand a, Operand b) { return elementwise<false>(ops::or_, a, b); }
Tensor operator^(Operand a, Operand b) { return elementwise<false>(ops::xor_, a, b); }
Tensor operator~(Operand x) { return elementwise<false>(ops::not_, x); }
Tensor operator!(Operand x) { return logical_not(std::move(x)); }

}  // namespace hone
