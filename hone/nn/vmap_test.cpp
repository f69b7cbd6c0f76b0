// Layers under vmap: gradients of the variables for each example by itself.
#include "hone/function/vmap.h"

#include <gtest/gtest.h>

#include "hone/base/error.h"
#include "hone/function/tape.h"
#include "hone/nn/attention.h"
#include "hone/nn/convolution.h"
#include "hone/nn/core.h"
#include "hone/nn/normalization.h"
#include "hone/nn/recurrent.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/reduction.h"

namespace hone::nn {
namespace {

constexpr int64_t kExamples = 4;

std::vector<Tensor> gradients(const Layer& layer, const std::vector<Tensor>& inputs, const CallOptions& options) {
  GradientTape tape;
  const Tensor y = inputs.size() == 1 ? layer(inputs[0], options) : layer({inputs[0], inputs[1]}, options);
  return tape.gradient(sum(y * y), layer.trainable_variables());
}

void expect_the_loop(const Layer& layer, const std::vector<Tensor>& inputs, const CallOptions& options = {}) {
  const std::vector<Tensor> got =
      vmap([&](const std::vector<Tensor>& each) { return gradients(layer, each, options); })(inputs);
  ASSERT_EQ(got.size(), layer.trainable_variables().size());
  for (int64_t e = 0; e < kExamples; ++e) {
    std::vector<Tensor> each;
    for (const Tensor& input : inputs) each.push_back(input[e]);
    const std::vector<Tensor> expected = gradients(layer, each, options);
    for (size_t i = 0; i < got.size(); ++i) {
      const double scale = 1 + max(abs(expected[i])).item<double>();
      EXPECT_LT(max(abs(got[i][e] - expected[i])).item<double>(), 1e-5 * scale) << "example " << e << ", " << i;
    }
  }
}

Tensor drawn(const Shape& shape) { return random::normal(random::state(5), shape).second; }

TEST(VmapOfLayers, GivesTheGradientsOfEachExample) {
  const struct {
    Layer layer;
    Shape example;
  } cases[] = {
      {Dense(3, {.activation = "gelu"}), {2, 5}},
      {Conv2D(4, 3, {.strides = 2, .padding = "same", .activation = "relu"}), {2, 6, 6, 3}},
      {Conv2D(4, 3, {.groups = 2}), {1, 5, 5, 2}},
      {DepthwiseConv2D(3), {2, 5, 5, 3}},
      {SeparableConv2D(2, 3), {1, 5, 5, 3}},
      {LayerNormalization(), {2, 7}},
      {BatchNormalization(), {3, 4}},
      {LSTM(3), {2, 4, 3}},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(each.layer.name());
    each.layer(zeros(each.example));
    Shape shape = each.example;
    shape.insert(0, kExamples);
    expect_the_loop(each.layer, {drawn(shape)});
  }
}

TEST(VmapOfLayers, KeepsAttention) {
  const MultiHeadAttention attention(2, 3);
  const Tensor query = drawn({kExamples, 1, 5, 6}), value = drawn({kExamples, 1, 4, 6});
  attention({query[0], value[0]});
  expect_the_loop(attention, {query, value});
}

TEST(VmapOfLayers, DropsTheSameElementsOfEachExample) {
  const Dropout layer(0.5, {.seed = 3});
  const Tensor y = vmap([&](const Tensor& x) { return layer(x, {.training = true}); })(ones({kExamples, 40}));
  EXPECT_TRUE(all(y == y[0]).item<bool>());
  EXPECT_TRUE(any(y == 0).item<bool>() && any(y == 2).item<bool>());
  const Tensor next = vmap([&](const Tensor& x) { return layer(x, {.training = true}); })(ones({kExamples, 40}));
  EXPECT_FALSE(all(y == next).item<bool>());
}

TEST(VmapOfLayers, RefusesMovingStatisticsOfOneExample) {
  const BatchNormalization layer;
  layer(zeros({3, 4}));
  try {
    vmap([&](const Tensor& x) { return layer(x, {.training = true}); })(drawn({kExamples, 3, 4}));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition) << error.what();
    EXPECT_NE(std::string(error.what()).find("moving_mean"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace hone::nn
