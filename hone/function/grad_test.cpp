#include "hone/function/grad.h"

#include <gtest/gtest.h>

#include <cmath>

#include "hone/base/error.h"
#include "hone/ops/contraction.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/reduction.h"
#include "hone/tensor/check_test.h"

namespace hone {
namespace {

TEST(Grad, OfAScalarFunction) {
  const auto f = [](const Tensor& x) { return sum(x * x * x); };
  EXPECT_EQ(floats(grad(f)(vec({1, 2}))), (Floats{3, 12}));
  const auto [value, gradient] = value_and_grad(f)(vec({1, 2}));
  EXPECT_EQ(value.item<float>(), 9);
  EXPECT_EQ(floats(gradient), (Floats{3, 12}));
}

TEST(Grad, Composes) {
  const auto f = [](const Tensor& x) { return x * x * x * x; };
  const Tensor x(2.0F);
  EXPECT_EQ(grad(f)(x).item<float>(), 32);
  EXPECT_EQ(grad(grad(f))(x).item<float>(), 48);
  EXPECT_EQ(grad(grad(grad(f)))(x).item<float>(), 48);
  EXPECT_EQ(grad(grad(grad(grad(f))))(x).item<float>(), 24);
  const auto inner = [&](const Tensor& v) { return sum(grad([](const Tensor& u) { return sum(sin(u)); })(v)); };
  EXPECT_NEAR(grad(inner)(x).item<float>(), -std::sin(2.0), 1e-6);
}

TEST(Grad, WithRespectToTheArgumentsNamed) {
  const auto f = [](const Tensor& a, const Tensor& b, const Tensor& c) { return sum(a * b) + 0 * sum(c); };
  const Tensor a = vec({1, 2}), b = vec({3, 4}), c = vec({5});
  EXPECT_EQ(floats(grad(f)(a, b, c)), (Floats{3, 4}));
  EXPECT_EQ(floats(grad(f, argnums<1>)(a, b, c)), (Floats{1, 2}));
  const auto [db, da] = grad(f, argnums<1, 0>)(a, b, c);
  EXPECT_EQ(floats(db), (Floats{1, 2}));
  EXPECT_EQ(floats(da), (Floats{3, 4}));
  const auto [value, all] = value_and_grad(f, argnums<0, 2>)(a, b, c);
  EXPECT_EQ(value.item<float>(), 11);
  EXPECT_EQ(floats(std::get<1>(all)), (Floats{0}));
}

TEST(Grad, PassesAuxiliaryResultsThrough) {
  const auto f = [](const Tensor& x) { return std::pair(sum(x * x), x + 1); };
  const auto [gradient, aux] = grad(f, has_aux)(vec({1, 2}));
  EXPECT_EQ(floats(gradient), (Floats{2, 4}));
  EXPECT_EQ(floats(aux), (Floats{2, 3}));
  const auto [result, again] = value_and_grad(f, argnums<0>, has_aux)(vec({1, 2}));
  EXPECT_EQ(result.first.item<float>(), 5);
  EXPECT_EQ(floats(again), (Floats{2, 4}));
}

TEST(Grad, IsZeroWhereNothingDepends) {
  const Tensor x = vec({1, 2});
  EXPECT_EQ(floats(grad([](const Tensor&) { return Tensor(1.0F); })(x)), (Floats{0, 0}));
  // A captured tensor is a constant, also if it is the argument's.
  EXPECT_EQ(floats(grad([&](const Tensor&) { return sum(x * x); })(x)), (Floats{0, 0}));
  EXPECT_EQ(floats(grad([&](const Tensor& v) { return sum(x * v); })(x)), (Floats{1, 2}));
}

TEST(Grad, TakesVariablesAsArguments) {
  const Variable v(vec({3}));
  EXPECT_EQ(floats(grad([](const Tensor& x) { return sum(x * x); })(v)), (Floats{6}));
  // A variable that the function reads is not an argument.
  EXPECT_EQ(floats(grad([&](const Tensor& x) { return sum(x * v); })(vec({2}))), (Floats{3}));
}

TEST(Grad, OfWhatIsNoScalarIsAnError) {
  const Tensor x = vec({1, 2});
  const std::string text = message(Code::kInvalidArgument, [&] { grad([](const Tensor& v) { return v * 2; })(x); });
  EXPECT_TRUE(contains(text, "it returned f32[2]") && contains(text, "jacobian")) << text;
  EXPECT_TRUE(contains(text, "grad_test.cpp")) << text;
  message(Code::kInvalidArgument, [&] { grad([](const Tensor& v) { return sum(cast(v, i32)); })(x); });
  message(Code::kInvalidArgument, [&] { grad([](const Tensor&) { return Tensor(); })(x); });
  message(Code::kInvalidArgument, [] { grad([](const Tensor& v) { return sum(v); })(Tensor()); });
  message(Code::kInvalidArgument, [] { grad([](const Tensor& v) { return sum(cast(v, f32)); })(iota({2}, 0)); });
}

TEST(Grad, AFunctionThatThrowsLeavesNothingBehind) {
  const Tensor x = vec({1, 2});
  EXPECT_THROW(grad([](const Tensor& v) -> Tensor { throw std::runtime_error(std::to_string(v.rank())); })(x),
               std::runtime_error);
  message(Code::kInvalidArgument, [&] { grad([](const Tensor& v) { return sum(v + vec({1, 2, 3})); })(x); });
  GradientTape tape;
  tape.watch(x);
  EXPECT_EQ(floats(tape.gradient(x * x, x)), (Floats{2, 4}));
}

TEST(Jvp, IsTheDirectionalDerivative) {
  const auto f = [](Tensor x) { return concatenate({x * x, reshape(sum(x), {1})}, 0); };
  const auto [y, dy] = jvp(f, vec({1, 2}), vec({10, 100}));
  EXPECT_EQ(floats(y), (Floats{1, 4, 3}));
  EXPECT_EQ(floats(dy), (Floats{20, 400, 110}));
}

TEST(Jvp, OfAMatrixFunctionAgreesWithItsGradient) {
  const Tensor w = Tensor::from<float>({1, -2, 3, 0.5F, 2, -1}, {2, 3});
  const auto f = [&](Tensor x) { return tanh(matmul(x, w)); };
  const Tensor x = Tensor::from<float>({0.1F, 0.2F, -0.3F, 0.4F}, {2, 2}),
               t = Tensor::from<float>({1, 2, 3, 4}, {2, 2});
  const Tensor dy = jvp(f, x, t).second;
  const Tensor along = sum(grad([&](const Tensor& v) { return sum(f(v)); })(x) * t);
  EXPECT_NEAR(sum(dy).item<float>(), along.item<float>(), 1e-4);
}

TEST(Jvp, IsZeroWhereNothingDepends) {
  const auto [y, dy] = jvp([](Tensor) { return vec({7}); }, vec({1}), vec({1}));
  EXPECT_EQ(floats(y), (Floats{7}));
  EXPECT_EQ(floats(dy), (Floats{0}));
}

TEST(Jvp, ATangentThatDoesNotFitIsAnError) {
  const auto f = [](Tensor x) { return x; };
  const std::string text = message(Code::kInvalidArgument, [&] { jvp(f, vec({1}), vec({1, 2})); });
  EXPECT_TRUE(contains(text, "primal: f32[1]   tangent: f32[2]")) << text;
  message(Code::kInvalidArgument, [&] { jvp(f, vec({1}), Tensor()); });
  message(Code::kInvalidArgument, [&] { jvp([](Tensor) { return Tensor(); }, vec({1}), vec({1})); });
}

TEST(Jacobian, HasTheShapesOfResultAndArgument) {
  const auto j = jacobian([](Tensor x) { return matmul(x, Tensor::from<float>({1, 2, 3, 4}, {2, 2})); });
  const Tensor found = j(Tensor::from<float>({1, 1}, {1, 2}));
  EXPECT_EQ(found.shape(), (Shape{1, 2, 1, 2}));
  EXPECT_EQ(floats(found), (Floats{1, 3, 2, 4}));
}

TEST(Jacobian, OfAGradientIsTheHessian) {
  const auto f = [](const Tensor& x) { return sum(x * x * x) + prod(x); };
  const Tensor h = jacobian([&](Tensor x) { return grad(f)(x); })(vec({1, 2}));
  EXPECT_EQ(h.shape(), (Shape{2, 2}));
  EXPECT_EQ(floats(h), (Floats{6, 1, 1, 12}));
}

TEST(Jacobian, OfMoreElementsThanOneWalkTakes) {
  const Tensor x = linspace(-1, 1, 150), j = jacobian([](Tensor v) { return v * v; })(x);
  EXPECT_EQ(floats(j), floats(eye(150) * x * 2));
}

TEST(Jacobian, OfNothingIsEmpty) {
  const Tensor found = jacobian([](Tensor x) { return x[slice(0, 0)]; })(vec({1, 2}));
  EXPECT_EQ(found.shape(), (Shape{0, 2}));
}

}  // namespace
}  // namespace hone
