#include "hone/nn/activation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "hone/base/error.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/nn.h"

namespace hone::nn {
namespace {

TEST(Activation, NamesComputeTheirFunctions) {
  struct Case {
    const char* name;
    double (*f)(double);
  };
  const Case cases[] = {
      {"linear", [](double x) { return x; }},
      {"relu", [](double x) { return std::max(x, 0.0); }},
      {"relu6", [](double x) { return std::clamp(x, 0.0, 6.0); }},
      {"leaky_relu", [](double x) { return x < 0 ? 0.2 * x : x; }},
      {"elu", [](double x) { return x < 0 ? std::expm1(x) : x; }},
      {"gelu", [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }},
      {"silu", [](double x) { return x / (1 + std::exp(-x)); }},
      {"swish", [](double x) { return x / (1 + std::exp(-x)); }},
      {"hard_silu", [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }},
      {"hard_swish", [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }},
      {"hard_sigmoid", [](double x) { return std::clamp(x + 3, 0.0, 6.0) / 6; }},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"softplus", [](double x) { return std::log1p(std::exp(x)); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"exponential", [](double x) { return std::exp(x); }},
  };
  const std::vector<float> inputs = {-4, -1.5F, -0.25F, 0, 0.5F, 2, 7};
  for (const Case& c : cases) {
    const Activation activation = c.name;
    EXPECT_EQ(activation.name(), c.name);
    const std::vector<float> got = activation(Tensor::from(inputs, {7})).to_vector<float>();
    for (size_t i = 0; i < inputs.size(); ++i)
      EXPECT_NEAR(got[i], c.f(inputs[i]), 1e-6 * (1 + std::abs(c.f(inputs[i])))) << c.name << " of " << inputs[i];
  }
}

TEST(Activation, SoftmaxRunsOverTheLastAxis) {
  const Tensor x = Tensor::from(std::vector<float>{0, 0, 5, 5}, {2, 2});
  EXPECT_EQ(Activation("softmax")(x).to_vector<float>(), (std::vector<float>{0.5F, 0.5F, 0.5F, 0.5F}));
  EXPECT_NEAR(Activation("log_softmax")(x).to_vector<float>()[3], -std::log(2.0), 1e-6);
}

TEST(Activation, HonesFunctionsHaveTheirNames) {
  const std::pair<Activation, const char*> cases[] = {
      {relu, "relu"},       {hone::tanh, "tanh"}, {gelu, "gelu"},
      {softmax, "softmax"}, {silu, "silu"},       {leaky_relu, "leaky_relu"},
      {elu, "elu"},         {"linear", "linear"}, {Activation(), "linear"}};
  for (const auto& [activation, name] : cases) EXPECT_EQ(activation.name(), name);
  EXPECT_TRUE(Activation().linear());
  EXPECT_FALSE(Activation(relu).linear());
}

Tensor twice(const Tensor& x) { return x * 2; }

TEST(Activation, TakesOwnFunctions) {
  const Tensor x = Tensor::of<float>({3});
  const float factor = 4;
  EXPECT_EQ(Activation(twice)(x).item<float>(), 6);
  EXPECT_EQ(Activation([factor](const Tensor& t) { return t * factor; })(x).item<float>(), 12);
  EXPECT_EQ(Activation(square)(x).item<float>(), 9);
  EXPECT_EQ(Activation(square).name(), "custom");
}

TEST(Activation, UnknownNamesGetTheNearest) {
  try {
    Activation("rellu");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'relu'?"), std::string::npos) << error.what();
  }
  EXPECT_THROW(Activation(+[](Operand x, double) { return square(x); }), Error);
}

}  // namespace
}  // namespace hone::nn
