// Control flow in objects: the bits of the function under Reproducible::Portable, gradients of loops too.
#include <functional>

#include "hone/function/control.h"
#include "hone/function/grad.h"
#include "hone/function/tape.h"
#include "hone/function/variable.h"
#include "hone/ops/contraction.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/nn.h"
#include "hone/ops/reduction.h"
#include "tests/object/expect.h"

namespace hone {
namespace {

using object_test::expect_object_equals_function;
using object_test::Machine;
using object_test::numbers;
using ControlObject = object_test::Object;

// Rows of different lengths and both directions: carries that go through the body, stay, and change places.
TEST_P(ControlObject, OfAScanHasTheBitsOfTheFunction) {
  const Tensor w = numbers({9, 9}, 0.3F);
  for (const int64_t length : {0, 1, 2, 7}) {
    for (const bool reverse : {false, true}) {
      const auto f = [&](Tensor xs, Tensor h) {
        using Carry = std::tuple<Tensor, Tensor, Tensor>;
        const auto [last, ys] = scan(
            [&](Carry carry, Tensor x) {
              const auto [a, b, same] = carry;
              const Tensor next = tanh(matmul(a, w) + x * same);
              return std::pair{Carry{next, a, same}, std::pair{a, next - b}};
            },
            Carry{h, h * 2, h + 1}, xs, {.reverse = reverse});
        const auto& [a, b, same] = last;
        return concatenate({a, b, same, reshape(ys.first, {-1, 9}), reshape(ys.second, {-1, 9})}, 0);
      };
      expect_object_equals_function(GetParam(), f, {numbers({length, 5, 9}), numbers({5, 9}, 0.5F)});
    }
  }
}

TEST_P(ControlObject, OfNestedLoopsAndBranchesHasTheBitsOfTheFunction) {
  const Tensor w = numbers({6, 6}, 0.4F), table = numbers({3, 6}, 0.2F);
  const auto f = [&](Tensor xs, Tensor limit) {
    const auto row = [&](Tensor h, Tensor x) {
      const Tensor grown =
          while_loop([&](Tensor v) { return max(abs(v)) < limit; }, [&](Tensor v) { return v * 1.5F + 0.01F; }, x);
      const Tensor chosen = cond(
          sum(grown) > 0.0F, [&](Tensor v) { return matmul(v, w); }, [&](Tensor v) { return v - table[1]; }, grown);
      const Tensor inner = scan([&](Tensor c, Tensor r) { return std::pair{c * 0.5F + r, c}; }, h, table).second;
      const Tensor next = switch_case(cast(min(abs(h)) * 10.0F, i32),
                                      {[&](Tensor v) { return v + chosen; }, [&](Tensor v) { return tanh(v) * chosen; },
                                       [&](Tensor v) { return sum(inner, {0}) - v; }},
                                      h);
      return std::pair{next, next + inner[0]};
    };
    const auto [h, ys] = scan(row, zeros({6}) + 0.05F, xs);
    return concatenate({expand_dims(h, 0), ys}, 0);
  };
  expect_object_equals_function(GetParam(), f, {numbers({9, 6}), Tensor(1.7F)});
}

TEST_P(ControlObject, OfAWhileLoopRunsNoTimeOrOften) {
  const auto f = [](Tensor x, Tensor limit) {
    using Carry = std::pair<Tensor, Tensor>;
    const auto [value, previous] =
        while_loop([&](Carry c) { return sum(c.first) < limit; },
                   [&](Carry c) { return Carry{c.first * 1.25F + 0.125F, c.first}; }, Carry{x, x - 1});
    return concatenate({value, previous}, 0);
  };
  for (const float limit : {-1e9F, 40.0F, 500.0F})
    expect_object_equals_function(GetParam(), f, {numbers({17}, 1, 1.5F), Tensor(limit)});
}

TEST_P(ControlObject, OfALoopOfSmallVectorsHasTheBitsOfItsMachineCode) {
  const Tensor a = numbers({4, 4}, 0.3F);
  const auto f = [&](Tensor xs, Tensor state) {
    return scan(
               [&](Tensor s, Tensor x) {
                 const Tensor next = sum(a * s, {1}) + x;
                 return std::pair{next, sum(next)};
               },
               state, xs)
        .second;
  };
  expect_object_equals_function(GetParam(), f, {numbers({50, 4}), numbers({4})});
}

TEST_P(ControlObject, OfTheGradientOfAScanHasTheBitsOfTheFunction) {
  for (const int64_t checkpoint : {0, 3}) {
    const auto f = [&](Tensor w, Tensor xs) {
      const auto loss = [&](Tensor u) {
        const auto step = [&](Tensor h, Tensor x) {
          const Tensor next = tanh(matmul(h, u) + x);
          return std::pair{next, next * x};
        };
        const auto [last, ys] = scan(step, zeros({3, 8}), xs, {.checkpoint = checkpoint});
        return sum(last * last) + sum(ys);
      };
      return grad(loss)(w);
    };
    expect_object_equals_function(GetParam(), f, {numbers({8, 8}, 0.3F), numbers({12, 3, 8})});
  }
}

TEST_P(ControlObject, OfLargeLoopsIsTheFunctionInAnySplit) {
  const auto f = [](Tensor xs, Tensor h) {
    return scan([](Tensor c, Tensor x) { return std::pair{tanh(c + x), exp(-c) * x}; }, h, xs).second;
  };
  expect_object_equals_function(GetParam(), f, {numbers({3, 200, 400}), numbers({200, 400})}, {.threads = 4});
}

TEST_P(ControlObject, KeepsStateThatALoopAssigns) {
  const auto make = [](const Variable& state) {
    return function([=](Tensor xs) {
      return scan(
                 [&](Tensor c, Tensor x) {
                   state.assign(state.value() * 0.5F + x);
                   return std::pair{c + state.value(), state.value() * c};
                 },
                 zeros({5}), xs)
          .second;
    });
  };
  const Variable ours(ones({5})), theirs(ones({5}));
  const auto f = make(ours), g = make(theirs);
  const Tensor xs = numbers({6, 5});
  Tensor expected;
  for (int i = 0; i < 3; ++i) expected = f(xs);
  const std::vector<Tensor> made =
      object_test::run_object(g.lower(Spec{f32, {6, 5}}), GetParam(), {xs}, {expected.type()}, {.calls = 3});
  object_test::expect_same_bits(made[0], expected);
}

INSTANTIATE_TEST_SUITE_P(Machines, ControlObject, ::testing::Values(Machine::Host, Machine::Arm64),
                         object_test::machine_name);

}  // namespace
}  // namespace hone
