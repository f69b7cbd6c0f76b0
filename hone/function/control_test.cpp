#include "hone/function/control.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "hone/base/error.h"
#include "hone/function/function.h"
#include "hone/function/grad.h"
#include "hone/function/variable.h"
#include "hone/function/vmap.h"
#include "hone/ops/contraction.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/misc.h"
#include "hone/ops/movement.h"
#include "hone/ops/reduction.h"

namespace hone {
namespace {

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

void expect_close(const Tensor& got, const Tensor& expected, double tolerance) {
  ASSERT_EQ(got.type(), expected.type());
  const std::vector<double> a = cast(got, f64).to_vector<double>(), b = cast(expected, f64).to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance * (1 + std::abs(b[i]))) << "element " << i;
}

// Central differences of a scalar function in f64.
Tensor differences(const std::function<Tensor(Tensor)>& f, const Tensor& x) {
  const std::vector<double> values = x.to_vector<double>();
  std::vector<double> found;
  for (size_t i = 0; i < values.size(); ++i) {
    std::vector<double> high = values, low = values;
    high[i] += 1e-6, low[i] -= 1e-6;
    found.push_back((f(Tensor::from(high, x.shape())).item<double>() - f(Tensor::from(low, x.shape())).item<double>()) /
                    2e-6);
  }
  return Tensor::from(found, x.shape());
}

Tensor wave(const Shape& shape, DType dtype = f32) {
  return cast(sin(reshape(cast(iota({shape.elements()}, 0), f32), shape) * 0.7), dtype);
}

// Programs with control flow, of one tensor f64 or f32 [3, 4].
struct Case {
  const char* name;
  std::function<Tensor(Tensor)> f;
};

Tensor affine_scan(const Tensor& x, const ScanOptions& options) {
  const Tensor w = x[0] * 0.5;
  auto [last, all] = scan(
      [&](Tensor c, Tensor v) {
        const Tensor next = tanh(c * w + v);
        return std::pair{next, next * v};
      },
      x[1], x, options);
  return sum(last) + sum(all * all);
}

const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {"cond",
       [](Tensor x) {
         return cond(sum(x) > 0, [](Tensor v) { return sum(v * v); }, [](Tensor v) { return sum(exp(v)); }, x);
       }},
      {"cond, other branch",
       [](Tensor x) {
         return cond(sum(x) > 100, [](Tensor v) { return sum(v * v); }, [](Tensor v) { return sum(exp(v)); }, x);
       }},
      {"cond with captures",
       [](Tensor x) {
         const Tensor y = x * 2;
         return cond(sum(x) > 0, [&] { return sum(y * x); }, [&] { return sum(y); });
       }},
      {"switch_case",
       [](Tensor x) {
         return switch_case(cast(sum(x) * 0 + 1, i32),
                            {[](const Tensor& v) { return sum(v); }, [](const Tensor& v) { return sum(v * v * v); },
                             [](const Tensor& v) { return sum(-v); }},
                            x);
       }},
      {"scan", [](Tensor x) { return affine_scan(x, {}); }},
      {"scan in reverse", [](Tensor x) { return affine_scan(x, {.reverse = true}); }},
      {"scan with checkpoints", [](Tensor x) { return affine_scan(x, {.checkpoint = 2}); }},
      {"scan in reverse with checkpoints", [](Tensor x) { return affine_scan(x, {.reverse = true, .checkpoint = 2}); }},
      {"unrolled scan", [](Tensor x) { return affine_scan(x, {.unroll = 2}); }},
      {"fori_loop",
       [](Tensor x) {
         return sum(fori_loop(0, 3, [](Tensor i, Tensor c) { return c * sin(c) + cast(i, c.dtype()); }, x));
       }},
      {"map", [](Tensor x) { return sum(map([](Tensor row) { return sum(row) * row; }, x)); }},
      {"cond in scan in cond",
       [](Tensor x) {
         return cond(
             sum(x) > 0,
             [](Tensor v) {
               return sum(scan(
                              [](Tensor c, Tensor r) {
                                const Tensor next = cond(
                                    sum(r) > 0, [&](Tensor a) { return a * r; }, [](Tensor a) { return a - 1; }, c);
                                return std::pair{next, next};
                              },
                              v[0], v)
                              .second);
             },
             [](Tensor v) { return sum(v); }, x);
       }},
      {"scan in scan",
       [](Tensor x) {
         return sum(scan(
                        [&](Tensor c, Tensor row) {
                          auto [inner, ys] = scan([](Tensor a, Tensor b) { return std::pair{a * 0.5 + b, a}; }, c, row);
                          return std::pair{inner, sum(ys * c)};
                        },
                        x[{0, 0}], x)
                        .second);
       }},
  };
  return list;
}

TEST(Control, TracedEqualsEagerBitForBit) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const Tensor x = wave({3, 4}) + 0.3;
    EXPECT_TRUE(same_bits(function(c.f)(x), c.f(x)));
  }
}

// A recorded loop is one call, however long it is, and its kernel runs the compiled body.
TEST(Control, RecordedLoopsStayLoops) {
  const auto f = [](Tensor x) { return scan([](Tensor c, Tensor v) { return std::pair{tanh(c + v), c}; }, x[0], x); };
  const Tensor x = wave({200, 4});
  const auto traced = function(f);
  const std::string text = traced.lower(Spec{f32, {200, 4}}).cost();
  EXPECT_TRUE(has(text, "scan") && !has(text, "tanh")) << text;
  EXPECT_TRUE(same_bits(traced(x).first, f(x).first));
}

TEST(Control, GradientsAgreeWithDifferencesAndAreThoseOfTheTapeBitForBit) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const Tensor x = wave({3, 4}, f64) + 0.3;
    const Tensor eager = grad(c.f)(x), traced = function([&](Tensor v) { return grad(c.f)(v); })(x);
    expect_close(eager, differences(c.f, x), 1e-6);
    EXPECT_TRUE(same_bits(traced, eager));
  }
}

TEST(Control, SecondDerivativesAgreeWithTheTape) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const Tensor x = wave({3, 4}, f64) + 0.3, direction = cos(wave({3, 4}, f64));
    const auto slope = [&](Tensor v) { return sum(grad(c.f)(v) * direction); };
    const Tensor eager = grad(slope)(x), traced = function([&](Tensor v) { return grad(slope)(v); })(x);
    expect_close(traced, eager, 1e-11);
    expect_close(eager, differences(slope, x), 1e-5);
  }
}

TEST(Control, VmapEqualsALoop) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const Tensor x = wave({5, 3, 4}, f64);
    std::vector<Tensor> each, gradients;
    for (const Tensor& example : unstack(x)) {
      each.push_back(c.f(example));
      gradients.push_back(grad(c.f)(example));
    }
    expect_close(vmap(c.f)(x), stack(each), 1e-14);
    expect_close(function([&](Tensor v) { return vmap(c.f)(v); })(x), stack(each), 1e-14);
    expect_close(vmap([&](const Tensor& v) { return grad(c.f)(v); })(x), stack(gradients), 1e-11);
    const auto total = [&](Tensor v) { return sum(vmap(c.f)(v)); };
    expect_close(grad(total)(x), stack(gradients), 1e-11);
    expect_close(function([&](Tensor v) { return grad(total)(v); })(x), stack(gradients), 1e-11);
  }
}

TEST(Control, ScanEqualsAnUnrolledLoop) {
  const Tensor x = wave({6, 8}), w = wave({8, 8});
  const auto step = [&](const Tensor& c, const Tensor& v) { return tanh(matmul(reshape(c, {1, 8}), w)[0] + v); };
  Tensor c = zeros({8});
  std::vector<Tensor> rows;
  for (const Tensor& v : unstack(x)) rows.push_back(c = step(c, v));
  const auto looped = [&](Tensor xs) {
    return scan([&](Tensor k, Tensor v) { return std::pair{step(k, v), step(k, v)}; }, zeros({8}), xs);
  };
  for (const auto& [last, all] : {looped(x), function(looped)(x)}) {
    EXPECT_TRUE(same_bits(last, c));
    EXPECT_TRUE(same_bits(all, stack(rows)));
  }
}

TEST(Control, WhileLoopsAreTheSameTracedAndUnderVmap) {
  const auto collatz = [](Tensor n) {
    auto [left, steps] =
        while_loop([](std::pair<Tensor, Tensor> c) { return c.first > 1; },
                   [](std::pair<Tensor, Tensor> c) {
                     return std::pair{where(c.first % 2 == 0, c.first / 2, c.first * 3 + 1), c.second + 1};
                   },
                   std::pair{n, n * 0});
    return steps;
  };
  EXPECT_EQ(collatz(Tensor(27)).item<int>(), 111);
  EXPECT_EQ(function(collatz)(Tensor(27)).item<int>(), 111);
  EXPECT_EQ(function(collatz)(Tensor(1)).item<int>(), 0);
  const Tensor all = Tensor::of<int32_t>({1, 27, 2, 6});
  const std::vector<int32_t> expected = {0, 111, 1, 8};
  EXPECT_EQ(vmap(collatz)(all).to_vector<int32_t>(), expected);
  EXPECT_EQ(function([&](Tensor v) { return vmap(collatz)(v); })(all).to_vector<int32_t>(), expected);
}

TEST(Control, WhileLoopWithOneConditionForAllExamplesStaysOneLoop) {
  const auto doubled = [](Tensor x, Tensor n) {
    return while_loop([](std::pair<Tensor, Tensor> c) { return c.second > 0; },
                      [](std::pair<Tensor, Tensor> c) { return std::pair{c.first * 2, c.second - 1}; }, std::pair{x, n})
        .first;
  };
  const auto all = vmap(doubled, {.in_axes = {0, kUnmapped}});
  EXPECT_EQ(all(Tensor::of<float>({1, 2}), Tensor(3)).to_vector<float>(), (std::vector<float>{8, 16}));
  EXPECT_EQ(
      function([&](Tensor x, Tensor n) { return all(x, n); })(Tensor::of<float>({1, 2}), Tensor(3)).to_vector<float>(),
      (std::vector<float>{8, 16}));
}

TEST(Control, CountsToBoundsThatAreTensors) {
  const auto sum_to = [](Tensor n) { return fori_loop(0, n, [](Tensor i, Tensor c) { return c + i; }, Tensor(0)); };
  EXPECT_EQ(sum_to(Tensor(5)).item<int>(), 10);
  const auto traced = function(sum_to);
  EXPECT_EQ(traced(Tensor(5)).item<int>(), 10);
  EXPECT_EQ(traced(Tensor(0)).item<int>(), 0);
  EXPECT_EQ(vmap(sum_to)(Tensor::of<int32_t>({0, 3, 5})).to_vector<int32_t>(), (std::vector<int32_t>{0, 3, 10}));
}

TEST(Control, RecordedWhileLoopsHaveNoGradientAndSayWhatHas) {
  const auto f = function([](Tensor x) {
    return grad(
        [](Tensor v) { return while_loop([](Tensor c) { return c < 10; }, [](Tensor c) { return c * 2; }, v); })(x);
  });
  const std::string message = message_of([&] { f(Tensor(1.0F)); });
  EXPECT_TRUE(has(message, "while_loop has no gradient") && has(message, "control_test.cpp") && has(message, "scan"))
      << message;
}

TEST(Control, IndicesOutsideAreTheFirstAndTheLastBranch) {
  const auto pick = [](Tensor i) {
    return switch_case(i,
                       {[](const Tensor& v) { return v; }, [](const Tensor& v) { return v + 1; },
                        [](const Tensor& v) { return v + 2; }},
                       Tensor(0.0F));
  };
  const auto traced = function(pick);
  const std::pair<int, float> expected[] = {{-7, 0}, {0, 0}, {1, 1}, {2, 2}, {9, 2}};
  for (const auto& [index, value] : expected) {
    EXPECT_EQ(pick(Tensor(index)).item<float>(), value);
    EXPECT_EQ(traced(Tensor(index)).item<float>(), value);
  }
  EXPECT_EQ(vmap(pick)(Tensor::of<int32_t>({-7, 0, 1, 2, 9})).to_vector<float>(), (std::vector<float>{0, 0, 1, 2, 2}));
}

TEST(Control, TakesStructuresOfTensors) {
  using Carry = std::tuple<Tensor, std::vector<Tensor>>;
  const auto f = [](Tensor x) {
    const auto step = [](Carry c, std::pair<Tensor, std::array<Tensor, 2>> v) {
      auto& [a, list] = c;
      const Tensor sum = a + v.first + v.second[1];
      return std::pair{Carry{sum, {list[1], list[0] + v.second[0]}}, std::vector{sum, list[0]}};
    };
    auto [last, ys] = scan(step, Carry{x[0], {x[1], x[2]}}, std::pair{x, std::array<Tensor, 2>{x * 2, x * 3}});
    return std::vector{std::get<0>(last), std::get<1>(last)[0], std::get<1>(last)[1], ys[0], ys[1]};
  };
  const Tensor x = wave({3, 4});
  const std::vector<Tensor> eager = f(x), traced = function(f)(x);
  ASSERT_EQ(eager.size(), traced.size());
  for (size_t i = 0; i < eager.size(); ++i) EXPECT_TRUE(same_bits(eager[i], traced[i])) << i;
}

TEST(Control, VariablesInBodiesAreReadAndAssigned) {
  const auto run = [](bool traced, float start) {
    const Variable total(Tensor(0.0F)), calls(Tensor(0)), scale(Tensor(2.0F)), untouched(Tensor(5.0F));
    const auto f = [&](Tensor x) {
      const Tensor kept = map(
          [&](Tensor row) {
            total.assign(total.value() + sum(row) * scale.value());
            return total.value();
          },
          x);
      cond(sum(x) > 0, [&] { calls.assign_add(Tensor(1)); }, [&] { untouched.assign(Tensor(6.0F)); });
      const Tensor n = while_loop([&](Tensor i) { return i < calls.value() + 2; },
                                  [&](Tensor i) {
                                    scale.assign(scale.value() * 2);
                                    return i + 1;
                                  },
                                  Tensor(0));
      return std::vector{kept, n};
    };
    const Tensor x = wave({3, 4}) + start;
    const std::vector<Tensor> results = traced ? function(f)(x) : f(x);
    return std::vector{results[0], results[1], total.value(), calls.value(), scale.value(), untouched.value()};
  };
  for (const float start : {1.0F, -1.0F}) {
    const std::vector<Tensor> eager = run(false, start), traced = run(true, start);
    for (size_t i = 0; i < eager.size(); ++i) EXPECT_TRUE(same_bits(eager[i], traced[i])) << start << ", value " << i;
  }
}

TEST(Control, TrainableVariablesInBodiesGetTheirGradients) {
  const Variable w(wave({4}, f64));
  const auto loss = [&](const Tensor& x) {
    return sum(scan([&](Tensor c, Tensor v) { return std::pair{tanh(c * w + v), c}; }, zeros({4}, f64), x).second);
  };
  const auto gradient = [&](Tensor x) {
    GradientTape tape;
    const Tensor y = loss(x);
    return tape.gradient(y, w);
  };
  const Tensor x = wave({3, 4}, f64);
  expect_close(function(gradient)(x), gradient(x), 1e-13);
}

TEST(Control, EffectsInBodiesRunInOrder) {
  std::vector<float> seen;
  const int64_t host = register_host_function(
      [&](std::span<const Tensor> in) {
        seen.push_back(in[0].item<float>());
        return in[0];
      },
      {f32, {}});
  const auto note = [&](const Tensor& x) { return host_callback(host, std::vector{x}); };
  const auto f = [&](Tensor x) {
    note(x);
    const Tensor last = scan(
                            [&](Tensor c, Tensor v) {
                              note(v);
                              return std::pair{c + v, cond(v > 1, [&] { return note(v * 10); }, [&] { return v; })};
                            },
                            x, stack({x, x + 1, x + 2}))
                            .first;
    return note(last);
  };
  f(Tensor(0.0F));
  const std::vector<float> expected = {0, 0, 1, 2, 20, 3};
  EXPECT_EQ(seen, expected);
  seen.clear();
  EXPECT_EQ(function(f)(Tensor(0.0F)).item<float>(), 3);
  EXPECT_EQ(seen, expected);
}

TEST(Control, ChecksInBodiesFailWhereTheyAre) {
  const auto f = function(
      [](Tensor x) { return map([](Tensor v) { return v + cast(check(v > 0, "rows are positive"), f32); }, x); });
  EXPECT_EQ(f(Tensor::of<float>({1, 2})).to_vector<float>(), (std::vector<float>{2, 3}));
  const std::string message = message_of([&] { f(Tensor::of<float>({1, -2})); });
  EXPECT_TRUE(has(message, "rows are positive")) << message;
}

TEST(Control, NoRowsGiveInitAndEmptyResults) {
  const auto f = [](Tensor x, Tensor c) {
    auto [last, ys] = scan([](Tensor k, Tensor v) { return std::pair{k + v, k * v}; }, c, x);
    return std::vector{last, ys, fori_loop(2, 2, [](Tensor, Tensor k) { return k + 1; }, c)};
  };
  const Tensor x = zeros({0, 4}), c = wave({4});
  for (const std::vector<Tensor>& found : {f(x, c), function(f)(x, c)}) {
    EXPECT_TRUE(same_bits(found[0], c));
    EXPECT_EQ(found[1].type(), (TensorType{f32, {0, 4}}));
    EXPECT_TRUE(same_bits(found[2], c));
  }
  const auto slope = [&](Tensor v) { return grad([&](Tensor k) { return sum(f(x, k)[0]); })(v); };
  EXPECT_TRUE(same_bits(function(slope)(c), ones({4})));
}

TEST(Control, SymbolicRowsServeSeveralLengths) {
  const auto f = function(
      [](Tensor x) { return scan([](Tensor c, Tensor v) { return std::pair{c + v, c}; }, zeros({2}), x).first; });
  for (const int64_t rows : {3, 5, 9}) EXPECT_TRUE(same_bits(f(ones({rows, 2})), full({2}, rows, f32)));
  EXPECT_LE(f.trace_count(), 2);
}

TEST(Control, ChangedCarriesAreErrorsWithBothLines) {
  const auto longer = [](Tensor c, Tensor v) { return std::pair{concatenate({c, v}, 0), v}; };
  const auto f = [&](Tensor x) { return scan(longer, x[0], x).first; };
  for (const std::string& message :
       {message_of([&] { f(wave({3, 4})); }), message_of([&] { function(f)(wave({3, 4})); })}) {
    EXPECT_TRUE(has(message, "changes the type of the carry") && has(message, "expected: f32[4]") &&
                has(message, "f32[8]") && has(message, "control_test.cpp"))
        << message;
  }
  const std::string traced = message_of([&] { function(f)(wave({3, 4})); });
  EXPECT_TRUE(has(traced, "f32[8], made at")) << traced;
}

TEST(Control, UnequalBranchesAreErrorsWithBothLines) {
  const auto f = function([](Tensor x) {
    return cond(sum(x) > 0, [](Tensor v) { return v; }, [](Tensor v) { return cast(v * 2, i32); }, x);
  });
  const std::string message = message_of([&] { f(wave({3})); });
  EXPECT_TRUE(has(message, "branches of cond return different types") && has(message, "result 0 of branch 1: i32[3]") &&
              has(message, "made at"))
      << message;
}

TEST(Control, UnequalLengthsAreErrors) {
  const std::string message = message_of([] {
    scan([](Tensor c, std::pair<Tensor, Tensor> v) { return std::pair{c + v.first, v.second}; }, zeros({4}),
         std::pair{ones({3, 4}), ones({2, 4})});
  });
  EXPECT_TRUE(has(message, "differ in length") && has(message, "leaf 1: f32[2,4]")) << message;
}

TEST(Control, VariablesAreMadeOutside) {
  const auto f = function([](Tensor x) {
    return cond(sum(x) > 0, [](Tensor v) { return Variable(v * 2).value(); }, [](Tensor v) { return v; }, x);
  });
  const std::string message = message_of([&] { f(wave({3})); });
  EXPECT_TRUE(has(message, "a variable is made inside a branch")) << message;
}

TEST(Control, NoGradientPassesANoGradScopeInABody) {
  const auto f = [](Tensor x) {
    return sum(map(
        [](Tensor v) {
          const Tensor still = [&] {
            const NoGradScope quiet;
            return v * v;
          }();
          return v * still;
        },
        x));
  };
  const Tensor x = wave({3, 2});
  expect_close(function([&](Tensor v) { return grad(f)(v); })(x), grad(f)(x), 1e-6);
}

}  // namespace
}  // namespace hone
