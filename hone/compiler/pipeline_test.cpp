// Switches of single passes.
#include "hone/compiler/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <string>

#include "hone/compiler/rule_domain.h"
#include "hone/compiler/rules.h"
#include "hone/ops/attrs.h"
#include "hone/ops/table.h"
#include "hone/tensor/interpreter.h"

namespace hone::compiler {
namespace {

// y = tanh(x * (2 + 3)) + x and a call that nobody reads.
ir::Graph program() {
  return domain::graph({{f32, {8, 16}}}, [](ir::Builder& b, auto in) {
    const TensorType type{f32, {8, 16}};
    const ir::ValueId five =
        domain::call(b, ops::add, {}, {domain::constant(b, type, 2), domain::constant(b, type, 3)});
    const ir::ValueId product = domain::call(b, ops::multiply, {}, {in[0], five});
    (void)domain::call(b, ops::exponential, {}, {product});
    return domain::call(b, ops::add, {}, {domain::call(b, ops::tanh, {}, {product}), in[0]});
  });
}

Tensor input() {
  Tensor x = Tensor::empty({f32, {8, 16}});
  for (int i = 0; i < 128; ++i) reinterpret_cast<float*>(x.mutable_bytes())[i] = 0.01F * static_cast<float>(i - 64);
  return x;
}

std::string bits(const Tensor& x) { return {static_cast<const char*>(x.raw()), 128 * sizeof(float)}; }

bool ran(const Compiled& compiled, std::string_view name) {
  return std::ranges::any_of(compiled.passes, [&](const PassReport& pass) { return pass.name == name; });
}

int64_t folded() {
  for (const RuleCount& each : last_rule_counts()) {
    if (std::string_view(each.rule) == "fold_constants") return each.count;
  }
  return 0;
}

// Puts every switch back.
struct Restored {
  ~Restored() {
    settings.passes = {};
    unsetenv("HONE_PASSES");
  }
};

class Passes : public testing::Test {
 protected:
  void SetUp() override {
    ensure_defaults();
    expected_ = bits(ir::interpret(graph_, std::array{x_})[0]);
  }
  void expect_off(const PassName& off) {
    const Compiled compiled = compile(graph_);
    for (const PassName& pass : pass_names()) {
      if (pass.on == &PassSettings::constant_folding) continue;  // runs inside simplify
      EXPECT_EQ(ran(compiled, pass.name), pass.on != off.on) << pass.name << " without " << off.name;
    }
    EXPECT_EQ(bits(run_once(graph_, std::array{x_})[0]), expected_) << "without " << off.name;
  }

  const ir::Graph graph_ = program();
  const Tensor x_ = input();
  std::string expected_;
  Restored restored_;
};

TEST_F(Passes, ASwitchTurnsItsPassOffAndKeepsTheBits) {
  for (const PassName& pass : pass_names()) {
    settings.passes.*pass.on = false;
    expect_off(pass);
    settings.passes = {};
  }
}

TEST_F(Passes, TheEnvironmentTurnsOffWhatASwitchDoes) {
  for (const PassName& pass : pass_names()) {
    setenv("HONE_PASSES", (std::string("-") + pass.name).c_str(), 1);
    expect_off(pass);
  }
}

TEST_F(Passes, ConstantFoldingIsAPartOfSimplifyWithASwitchOfItsOwn) {
  (void)simplify(graph_);
  EXPECT_GT(folded(), 0);
  (void)simplify(graph_, false);
  EXPECT_EQ(folded(), 0);
  settings.passes.cluster = false;
  const auto calls = [&] { return compile(graph_).executable->graph().nodes().size(); };
  const size_t with = calls();
  settings.passes.constant_folding = false;
  EXPECT_GT(calls(), with);
}

// The table holds each member of the struct once.
TEST_F(Passes, EveryMemberOfTheStructHasAName) {
  EXPECT_EQ(pass_names().size(), sizeof(PassSettings) / sizeof(bool));
  for (const PassName& pass : pass_names()) settings.passes.*pass.on = false;
  using Bytes = std::array<char, sizeof(PassSettings)>;
  EXPECT_EQ(std::bit_cast<Bytes>(settings.passes), Bytes{});
}

}  // namespace
}  // namespace hone::compiler
