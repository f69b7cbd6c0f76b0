// Functions compiled ahead of time give the bits of the same functions in Hone under Reproducible::Portable.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "hone/base/error.h"
#include "hone/base/settings.h"
#include "hone/function/function.h"
#include "hone/function/variable.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/reduction.h"
#include "tests/object/driver.h"

namespace hone {
namespace {

using object_test::Machine;
using object_test::RunOptions;

class Object : public ::testing::TestWithParam<Machine> {
 protected:
  Object() : before_(settings.reproducible) { settings.reproducible = Reproducible::Portable; }
  ~Object() override { settings.reproducible = before_; }
  void SetUp() override {
    if (!object_test::available(GetParam())) GTEST_SKIP() << "no compiler or emulator for aarch64";
  }

 private:
  Reproducible before_;
};

Tensor numbers(const Shape& shape, float scale = 1, float shift = 0) {
  std::vector<float> values(static_cast<size_t>(shape.count()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = scale * std::sin(static_cast<float>(i) * 1.37F) + shift;
  return Tensor::from(values, shape);
}

void expect_same_bits(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(to_string(a.type()), to_string(b.type()));
  const Tensor x = a.dense(), y = b.dense();
  EXPECT_EQ(std::memcmp(x.mutable_bytes(), y.mutable_bytes(), x.bytes()), 0);
}

template <class F>
void expect_object_equals_function(Machine machine, F f, const std::vector<Tensor>& inputs,
                                   const RunOptions& options = {}) {
  std::vector<Tensor> expected;
  Lowered lowered = [&] {
    if constexpr (std::is_invocable_v<F, Tensor, Tensor>) {
      const auto g = function(f);
      expected = {g(inputs[0], inputs[1])};
      return g.lower(Spec{inputs[0].dtype(), inputs[0].shape()}, Spec{inputs[1].dtype(), inputs[1].shape()});
    } else {
      const auto g = function(f);
      expected = {g(inputs[0])};
      return g.lower(Spec{inputs[0].dtype(), inputs[0].shape()});
    }
  }();
  std::vector<TensorType> types;
  for (const Tensor& each : expected) types.push_back(each.type());
  const std::vector<Tensor> made = object_test::run_object(lowered, machine, inputs, types, options);
  for (size_t i = 0; i < made.size(); ++i) expect_same_bits(made[i], expected[i]);
}

TEST_P(Object, OfElementwiseCallsHasTheBitsOfTheFunction) {
  const auto f = [](Tensor x, Tensor b) { return (x * b + 0.5F) / (sqrt(abs(x)) + 2.0F) - x; };
  expect_object_equals_function(GetParam(), f, {numbers({7, 33}, 3), numbers({33})});
  expect_object_equals_function(GetParam(), f, {numbers({5, 300}, 3), numbers({5, 1})});
  expect_object_equals_function(GetParam(), f, {numbers({3, 4, 5, 6}, 3), numbers({4, 1, 6})});
  expect_object_equals_function(GetParam(), f, {numbers({1}, 3), numbers({1})});
}

TEST_P(Object, OfMovementAndReductionsHasTheBitsOfTheFunction) {
  const auto f = [](Tensor x) {
    const Tensor y = transpose(x, {1, 0}) * 2.0F;
    return concatenate({sum(y, {0}), max(y, {0}), mean(x, {1})}, 0);
  };
  expect_object_equals_function(GetParam(), f, {numbers({70, 50})});
  const auto long_columns = [](Tensor x) { return sum(x * x, {0}); };
  expect_object_equals_function(GetParam(), long_columns, {numbers({3000, 9})});
}

INSTANTIATE_TEST_SUITE_P(Machines, Object, ::testing::Values(Machine::Host, Machine::Arm64),
                         [](const auto& machine) { return machine.param == Machine::Host ? "host" : "aarch64"; });

}  // namespace
}  // namespace hone
