// Auto-JIT over the op table, and the three ways to switch the compiler on: the bits of plain eager mode.
#include <gtest/gtest.h>

#include <functional>

#include "hone/compiler/passes.h"
#include "hone/hone.h"
#include "hone/tensor/interpreter.h"
#include "tests/conformance/cases.h"

namespace hone::conformance {
namespace {

class Mode {
 public:
  explicit Mode(int mode) {
    ensure_defaults();  // reads HONE_AUTOJIT
    before_ = std::exchange(settings.auto_jit, mode);
  }
  ~Mode() { settings.auto_jit = before_; }
  Mode(const Mode&) = delete;
  Mode& operator=(const Mode&) = delete;

 private:
  int before_ = 0;
};

TEST(AutoJitTable, EveryElementwiseSampleGivesTheSameBits) {
  int checked = 0;
  for (const Case& c : cases()) {
    if (!compiler::clusters(c.op)) continue;
    const std::vector<Tensor> inputs = draw(c);
    // Twice, so that two calls wait; a value that is one of the results must stay what it is.
    const auto program = [&] {
      std::vector<Tensor> out = run(c, inputs);
      if (is_floating(out[0].dtype())) out.push_back(out[0] * 0.5);
      out.push_back(out[0] == out[0]);
      return out;
    };
    std::vector<Tensor> expected;
    {
      const Mode off(0);
      expected = program();
    }
    const Mode on(3);
    for (int call = 0; call < 2; ++call)
      EXPECT_EQ(difference(program(), expected), "") << c.label() << ", run " << call;
    ++checked;
  }
  EXPECT_GT(checked, 100);
}

// A small network, three steps: its loss and what it predicts then.
std::vector<Tensor> trained(const nn::CompileOptions& options, int auto_jit) {
  const Mode mode(auto_jit);
  nn::set_random_seed(7);
  const Tensor x = random::normal(random::state(1), {4, 8, 8, 1}).second;
  const Tensor y = random::normal(random::state(2), {4, 3}).second;
  nn::Sequential model{nn::Conv2D(4, 3, {.activation = "relu"}), nn::BatchNormalization(), nn::Flatten(),
                       nn::Dense(8, {.activation = "gelu"}), nn::Dense(3)};
  model.compile(options);
  std::vector<Tensor> out;
  const auto history = model.fit(x, y, {.batch_size = 4, .epochs = 3, .verbose = 0});
  out.push_back(model(x));
  for (const Variable& variable : model.variables()) out.push_back(variable.value());
  return out;
}

TEST(AutoJitTable, TheThreeWaysToCompileTrainTheSameModel) {
  const auto with = [](bool jit, bool eager) {
    return nn::CompileOptions{.optimizer = "adam", .loss = "mse", .run_eagerly = eager, .jit_compile = jit};
  };
  const std::vector<Tensor> plain = trained(with(false, true), 0);
  EXPECT_EQ(difference(trained(with(false, false), 0), plain), "") << "function";
  EXPECT_EQ(difference(trained(with(true, false), 0), plain), "") << "jit_compile";
  EXPECT_EQ(difference(trained(with(false, true), 3), plain), "") << "auto_jit";
  EXPECT_EQ(difference(trained(with(true, false), 2), plain), "") << "jit_compile and auto_jit";
}

}  // namespace
}  // namespace hone::conformance
