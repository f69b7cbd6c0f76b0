#include "hone/function/vmap.h"

#include <gtest/gtest.h>

#include "hone/base/error.h"
#include "hone/function/grad.h"
#include "hone/ops/attrs.h"
#include "hone/ops/contraction.h"
#include "hone/ops/convolution.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/misc.h"
#include "hone/ops/movement.h"
#include "hone/ops/nn.h"
#include "hone/ops/reduction.h"
#include "hone/tensor/check_test.h"

namespace hone {
namespace {

std::optional<Code> code_of(const auto& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.code();
  }
  return std::nullopt;
}

Tensor counted(const Shape& shape) { return reshape(cast(iota({shape.elements()}, 0), f32), shape) * 0.25 - 1; }

TEST(Vmap, ShowsTheFunctionOneExample) {
  const Tensor x = counted({3, 4});
  Shape seen;
  const Tensor y = vmap([&](const Tensor& v) {
    seen = v.shape();
    EXPECT_FALSE(v.concrete());
    return sum(v * v);
  })(x);
  EXPECT_EQ(seen, (Shape{4}));
  EXPECT_EQ(floats(y), floats(sum(x * x, 1)));
}

TEST(Vmap, MapsTheAxesThatInAxesNames) {
  const Tensor w = counted({2, 3}), b = counted({4, 2});
  const auto f = [](const Tensor& row, const Tensor& column) { return sum(row) + column; };
  const Tensor z = vmap(f, {.in_axes = {0, 1}})(w, b);
  EXPECT_EQ(z.shape(), (Shape{2, 4}));
  EXPECT_EQ(floats(z), floats(expand_dims(sum(w, 1), 1) + transpose(b)));
  EXPECT_EQ(floats(vmap(f, {.in_axes = {-2, -1}})(w, b)), floats(z));
  EXPECT_EQ(floats(vmap(f, {.in_axes = {kUnmapped, 1}})(w, b)), floats(sum(w) + transpose(b)));
  EXPECT_EQ(floats(vmap([](const Tensor& v) { return v * 2; }, {.in_axes = 1})(w)), floats(transpose(w) * 2));
}

TEST(Vmap, PutsTheExamplesWhereOutAxesSays) {
  const Tensor x = counted({3, 2, 4});
  const auto f = [](const Tensor& v) { return v + 1; };
  EXPECT_EQ(vmap(f, {.out_axes = 1})(x).shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(vmap(f, {.out_axes = -1})(x).shape(), (Shape{2, 4, 3}));
  EXPECT_EQ(floats(vmap(f, {.out_axes = -1})(x)), floats(transpose(x + 1, {1, 2, 0})));
  const auto two = [](const Tensor& v) { return std::pair(v, sum(v)); };
  const auto [same, total] = vmap(two, {.out_axes = {1, 0}})(x);
  EXPECT_EQ(same.shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(total.shape(), (Shape{3}));
}

TEST(Vmap, RepeatsResultsThatAreTheSameForAllExamples) {
  const Tensor x = counted({3, 2}), shared = vec({5, 6});
  const auto [mapped, constant] = vmap([&](const Tensor& v) { return std::pair(v, shared * 2); })(x);
  EXPECT_EQ(floats(mapped), floats(x));
  EXPECT_EQ(floats(constant), (Floats{10, 12, 10, 12, 10, 12}));
  const auto f = [&](const Tensor&) { return shared * 2; };
  EXPECT_EQ(floats(vmap(f, {.out_axes = kUnmapped})(x)), (Floats{10, 12}));
  EXPECT_EQ(floats(vmap(f, {.in_axes = kUnmapped, .axis_size = 2})(x)), (Floats{10, 12, 10, 12}));
}

TEST(Vmap, ReturnsWhatTheFunctionReturns) {
  const Tensor x = counted({2, 3});
  const auto tuple = vmap([](const Tensor& v) { return std::tuple(v, v + 1, std::pair(v + 2, sum(v))); })(x);
  EXPECT_EQ(floats(std::get<1>(tuple)), floats(x + 1));
  EXPECT_EQ(floats(std::get<2>(tuple).second), floats(sum(x, 1)));
  const std::array<Tensor, 2> array = vmap([](const Tensor& v) { return std::array{v, v * 2}; })(x);
  EXPECT_EQ(floats(array[1]), floats(x * 2));
  const std::vector<Tensor> parts = vmap([](const Tensor& v) { return unstack(v); })(x);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(floats(parts[2]), floats(transpose(x)[2]));
  const auto of_list = [](const std::vector<Tensor>& v) { return v[0] + v[1]; };
  EXPECT_EQ(floats(vmap(of_list)(std::vector<Tensor>{x, x})), floats(x * 2));
}

TEST(Vmap, OfNoExamplesGivesNone) {
  const Tensor y = vmap([](const Tensor& v) { return matmul(v, v); })(zeros({0, 2, 2}));
  EXPECT_EQ(y.shape(), (Shape{0, 2, 2}));
}

TEST(Vmap, NestsOverTwoAxes) {
  const Tensor x = counted({3, 2}), y = counted({4, 2});
  const auto dot = [](const Tensor& a, const Tensor& b) { return sum(a * b); };
  const Tensor table = vmap(vmap(dot, {.in_axes = {kUnmapped, 0}}), {.in_axes = {0, kUnmapped}})(x, y);
  EXPECT_EQ(table.shape(), (Shape{3, 4}));
  EXPECT_EQ(floats(table), floats(matmul(x, transpose(y))));
  const auto inner_uses_outer = [](const Tensor& a) {
    return vmap([&](const Tensor& element) { return element * sum(a); })(a);
  };
  EXPECT_EQ(floats(vmap(inner_uses_outer)(x)), floats(x * sum(x, 1, true)));
}

TEST(Vmap, OfGradGivesAGradientForEachExample) {
  const Tensor w = counted({3}), x = counted({4, 3}), y = counted({4});
  const auto loss = [](const Tensor& weights, const Tensor& row, const Tensor& label) {
    const Tensor error = sum(weights * row) - label;
    return error * error;
  };
  const Tensor each = vmap(grad(loss), {.in_axes = {kUnmapped, 0, 0}})(w, x, y);
  EXPECT_EQ(floats(each), floats(expand_dims((matmul(x, w) - y) * 2, 1) * x));
}

TEST(Vmap, IsDifferentiable) {
  const Tensor w = counted({3}), x = counted({4, 3});
  const auto mapped = [&](const Tensor& weights) {
    return sum(vmap([](const Tensor& v, const Tensor& row) { return tanh(sum(v * row)); }, {.in_axes = {kUnmapped, 0}})(
        weights, x));
  };
  const auto direct = [&](const Tensor& weights) { return sum(tanh(sum(x * weights, 1))); };
  EXPECT_EQ(floats(grad(mapped)(w)), floats(grad(direct)(w)));
  const auto second = [](const auto& f) { return grad([f](const Tensor& v) { return sum(grad(f)(v)); }); };
  const Floats got = floats(second(mapped)(w)), expected = floats(second(direct)(w));
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6);
}

TEST(Vmap, OfSecondDerivatives) {
  const Tensor x = counted({5});
  const auto f = [](const Tensor& v) { return v * v * v; };
  EXPECT_EQ(floats(vmap(grad(grad(f)))(x)), floats(x * 6));
}

TEST(Vmap, ReadsVariablesAndCapturesAsTheyAre) {
  const Variable scale(vec({2, 3}));
  const Tensor shift = vec({1, 1}), x = counted({3, 2});
  EXPECT_EQ(floats(vmap([&](const Tensor& v) { return v * scale + shift; })(x)), floats(x * scale.value() + shift));
  GradientTape tape;
  const Tensor y = sum(vmap([&](const Tensor& v) { return sum(v * scale); })(x));
  EXPECT_EQ(floats(tape.gradient(y, scale)), floats(sum(x, 0)));
}

TEST(Vmap, LetsAVariableTakeWhatAllExamplesShare) {
  const Variable count(vec({1}));
  vmap([&](const Tensor& v) {
    count.assign_add(vec({1}));
    return v;
  })(counted({3, 2}));
  EXPECT_EQ(floats(count.value()), (Floats{2}));
}

TEST(Vmap, RefusesToAssignAValuePerExample) {
  const Variable last(vec({0, 0}), {.name = "last"});
  const auto f = [&](const Tensor& v) {
    last.assign(v);
    return v;
  };
  EXPECT_EQ(code_of([&] { vmap(f)(counted({3, 2})); }), Code::kFailedPrecondition);
  EXPECT_EQ(floats(last.value()), (Floats{0, 0}));
}

TEST(Vmap, DrawsTheSameNumbersFromASharedStateAndOthersFromOneOfEachExample) {
  const auto draw = [](const Tensor& state) { return random::uniform(state, {4}).second; };
  const Tensor states = stack({random::state(1), random::state(2)});
  const Tensor each = vmap(draw)(states);
  EXPECT_EQ(floats(each[0]), floats(draw(random::state(1))));
  EXPECT_EQ(floats(each[1]), floats(draw(random::state(2))));
  const Tensor x = counted({3, 4});
  const Tensor shared = vmap([&](const Tensor& v) { return v + draw(random::state(7)); })(x);
  EXPECT_EQ(floats(shared), floats(x + draw(random::state(7))));
  const Tensor dropped = vmap([](const Tensor& v) { return dropout(v, random::state(3), 0.5); })(x);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(floats(dropped[i]), floats(dropout(x[i], random::state(3), 0.5)));
}

TEST(Vmap, CallsTheHostForOneExampleAfterTheOther) {
  std::vector<float> seen;
  const auto host = [&](std::span<const Tensor> inputs) {
    seen.push_back(inputs[0].item<float>());
    return inputs[0] * 10;
  };
  const auto f = [&](const Tensor& v) { return host_callback(host, std::array{v}, TensorType{f32, {}}); };
  EXPECT_EQ(floats(vmap(f)(vec({3, 1, 2}))), (Floats{30, 10, 20}));
  EXPECT_EQ(seen, (std::vector<float>{3, 1, 2}));
}

TEST(Vmap, KeepsCustomGradientsInsideAndOutside) {
  const auto doubled = custom_gradient([](const std::vector<Tensor>& in) {
    const Tensor x = in[0], w = in[1];
    return WithGradient{x * w, [x, w](const Tensor& ct) { return std::vector{ct * w * 100, ct * x * 10}; }};
  });
  const Tensor x = counted({3, 2}), w = vec({2, 5});
  const auto f = [&](const Tensor& v, const Tensor& shared) { return sum(doubled({v, shared})); };
  EXPECT_EQ(floats(vmap(grad(f), {.in_axes = {0, kUnmapped}})(x, w)), floats(broadcast_to(w * 100, {3, 2})));
  const auto total = [&](const Tensor& v, const Tensor& shared) {
    return sum(vmap(f, {.in_axes = {0, kUnmapped}})(v, shared));
  };
  const auto [dx, dw] = grad(total, argnums<0, 1>)(x, w);
  EXPECT_EQ(floats(dx), floats(broadcast_to(w * 100, {3, 2})));
  EXPECT_EQ(floats(dw), floats(sum(x * 10, 0)));
}

TEST(Vmap, KeepsCheckpointsInsideAndOutside) {
  const Variable w(vec({2, 5}));
  const auto block = checkpoint([&](const std::vector<Tensor>& in) { return sum(tanh(in[0] * w)); });
  const auto plain = [&](const Tensor& v) { return sum(tanh(v * w)); };
  const auto kept = [&](const Tensor& v) { return block({v}); };
  const Tensor x = counted({3, 2});
  EXPECT_EQ(floats(vmap(grad(kept))(x)), floats(vmap(grad(plain))(x)));
  const auto gradient_of = [&](const auto& f) {
    GradientTape tape;
    return floats(tape.gradient(sum(vmap(f)(x)), w));
  };
  EXPECT_EQ(gradient_of(kept), gradient_of(plain));
}

TEST(Vmap, ErrorsInsideSpeakOfOneExample) {
  const std::string text = message(
      Code::kInvalidArgument, [] { vmap([](const Tensor& v) { return matmul(v, zeros({5, 2})); })(zeros({7, 3, 4})); });
  EXPECT_TRUE(contains(text, "f32[3,4]")) << text;
  EXPECT_FALSE(contains(text, "f32[7,3,4]")) << text;
}

TEST(Vmap, LeavesTheStackAsItWasAfterAnError) {
  EXPECT_ANY_THROW(vmap([](const Tensor& v) { return matmul(v, v); })(zeros({7, 3, 4})));
  EXPECT_FALSE(has_interpreters());
}

TEST(Vmap, ValuesDoNotOutliveIt) {
  Tensor kept;
  vmap([&](const Tensor& v) { return kept = v + 1; })(counted({3, 2}));
  EXPECT_EQ(code_of([&] { kept.to_vector<float>(); }), Code::kFailedPrecondition);
  EXPECT_EQ(code_of([&] { kept + 1; }), Code::kFailedPrecondition);
  EXPECT_EQ(code_of([&] { vmap([&](const Tensor& v) { return v + kept; })(counted({3, 2})); }),
            Code::kFailedPrecondition);
}

TEST(Vmap, FreesIntermediateValuesAsTheFunctionGoesOn) {
  const Tensor x = zeros({4, 1 << 18});
  cpu().reset_peak();
  const size_t before = memory_stats().peak;
  vmap([](const Tensor& v) {
    Tensor y = v;
    for (int i = 0; i < 50; ++i) y = y + 1;
    return sum(y);
  })(x);
  EXPECT_LT(memory_stats().peak - before, 4 * x.bytes());
}

TEST(Vmap, RefusesArgumentsThatDoNotFit) {
  const auto f = [](const Tensor& a, const Tensor& b) { return a + b; };
  const auto call = [&](VmapOptions options, const Tensor& a, const Tensor& b) {
    return code_of([&] { vmap(f, options)(a, b); });
  };
  const Tensor x = zeros({3, 2}), y = zeros({4, 2}), scalar = zeros({});
  EXPECT_EQ(call({}, x, y), Code::kInvalidArgument);                      // sizes
  EXPECT_EQ(call({.axis_size = 5}, x, x), Code::kInvalidArgument);        // size
  EXPECT_EQ(call({.in_axes = {0}}, x, x), Code::kInvalidArgument);        // entries
  EXPECT_EQ(call({.in_axes = {0, 2}}, x, x), Code::kInvalidArgument);     // range
  EXPECT_EQ(call({.in_axes = {-3, 0}}, x, x), Code::kInvalidArgument);    // range
  EXPECT_EQ(call({}, x, scalar), Code::kInvalidArgument);                 // rank
  EXPECT_EQ(call({.in_axes = kUnmapped}, x, x), Code::kInvalidArgument);  // nothing
  EXPECT_EQ(call({.in_axes = kUnmapped, .axis_size = -1}, x, x), Code::kInvalidArgument);
  EXPECT_EQ(call({}, x, {}), Code::kInvalidArgument);                      // undefined
  EXPECT_EQ(call({.out_axes = 2}, x, x), Code::kInvalidArgument);          // range
  EXPECT_EQ(call({.out_axes = {0, 0}}, x, x), Code::kInvalidArgument);     // entries
  EXPECT_EQ(call({.out_axes = kUnmapped}, x, x), Code::kInvalidArgument);  // differs
}

}  // namespace
}  // namespace hone
