#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "hone/base/error.h"
#include "hone/function/tape.h"
#include "hone/ir/graph.h"
#include "hone/ops/attrs.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/table.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

using Values = std::span<const ir::ValueId>;
using Build = std::function<std::vector<ir::ValueId>(ir::Builder&, Values)>;

std::shared_ptr<const Region> region(const std::vector<TensorType>& types, const Build& build) {
  ir::Builder builder(std::make_shared<ir::Context>());
  std::vector<ir::ValueId> inputs;
  for (const TensorType& type : types) inputs.push_back(builder.add_input(type, {}));
  std::vector<ir::ValueId> outputs = build(builder, inputs);
  return std::make_shared<ir::Graph>(builder.finish(std::move(outputs)));
}

std::shared_ptr<const Region> unary(const Op& op, DType dtype = f32) {
  return region({{dtype, {}}}, [&](ir::Builder& b, Values in) { return std::vector{b.add_one(op, {}, in, 0)}; });
}

Tensor choose(const Tensor& selector, const Tensor& x, const BranchAttrs& attrs) {
  return call_op(ops::if_, attrs, {}, selector, x);
}

// x multiplied by itself n times: x to the power 2^n.
std::vector<Tensor> squared(int32_t n, const Tensor& x) {
  const std::vector<TensorType> types{{i32, {}}, x.type()};
  LoopAttrs attrs;
  attrs.regions.push_back(region(types, [](ir::Builder& b, Values in) {
    const ir::ValueId operands[] = {in[0], b.add_one(ops::constant, ConstantAttrs{i32, {}, 0}, {}, 0)};
    return std::vector{b.add_one(ops::greater, {}, operands, 0)};
  }));
  attrs.regions.push_back(region(types, [](ir::Builder& b, Values in) {
    const ir::ValueId less[] = {in[0], b.add_one(ops::constant, ConstantAttrs{i32, {}, 1}, {}, 0)};
    const ir::ValueId square[] = {in[1], in[1]};
    return std::vector{b.add_one(ops::subtract, {}, less, 0), b.add_one(ops::multiply, {}, square, 0)};
  }));
  std::vector<Tensor> inputs{Tensor(n), x}, outputs(2);
  Call call{ops::while_, attrs, inputs, outputs, {}};
  dispatch(call);
  return outputs;
}

TEST(If, TrueIsTheFirstBranch) {
  const BranchAttrs attrs{{unary(ops::negate), unary(ops::abs)}};
  EXPECT_EQ(choose(Tensor(true), Tensor(-2.0f), attrs).item<float>(), 2);
  EXPECT_EQ(choose(Tensor(false), Tensor(-3.0f), attrs).item<float>(), 3);
  EXPECT_EQ(choose(Tensor(true), Tensor(3.0f), attrs).item<float>(), -3);
}

TEST(If, AnIndexOutOfRangeTakesTheLast) {
  const BranchAttrs attrs{{unary(ops::negate), unary(ops::abs), unary(ops::sign)}};
  for (const auto& [index, expected] :
       {std::pair{0, 5.0F}, std::pair{1, 5.0F}, std::pair{2, -1.0F}, std::pair{3, -1.0F}, std::pair{-1, -1.0F}})
    EXPECT_EQ(choose(Tensor(index), Tensor(-5.0f), attrs).item<float>(), expected) << index;
}

TEST(If, TheTakenBranchIsDifferentiated) {
  const BranchAttrs attrs{{unary(ops::sine), unary(ops::exponential)}};
  for (const bool first : {true, false}) {
    const Tensor x(0.5f);
    GradientTape tape;
    tape.watch(x);
    const Tensor y = choose(Tensor(first), x, attrs);
    EXPECT_FLOAT_EQ(tape.gradient(y, x).item<float>(), first ? std::cos(0.5f) : std::exp(0.5f));
  }
}

TEST(If, ProgramsThatDoNotFitAreNamed) {
  const auto fails = [](const Tensor& selector, const BranchAttrs& attrs, const char* part) {
    try {
      choose(selector, Tensor(1.0f), attrs);
      ADD_FAILURE() << part;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  fails(Tensor(true), {{unary(ops::negate)}}, "1 for a selector of bool");
  fails(Tensor(1.0f), {{unary(ops::negate)}}, "expected: bool[] or i32[], got: f32[]");
  fails(Tensor(1), {{unary(ops::negate), unary(ops::negate, f64)}}, "inputs of branch 1: expected f32[], got f64[]");
  fails(Tensor(1), {{unary(ops::negate), unary(ops::is_finite)}}, "results of branch 1: expected f32[], got bool[]");
}

TEST(While, RunsUntilTheConditionIsFalse) {
  EXPECT_EQ(squared(0, Tensor(3.0f))[1].item<float>(), 3);
  EXPECT_EQ(squared(3, Tensor(3.0f))[1].item<float>(), 6561);
  EXPECT_EQ(squared(3, Tensor(3.0f))[0].item<int32_t>(), 0);
}

TEST(While, CarriesSixteenBitFloatsAsTheyAre) {
  const Tensor y = squared(2, cast(1.1f, bf16))[1];
  const Tensor step = cast(1.1f, bf16) * cast(1.1f, bf16);
  EXPECT_EQ(y.dtype(), bf16);
  EXPECT_EQ(y.item<float>(), (step * step).item<float>());
}

TEST(While, HasNoGradientAndSaysWhatHas) {
  const Tensor x(1.5f);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = squared(3, x)[1];
  try {
    tape.gradient(y, x);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("use scan, or fori_loop"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace hone
