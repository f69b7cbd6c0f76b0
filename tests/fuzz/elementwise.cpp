#include "hone/ops/elementwise.h"

#include "hone/ops/creation.h"
#include "hone/ops/misc.h"
#include "tests/fuzz/functions.h"

namespace hone::fuzz {
namespace {

using Unary = Tensor (*)(Operand);
using Binary = Tensor (*)(Operand, Operand);

Operand operand(Draw& draw, const Tensor& other) {
  if (draw.chance(0.1)) return draw.among({2, -1, 0});
  if (draw.chance(0.1)) return draw.among({0.5, -1.5});
  if (draw.chance(0.02)) return Tensor();
  return draw.like(other);
}

}  // namespace

std::vector<Entry> elementwise_functions() {
  struct One {
    const char* name;
    Unary f;
  };
  struct Two {
    const char* name;
    Binary f;
  };
  constexpr One kOnes[] = {
      {"abs", abs},
      {"negate", negate},
      {"sign", sign},
      {"floor", floor},
      {"ceil", ceil},
      {"round", round},
      {"round_nearest_afz", round_nearest_afz},
      {"exp", exp},
      {"expm1", expm1},
      {"log", log},
      {"log1p", log1p},
      {"sigmoid", sigmoid},
      {"tanh", tanh},
      {"tan", tan},
      {"sin", sin},
      {"cos", cos},
      {"sqrt", sqrt},
      {"rsqrt", rsqrt},
      {"cbrt", cbrt},
      {"square", square},
      {"reciprocal", reciprocal},
      {"erf", erf},
      {"erf_inv", erf_inv},
      {"is_finite", is_finite},
      {"is_nan", is_nan},
      {"is_inf", is_inf},
      {"bitwise_not", bitwise_not},
      {"logical_not", logical_not},
      {"relu", relu},
      {"relu6", relu6},
      {"silu", silu},
      {"softplus", softplus},
      {"hardswish", hardswish},
  };
  constexpr Two kTwos[] = {
      {"add", add},
      {"subtract", subtract},
      {"multiply", multiply},
      {"divide", divide},
      {"remainder", remainder},
      {"pow", pow},
      {"maximum", maximum},
      {"minimum", minimum},
      {"atan2", atan2},
      {"bitwise_and", bitwise_and},
      {"bitwise_or", bitwise_or},
      {"bitwise_xor", bitwise_xor},
      {"logical_and", logical_and},
      {"logical_or", logical_or},
      {"shift_left", shift_left},
      {"shift_right_logical", shift_right_logical},
      {"shift_right_arithmetic", shift_right_arithmetic},
      {"equal", equal},
      {"not_equal", not_equal},
      {"less", less},
      {"less_equal", less_equal},
      {"greater", greater},
      {"greater_equal", greater_equal},
  };
  std::vector<Entry> all;
  for (const One& one : kOnes) {
    all.push_back({one.name, [f = one.f](Draw& d) -> Results { return {f(d.tensor())}; }});
  }
  for (const Two& two : kTwos) {
    all.push_back({two.name, [f = two.f](Draw& d) -> Results {
                     const Tensor a = d.tensor();
                     const Operand b = operand(d, a);
                     return {d.chance(0.5) ? f(a, b) : f(b, a)};
                   }});
  }
  all.push_back({"where", [](Draw& d) -> Results {
                   const Tensor a = d.tensor(),
                                condition = d.tensor(d.chance(0.9) ? bool_ : d.dtype(), d.near(a.shape()));
                   return {where(condition, a, operand(d, a))};
                 }});
  all.push_back({"clamp", [](Draw& d) -> Results {
                   const Tensor x = d.tensor();
                   const Operand low = operand(d, x), high = operand(d, x);
                   return {clamp(low, x, high)};
                 }});
  all.push_back({"reduce_precision", [](Draw& d) -> Results {
                   const Tensor x = d.tensor();
                   const auto exponent = static_cast<int>(d.integer(-1, 12)),
                              mantissa = static_cast<int>(d.integer(-1, 60));
                   return {reduce_precision(x, exponent, mantissa)};
                 }});
  all.push_back({"leaky_relu, elu, gelu", [](Draw& d) -> Results {
                   const Tensor x = d.tensor();
                   const double alpha = d.unit() * 3 - 1;
                   return {leaky_relu(x, alpha), elu(x, alpha), gelu(x, d.chance(0.5))};
                 }});
  all.push_back({"cast", [](Draw& d) -> Results {
                   const Tensor x = d.tensor();
                   return {cast(x, d.dtype()), cast(x, d.dtype())};
                 }});
  all.push_back({"bitcast", [](Draw& d) -> Results {
                   const Tensor x = d.tensor();
                   return {bitcast(x, d.dtype())};
                 }});
  all.push_back({"check", [](Draw& d) -> Results { return {check(d.tensor(), "text")}; }});
  return all;
}

}  // namespace hone::fuzz
