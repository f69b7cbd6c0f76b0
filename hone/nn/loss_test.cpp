#include "hone/nn/loss.h"

#include <gtest/gtest.h>

#include <cmath>

#include "hone/base/error.h"
#include "hone/function/tape.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/reduction.h"

namespace hone::nn {
namespace {

std::string message_of(const std::function<void()>& f, Code code = Code::kInvalidArgument) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

Tensor gradient_of(const Loss& loss, const Tensor& y_true, const Tensor& y_pred) {
  GradientTape tape;
  tape.watch(y_pred);
  return tape.gradient(loss(y_true, y_pred), y_pred);
}

bool all_finite(const Tensor& x) { return all(is_finite(x)).item<bool>(); }

TEST(CrossEntropy, ProbabilitiesOfZeroAndOneStayFinite) {
  const Tensor certain =
      Tensor::from(std::vector<float>{0, 1, 1, 0, 0, 0}, {3, 2});  // wrong, wrong, and a row of zeros
  const Tensor labels = Tensor::of<int32_t>({0, 1, 1}), one_hot_labels = one_hot(labels, 2);
  const std::pair<Loss, Tensor> cases[] = {{SparseCategoricalCrossentropy(), labels},
                                           {CategoricalCrossentropy(), one_hot_labels},
                                           {BinaryCrossentropy(), one_hot_labels}};
  for (const auto& [loss, y_true] : cases) {
    const float value = loss(y_true, certain).item<float>();
    EXPECT_TRUE(std::isfinite(value)) << loss.name();
    EXPECT_GT(value, 10) << loss.name();
    EXPECT_TRUE(all_finite(gradient_of(loss, y_true, certain))) << loss.name();
  }
}

TEST(CrossEntropy, LogitsOfAnySizeStayFinite) {
  const Tensor logits = Tensor::from(std::vector<float>{-1e4F, 1e4F, 88, -88, 0, 0}, {3, 2});
  const Tensor labels = Tensor::of<int32_t>({0, 1, 1}), one_hot_labels = one_hot(labels, 2);
  const std::pair<Loss, Tensor> cases[] = {{SparseCategoricalCrossentropy({.from_logits = true}), labels},
                                           {CategoricalCrossentropy({.from_logits = true}), one_hot_labels},
                                           {BinaryCrossentropy({.from_logits = true}), one_hot_labels}};
  for (const auto& [loss, y_true] : cases) {
    EXPECT_GT(loss(y_true, logits).item<float>(), 1e3F) << loss.name();
    EXPECT_TRUE(all_finite(loss(y_true, logits))) << loss.name();
    EXPECT_TRUE(all_finite(gradient_of(loss, y_true, logits))) << loss.name();
  }
}

TEST(CrossEntropy, BinaryGradientAtLogitZeroIsHalf) {
  const Tensor gradient =
      gradient_of(BinaryCrossentropy({.from_logits = true, .reduction = "sum"}), Tensor::of<float>({1, 0}), zeros({2}));
  EXPECT_FLOAT_EQ(gradient.to_vector<float>()[0], -0.25F);
  EXPECT_FLOAT_EQ(gradient.to_vector<float>()[1], 0.25F);
}

TEST(SparseCategoricalCrossentropy, TakesLabelsOfAnyNumberType) {
  const Tensor logits = Tensor::from(std::vector<float>{1, 2, 3, 3, 1, 2}, {2, 3});
  const Tensor labels = Tensor::of<int32_t>({2, 0});
  const double expected = std::log(std::exp(-2) + std::exp(-1) + 1);
  for (const DType dtype : {i8, i16, i32, i64, u8, u16, u32, u64, f32, f64}) {
    for (const bool column : {false, true}) {
      const Tensor typed = cast(column ? reshape(labels, {2, 1}) : labels, dtype);
      EXPECT_NEAR(SparseCategoricalCrossentropy({.from_logits = true})(typed, logits).item<double>(), expected, 1e-6)
          << name(dtype);
      EXPECT_NEAR(SparseCategoricalCrossentropy()(typed, exp(logits)).item<double>(), expected, 1e-6) << name(dtype);
    }
  }
}

TEST(SparseCategoricalCrossentropy, TakesSequences) {
  const Tensor logits = reshape(iota({24}, 0, f32), {2, 3, 4});
  const Tensor labels = Tensor::from(std::vector<int32_t>{3, 2, 1, 0, 3, 3}, {2, 3});
  const double total = std::log(1 + std::exp(-1) + std::exp(-2) + std::exp(-3));
  const Tensor values = SparseCategoricalCrossentropy({.from_logits = true, .reduction = "none"})(labels, logits);
  EXPECT_EQ(values.shape(), (Shape{2, 3}));
  const double expected[] = {0, 1, 2, 3, 0, 0};
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(values.to_vector<float>()[i], total + expected[i], 1e-5);
}

TEST(SparseCategoricalCrossentropy, BadLabelsGiveNaN) {
  const Tensor outputs = Tensor::from(std::vector<float>{0.5, 0.5, 0.5, 0.5, 0.5, 0.5}, {3, 2});
  const Tensor labels = Tensor::of<float>({NAN, 2, 1});
  for (const bool logits : {false, true}) {
    const std::vector<float> values =
        SparseCategoricalCrossentropy({.from_logits = logits, .reduction = "none"})(labels, outputs).to_vector<float>();
    EXPECT_TRUE(std::isnan(values[0]));
    EXPECT_TRUE(std::isnan(values[1]));
    EXPECT_NEAR(values[2], std::log(2.0), 1e-6);
  }
}

TEST(SparseCategoricalCrossentropy, IgnoredPositionsCountNowhere) {
  const Tensor logits = Tensor::from(std::vector<float>{0, 0, NAN, 5, 0, 0}, {3, 2});
  const Loss loss = SparseCategoricalCrossentropy({.from_logits = true, .ignore_class = -1});
  const Tensor labels = Tensor::of<int32_t>({0, -1, 1});
  EXPECT_NEAR(loss(labels, logits).item<float>(), std::log(2.0), 1e-6);
  EXPECT_EQ(gradient_of(loss, labels, logits).to_vector<float>(),
            (std::vector<float>{-0.25F, 0.25F, 0, 0, 0.25F, -0.25F}));
  EXPECT_EQ(loss(Tensor::of<int32_t>({-1, -1, -1}), logits).item<float>(), 0);
}

TEST(Loss, ReductionsWithWeights) {
  const Tensor y_true = Tensor::from(std::vector<float>{0, 0, 0}, {3, 1}),
               y_pred = Tensor::from(std::vector<float>{1, 2, 3}, {3, 1});
  const Tensor weights = Tensor::of<float>({1, 0, 2});
  const std::pair<const char*, float> cases[] = {
      {"sum_over_batch_size", 19.F / 3}, {"sum", 19}, {"mean_with_sample_weight", 19.F / 3}};
  for (const auto& [reduction, expected] : cases)
    EXPECT_FLOAT_EQ(MeanSquaredError({.reduction = reduction})(y_true, y_pred, weights).item<float>(), expected);
  EXPECT_EQ(MeanAbsoluteError({.reduction = "none"})(y_true, y_pred, weights).to_vector<float>(),
            (std::vector<float>{1, 0, 6}));
  EXPECT_FLOAT_EQ(MeanAbsoluteError()(y_true, y_pred).item<float>(), 2);
}

TEST(Loss, SixteenBitPredictionsComputeInF32) {
  const Tensor y_pred = cast(Tensor::of<float>({300, -300}), f16);
  EXPECT_EQ(MeanSquaredError()(zeros({2}), y_pred).dtype(), f32);
  EXPECT_FLOAT_EQ(MeanSquaredError()(zeros({2}), y_pred).item<float>(), 90000);  // beyond f16
  EXPECT_EQ(gradient_of(MeanSquaredError(), zeros({2}), y_pred).dtype(), f16);
  EXPECT_EQ(MeanSquaredError()(zeros({2}), zeros({2}, f64)).dtype(), f64);
}

TEST(Loss, ShapeErrorsNameBothShapesAndTheCallersLine) {
  struct Case {
    Loss loss;
    Shape y_true, y_pred;
    const char* text;
  };
  const Case cases[] = {
      {MeanSquaredError(), {4, 2}, {4, 3}, "shape mismatch in MeanSquaredError"},
      {BinaryCrossentropy(), {4}, {4, 3}, "shape mismatch in BinaryCrossentropy"},
      {CategoricalCrossentropy(), {4}, {4, 3}, "shape mismatch in CategoricalCrossentropy"},
      {SparseCategoricalCrossentropy(), {4, 3}, {4, 3}, "use the categorical form for one-hot labels"},
      {SparseCategoricalCrossentropy({.from_logits = true}), {5}, {4, 3}, "labels must be [4]"}};
  for (const Case& c : cases) {
    const std::string message = message_of([&] { c.loss(zeros(c.y_true), zeros(c.y_pred)); });
    EXPECT_NE(message.find(c.text), std::string::npos) << message;
    EXPECT_NE(message.find("loss_test.cpp"), std::string::npos) << message;
    EXPECT_NE(message.find("f32" + to_string(c.y_true)), std::string::npos) << message;
  }
  EXPECT_NE(message_of([] { MeanSquaredError()(zeros({4, 2}), zeros({4, 2}), zeros({3})); }).find("sample weights"),
            std::string::npos);
}

TEST(Loss, NamesConfigsAndOwnFunctions) {
  for (const auto& [name, type] : {std::pair{"mse", "MeanSquaredError"},
                                   {"mean_absolute_error", "MeanAbsoluteError"},
                                   {"sparse_categorical_crossentropy", "SparseCategoricalCrossentropy"},
                                   {"BinaryCrossentropy", "BinaryCrossentropy"},
                                   {"categorical_crossentropy", "CategoricalCrossentropy"}}) {
    EXPECT_EQ(Loss(name).type(), type);
  }
  const Loss losses[] = {SparseCategoricalCrossentropy({.from_logits = true, .ignore_class = 3, .reduction = "sum"}),
                         BinaryCrossentropy({.label_smoothing = 0.1, .axis = 1}),
                         MeanSquaredError({.reduction = "none"})};
  for (const Loss& loss : losses) EXPECT_EQ(loss_from_config(loss.config()).config(), loss.config());
  EXPECT_EQ(losses[0].name(), "sparse_categorical_crossentropy");
  EXPECT_TRUE(losses[0].sparse() && losses[0].from_logits());
  EXPECT_FALSE(losses[1].sparse() || losses[1].from_logits());
  const Loss own([](const Tensor& y_true, const Tensor& y_pred) { return abs(y_true - y_pred) * 2; });
  EXPECT_FLOAT_EQ(own(zeros({2}), Tensor::of<float>({1, 3})).item<float>(), 4);
}

TEST(Loss, ErrorsOfConfigsNameTheNearest) {
  EXPECT_NE(message_of([] {
              loss_from_config("sparse_categorical_crosentropy", "train.loss");
            }).find("'sparse_categorical_crossentropy'"),
            std::string::npos);
  EXPECT_NE(message_of([] {
              loss_from_config(Config::Table{{"type", "BinaryCrossentropy"}, {"fromlogits", true}}, "train.loss");
            }).find("'from_logits'"),
            std::string::npos);
  EXPECT_NE(message_of([] { MeanSquaredError({.reduction = "average"}); }).find("no reduction is named 'average'"),
            std::string::npos);
  EXPECT_NE(message_of([] { CategoricalCrossentropy({.label_smoothing = 2}); }).find("label_smoothing is 2"),
            std::string::npos);
}

TEST(CheckLabels, NamesTheFirstBadLabelItsPlaceAndTheFix) {
  struct Case {
    Tensor labels;
    Code code;
    const char *what, *fix;
  };
  const Case cases[] = {
      {Tensor::of<int32_t>({0, 9, 10, 11}), Code::kOutOfRange, "label [2] is 10, but the model has 10 classes",
       "labels - 1"},
      {Tensor::of<uint8_t>({0, 200}), Code::kOutOfRange, "label [1] is 200", "more than 200 units"},
      {Tensor::from(std::vector<int64_t>{0, 1, 2, -1}, {2, 2}), Code::kOutOfRange, "label [1, 1] is -1",
       "ignore_class"},
      {Tensor::of<float>({1, NAN}), Code::kNumerical, "label [1] is NaN", "drop rows"},
      {Tensor::of<float>({1.5, 1}), Code::kInvalidArgument, "label [0] is 1.5, a fraction", "MeanSquaredError"},
      {cast(Tensor::of<float>({1, 10}), f16), Code::kOutOfRange, "label [1] is 10", "one more unit"},
      {Tensor::of<double>({0, INFINITY}), Code::kOutOfRange, "label [1] is inf", ""},
  };
  for (const Case& c : cases) {
    const std::string message = message_of([&] { check_labels(c.labels, 10); }, c.code);
    EXPECT_NE(message.find(c.what), std::string::npos) << message;
    EXPECT_NE(message.find(c.fix), std::string::npos) << message;
  }
  check_labels(Tensor::of<int32_t>({0, 9, -1}), 10, -1);
  check_labels(Tensor::of<bool>({true, false}), 2);
  check_labels(zeros({0}), 10);
}

}  // namespace
}  // namespace hone::nn
