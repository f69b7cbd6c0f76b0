// Each rule is proved on its domain: the program before and after it gives the same bits, over values that show the
// edges.
#include "hone/compiler/rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "hone/compiler/passes.h"
#include "hone/compiler/rule_domain.h"
#include "hone/ops/creation.h"
#include "hone/tensor/half.h"

namespace hone::compiler {
namespace {

// Zeros, ones, extremes, denormals, infinities, NaN, as many as the type has; in turn.
Tensor edges(const TensorType& type) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kValues[] = {0.0,    -0.0, 1.0,    -1.0,  0.5,   2.0,  -3.25, 7.0,   1e-40,  -1e-40,
                                1e-310, 127,  -128,   255,   65504, 1e30, -1e30, 1e300, -1e300, kInf,
                                -kInf,  NAN,  3.0e38, 100.0, 1e-7,  -2.5, 1.5,   6e-8};
  std::vector<double> values(static_cast<size_t>(type.shape.count()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = kValues[i % std::size(kValues)];
  return cast(Tensor::from(std::span<const double>(values), type.shape), type.dtype);
}

std::string bits_differ(const Tensor& a, const Tensor& b) {
  if (!(a.type() == b.type())) return to_string(a.type()) + " against " + to_string(b.type());
  return visit_dtype(a.dtype(), [&](auto kind) -> std::string {
    using T = decltype(kind);
    const auto *x = static_cast<const T*>(a.raw()), *y = static_cast<const T*>(b.raw());
    for (int64_t i = 0; i < a.size(); ++i) {
      if (std::ranges::equal(std::as_bytes(std::span(x + i, 1)), std::as_bytes(std::span(y + i, 1)))) continue;
      const auto is_nan = [](T v) {
        if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>)
          return std::isnan(to_float(v));
        else if constexpr (std::is_floating_point_v<T>)
          return std::isnan(v);
        else
          return false;
      };
      if (is_nan(x[i]) && is_nan(y[i])) continue;
      return "element " + std::to_string(i);
    }
    return {};
  });
}

int64_t times(const char* rule) {
  for (const RuleCount& each : last_rule_counts()) {
    if (std::string_view(each.rule) == rule) return each.count;
  }
  return 0;
}

TEST(Rules, GiveTheSameBitsOnTheirDomains) {
  for (const std::span<const Rule> rules : {arithmetic_rules(), movement_rules(), reorder_rules()}) {
    for (const Rule& rule : rules) {
      if (rule.rule_class != Rule::Exact) continue;
      const std::vector<ir::Graph> domain = rule.domain();
      int64_t applied = 0;
      for (size_t i = 0; i < domain.size(); ++i) {
        const ir::Graph& before = domain[i];
        const ir::Graph after = simplify(before);
        applied += times(rule.name);
        ir::verify(after, rule.name);
        std::vector<Tensor> inputs, more;
        for (const ir::Input& input : before.inputs()) inputs.push_back(edges(before.type(input.value)));
        for (const ir::Input& input : after.inputs())
          more.push_back(input.tensor.defined() ? input.tensor : inputs[static_cast<size_t>(more.size())]);
        EXPECT_EQ(bits_differ(ir::interpret(after, more)[0], ir::interpret(before, inputs)[0]), "")
            << rule.name << ", program " << i;
      }
      EXPECT_GT(applied, 0) << rule.name << " never applies on its own domain";
    }
  }
}

TEST(Rules, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const std::span<const Rule> rules : {arithmetic_rules(), movement_rules(), reorder_rules()}) {
    for (const Rule& rule : rules) {
      EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
      EXPECT_NE(std::string_view(rule.text), "") << rule.name;
    }
  }
}

// Transposes that are left of programs over x f32[2,3] and y f32[3,2].
TEST(Rules, TransposesMeetThroughElementwiseCallsWhereThatRemovesOne) {
  using ir::ValueId;
  const auto turn = [](ir::Builder& b, ValueId v) {
    return domain::call(b, ops::transpose, TransposeAttrs{{1, 0}}, {v});
  };
  const auto f = [](ir::Builder& b, ValueId v) { return domain::call(b, ops::tanh, {}, {v}); };
  const auto plus = [](ir::Builder& b, ValueId v, ValueId w) { return domain::call(b, ops::add, {}, {v, w}); };
  struct Case {
    const char* name;
    std::function<ValueId(ir::Builder& b, ValueId x, ValueId y)> make;
    int64_t left;
  };
  const Case cases[] = {
      {"a pair around a call", [&](auto& b, auto x, auto) { return turn(b, f(b, turn(b, x))); }, 0},
      {"around a chain", [&](auto& b, auto x, auto) { return turn(b, f(b, f(b, f(b, turn(b, x))))); }, 0},
      {"around a sum", [&](auto& b, auto x, auto) { return turn(b, plus(b, turn(b, x), f(b, turn(b, x)))); }, 0},
      {"one comes for two", [&](auto& b, auto x, auto y) { return turn(b, plus(b, f(b, turn(b, x)), y)); }, 1},
      {"nothing is won", [&](auto& b, auto, auto y) { return turn(b, plus(b, f(b, y), y)); }, 1},
      {"two become one", [&](auto& b, auto x, auto) { return plus(b, turn(b, x), turn(b, f(b, x))); }, 1},
      {"the call is read elsewhere",
       [&](auto& b, auto x, auto y) {
         const ValueId inner = f(b, turn(b, x));
         return plus(b, turn(b, plus(b, turn(b, inner), x)), plus(b, inner, f(b, y)));
       },
       1},
  };
  for (const Case& c : cases) {
    const ir::Graph before =
        domain::graph({{f32, {2, 3}}, {f32, {3, 2}}}, [&](ir::Builder& b, auto in) { return c.make(b, in[0], in[1]); });
    const ir::Graph after = remove_dead(simplify(before));
    ir::verify(after, c.name);
    EXPECT_EQ(std::ranges::count(after.nodes(), &ops::transpose, &ir::Node::op), c.left) << c.name;
  }
}

}  // namespace
}  // namespace hone::compiler
