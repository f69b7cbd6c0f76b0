// Functions compiled ahead of time against the same functions in Hone under Reproducible::Portable.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "hone/base/settings.h"
#include "hone/function/function.h"
#include "tests/object/driver.h"

namespace hone::object_test {

/// Tests for each machine, of which there may be none.
class Object : public ::testing::TestWithParam<Machine> {
 protected:
  Object() : before_(settings.reproducible) { settings.reproducible = Reproducible::Portable; }
  ~Object() override { settings.reproducible = before_; }
  void SetUp() override {
    if (!available(GetParam())) GTEST_SKIP() << "no compiler or emulator for aarch64";
  }

 private:
  Reproducible before_;
};
inline std::string machine_name(const ::testing::TestParamInfo<Machine>& machine) {
  return machine.param == Machine::Host ? "host" : "aarch64";
}

inline Tensor numbers(const Shape& shape, float scale = 1, float shift = 0) {
  std::vector<float> values(static_cast<size_t>(shape.count()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = scale * std::sin(static_cast<float>(i) * 1.37F) + shift;
  return Tensor::from(values, shape);
}

inline void expect_same_bits(const Tensor& a, const Tensor& b) {
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
  const std::vector<Tensor> made = run_object(lowered, machine, inputs, types, options);
  for (size_t i = 0; i < made.size(); ++i) expect_same_bits(made[i], expected[i]);
}

}  // namespace hone::object_test
