#include "hone/optim/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "hone/base/error.h"
#include "hone/base/log.h"
#include "hone/function/tape.h"
#include "hone/ops/creation.h"

namespace hone::optim {
namespace {

std::vector<float> values(const Variable& variable) { return variable.value().to_vector<float>(); }

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

void expect_near(const std::vector<float>& got, const std::vector<float>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], expected[i], 1e-6F * (1 + std::abs(expected[i]))) << "element " << i;
}

struct Warnings {
  std::vector<std::string> lines;
  Warnings() {
    logging::set_sink([](logging::Level, std::string_view text,
                         void* self) { static_cast<Warnings*>(self)->lines.emplace_back(text); },
                      this);
  }
  ~Warnings() { logging::set_sink(nullptr); }
};

TEST(SGD, PlainStepSubtractsRateTimesGradient) {
  const Variable w(Tensor::of<float>({1, 2, 3}));
  const Optimizer optimizer = SGD({.learning_rate = 0.5});
  optimizer.apply_gradients({Tensor::of<float>({2, 0, -4})}, {w});
  expect_near(values(w), {0, 2, 5});
}

TEST(SGD, PlainKeepsNoVelocity) {
  const Variable w(Tensor::of<float>({1}));
  const Optimizer optimizer = SGD();
  optimizer.apply_gradients({Tensor::of<float>({1})}, {w});
  EXPECT_EQ(optimizer.variables().size(), 2U);  // iterations, learning rate
}

TEST(SGD, MomentumAndNesterovFollowTheFormula) {
  for (const bool nesterov : {false, true}) {
    const Variable w(Tensor::of<float>({1}));
    const Optimizer optimizer = SGD({.learning_rate = 0.1, .momentum = 0.9, .nesterov = nesterov});
    double p = 1, v = 0;
    for (const double g : {1.0, -2.0, 0.5}) {
      optimizer.apply_gradients({Tensor::of<float>({static_cast<float>(g)})}, {w});
      v = 0.9 * v - 0.1 * g;
      p += nesterov ? 0.9 * v - 0.1 * g : v;
      EXPECT_NEAR(values(w)[0], p, 1e-6) << nesterov;
    }
  }
}

TEST(Adam, FollowsTheFormula) {
  for (const double decay : {0.0, 0.1}) {
    const Variable w(Tensor::of<double>({1}));
    const Optimizer optimizer = AdamW({.learning_rate = 0.5, .weight_decay = decay});
    double p = 1, m = 0, v = 0;
    for (int t = 1; t <= 4; ++t) {
      const double g = t == 2 ? -3 : t;
      optimizer.apply_gradients({Tensor::of<double>({g})}, {w});
      p -= 0.5 * decay * p;
      m += (g - m) * 0.1, v += (g * g - v) * 0.001;
      p -= 0.5 * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t)) * m / (std::sqrt(v) + 1e-7);
      EXPECT_NEAR(w.value().to_vector<double>()[0], p, 1e-6) << t;
    }
  }
}

TEST(Optimizer, ValuesReadBeforeAStepStayAsTheyWere) {
  for (const Optimizer& optimizer : {Optimizer(SGD()), Optimizer(SGD({.momentum = 0.9})), Optimizer(Adam())}) {
    const Variable w(Tensor::of<float>({1, 2}));
    const Tensor before = w;
    const Tensor gradient = Tensor::of<float>({1, -1});
    optimizer.apply_gradients({gradient}, {w});
    EXPECT_EQ(before.to_vector<float>(), (std::vector<float>{1, 2})) << optimizer.type();
    EXPECT_EQ(gradient.to_vector<float>(), (std::vector<float>{1, -1})) << optimizer.type();
    EXPECT_NE(values(w), before.to_vector<float>()) << optimizer.type();
  }
}

struct Throwing final : UpdateRule {
  std::string type() const override { return "Throwing"; }
  Config config() const override { return Config::Table{{"type", type()}}; }
  std::span<const std::string_view> slots() const override {
    static constexpr std::string_view kSlots[] = {"slot"};
    return kSlots;
  }
  void update(const Update&) const override { throw Error(Code::kResourceExhausted, "out of memory"); }
};

TEST(Optimizer, VariablesSurviveAnUpdateThatThrows) {
  const Variable w(Tensor::of<float>({1, 2}));
  const Optimizer optimizer(std::make_shared<Throwing>(), 0.1);
  EXPECT_THROW(optimizer.apply_gradients({Tensor::of<float>({1, 1})}, {w}), Error);
  EXPECT_EQ(values(w), (std::vector<float>{1, 2}));
  EXPECT_EQ(values(optimizer.variables()[2]), (std::vector<float>{0, 0}));
  EXPECT_EQ(optimizer.iterations().value().item<int64_t>(), 0);
}

TEST(Optimizer, SixteenBitParametersRoundOncePerStep) {
  const Variable w(cast(Tensor::of<float>({1, 100}), bf16));
  const Optimizer optimizer = SGD({.learning_rate = 0.01});
  optimizer.apply_gradients({cast(Tensor::of<float>({1, 200}), bf16)}, {w});
  EXPECT_EQ(cast(w, f32).to_vector<float>(), cast(cast(Tensor::of<float>({0.99F, 98}), bf16), f32).to_vector<float>());
}

TEST(Optimizer, SkipsUndefinedGradientsWithOneWarning) {
  const Variable a(Tensor::of<float>({1}), {.name = "used"}), b(Tensor::of<float>({1}), {.name = "unused_bias"});
  const Optimizer optimizer = SGD({.learning_rate = 1.0});
  const Warnings warnings;
  optimizer.apply_gradients({Tensor::of<float>({1}), Tensor()}, {a, b});
  optimizer.apply_gradients({Tensor::of<float>({1}), Tensor()}, {a, b});
  expect_near(values(a), {-1});
  expect_near(values(b), {1});
  ASSERT_EQ(warnings.lines.size(), 1U);
  EXPECT_NE(warnings.lines[0].find("unused_bias"), std::string::npos);
  EXPECT_EQ(warnings.lines[0].find(" used"), std::string::npos);
}

TEST(Optimizer, RefusesGradientsThatDoNotFit) {
  const Variable w(Tensor::of<float>({1, 2}), {.name = "kernel"});
  const Optimizer optimizer = Adam();
  EXPECT_NE(message_of([&] { optimizer.apply_gradients({Tensor()}, {w}); }).find("no variable has a gradient"),
            std::string::npos);
  EXPECT_NE(message_of([&] { optimizer.apply_gradients({}, {w}); }).find("0 gradients for 1 variables"),
            std::string::npos);
  const std::string wrong = message_of([&] { optimizer.apply_gradients({Tensor::of<float>({1, 2, 3})}, {w}); });
  EXPECT_NE(wrong.find("'kernel'"), std::string::npos);
  EXPECT_NE(wrong.find("f32[3]"), std::string::npos);
  EXPECT_NE(wrong.find("optimizer_test.cpp"), std::string::npos);
  EXPECT_EQ(optimizer.iterations().value().item<int64_t>(), 0);
}

TEST(Optimizer, ClipsGradients) {
  struct Case {
    SGDOptions options;
    std::vector<float> a, b;
  };
  const Tensor ga = Tensor::of<float>({3, 4}), gb = Tensor::of<float>({0, 0.5});
  const double root = std::sqrt(25.25);
  const auto scaled = [&](double x) { return static_cast<float>(-x / root); };
  const Case cases[] = {{{.learning_rate = 1.0, .clipnorm = 1.0}, {-0.6F, -0.8F}, {0, -0.5F}},
                        {{.learning_rate = 1.0, .clipvalue = 0.5}, {-0.5F, -0.5F}, {0, -0.5F}},
                        {{.learning_rate = 1.0, .global_clipnorm = 1.0}, {scaled(3), scaled(4)}, {0, scaled(0.5)}},
                        {{.learning_rate = 1.0, .global_clipnorm = 10.0}, {-3, -4}, {0, -0.5F}}};
  for (const Case& c : cases) {
    const Variable a(zeros({2})), b(zeros({2}));
    const Optimizer optimizer = SGD(c.options);
    optimizer.apply_gradients({ga, gb}, {a, b});
    expect_near(values(a), c.a);
    expect_near(values(b), c.b);
  }
}

TEST(Optimizer, LearningRateCanBeChangedBetweenSteps) {
  const Variable w(Tensor::of<float>({1}));
  const Optimizer optimizer = SGD({.learning_rate = 1.0}), copy = optimizer;
  optimizer.apply_gradients({Tensor::of<float>({1})}, {w});
  copy.set_learning_rate(0.25);
  EXPECT_EQ(optimizer.learning_rate().item<float>(), 0.25F);
  optimizer.apply_gradients({Tensor::of<float>({1})}, {w});
  expect_near(values(w), {-0.25F});
  EXPECT_EQ(copy.iterations().value().item<int64_t>(), 2);
  message_of([&] { optimizer.set_learning_rate(NAN); });
  const Optimizer scheduled = SGD({.learning_rate = CosineDecay({.initial_learning_rate = 1, .decay_steps = 5})});
  message_of([&] { scheduled.set_learning_rate(0.1); }, Code::kFailedPrecondition);
}

TEST(Optimizer, ScheduleSeesFinishedSteps) {
  const Variable w(Tensor::of<float>({0}));
  const Optimizer optimizer = SGD({.learning_rate = CosineDecay({.initial_learning_rate = 1, .decay_steps = 2})});
  std::vector<float> rates;
  for (int i = 0; i < 4; ++i) {
    rates.push_back(optimizer.learning_rate().item<float>());
    optimizer.apply_gradients({Tensor::of<float>({1})}, {w});
  }
  expect_near(rates, {1, 0.5, 0, 0});
  expect_near(values(w), {-1.5});
}

TEST(Optimizer, NamesItsVariablesForCheckpoints) {
  const Variable w(Tensor::of<float>({1}), {.name = "kernel"}), x(Tensor::of<float>({1}), {.name = "kernel"});
  const Optimizer optimizer = Adam();
  const std::pair<std::string, Variable> named[] = {{"conv/kernel", w}};
  optimizer.build(named);
  optimizer.apply_gradients({Tensor::of<float>({1}), Tensor::of<float>({1})}, {w, x});
  const Variable y(Tensor::of<float>({1}), {.name = "kernel"});
  optimizer.apply_gradients({Tensor::of<float>({1})}, {y});
  std::vector<std::string> names;
  for (const auto& [name, variable] : optimizer.named_variables()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"adam/iterations", "adam/learning_rate", "adam/conv/kernel/m",
                                             "adam/conv/kernel/v", "adam/kernel/m", "adam/kernel/v", "adam/kernel_1/m",
                                             "adam/kernel_1/v"}));
}

TEST(Optimizer, StateRestoredIntoAnotherContinuesBitForBit) {
  const Tensor start = Tensor::of<float>({1, -2, 3}), gradient = Tensor::of<float>({0.1F, 0.2F, -0.3F});
  const Variable w(start), resumed(start);
  const Optimizer first = Adam({.learning_rate = 0.1}), second = Adam({.learning_rate = 0.7});
  for (int i = 0; i < 3; ++i) first.apply_gradients({gradient}, {w});
  const std::pair<std::string, Variable> named[] = {{"variable", resumed}};
  second.build(named);
  resumed.assign(w.value());
  const auto from = first.named_variables(), to = second.named_variables();
  ASSERT_EQ(from.size(), to.size());
  for (size_t i = 0; i < from.size(); ++i) {
    EXPECT_EQ(from[i].first, to[i].first);
    to[i].second.assign(from[i].second.value());
  }
  first.apply_gradients({gradient}, {w});
  second.apply_gradients({gradient}, {resumed});
  EXPECT_EQ(values(w), values(resumed));
}

TEST(Optimizer, APersistentTapeDoesNotRecordTheUpdate) {
  const Variable w(Tensor::of<float>({2}));
  GradientTape tape({.persistent = true});
  const Tensor loss = w * w;
  const size_t recorded = tape.recorded();
  SGD().apply_gradients({tape.gradient(loss, w)}, {w});
  EXPECT_EQ(tape.recorded(), recorded);
}

TEST(Optimizer, ConfigMakesItAgain) {
  const Optimizer optimizers[] = {
      SGD({.learning_rate = 0.2, .momentum = 0.5, .nesterov = true, .global_clipnorm = 3.0}), Adam({.beta_1 = 0.8}),
      AdamW({.epsilon = 1e-5}),
      Adam({.learning_rate =
                CosineDecay({.initial_learning_rate = 0.1, .alpha = 0.5, .warmup_target = 0.2, .warmup_steps = 7})})};
  for (const Optimizer& optimizer : optimizers) {
    EXPECT_EQ(optimizer_from_config(optimizer.config()).config(), optimizer.config()) << to_json(optimizer.config());
  }
  EXPECT_EQ(to_json(Adam().config()),
            R"({"type": "Adam", "learning_rate": 0.001, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-07, )"
            R"("weight_decay": 0.0})");
  EXPECT_EQ(*AdamW().config().find("weight_decay"), Config(0.004));
}

TEST(Optimizer, NamesStandForDefaults) {
  for (const auto& [name, type] : {std::pair{"sgd", "SGD"}, {"adam", "Adam"}, {"AdamW", "AdamW"}}) {
    const Optimizer optimizer = name;
    EXPECT_EQ(optimizer.type(), type);
  }
}

TEST(Optimizer, ErrorsOfConfigsNameKeyAndNearest) {
  struct Case {
    Config config;
    const char *what, *fix;
  };
  const Case cases[] = {
      {"adm", "train.optimizer: no optimizer is named 'adm'", "'Adam'"},
      {Config::Table{{"type", "Adam"}, {"learning_rat", 1.0}}, "train.optimizer has no option 'learning_rat'",
       "'learning_rate'"},
      {Config::Table{{"type", "SGD"}, {"momentum", "high"}}, "train.optimizer.momentum must be a number", ""},
      {Config::Table{{"type", "SGD"}, {"momentum", 1.5}}, "momentum is 1.5", "[0, 1]"},
      {Config::Table{{"type", "Adam"}, {"beta_1", 1.0}}, "beta_1 is 1", "[0, 1)"},
      {Config::Table{{"learning_rate", 1.0}}, "train.optimizer needs a type", ""},
      {Config::Table{{"type", "SGD"}, {"learning_rate", -1.0}}, "learning rate -1", ">= 0"},
      {Config::Table{{"type", "SGD"}, {"clipnorm", 1.0}, {"clipvalue", 1.0}}, "only one of clipnorm", ""},
      {Config::Table{{"type", "SGD"}, {"clipnorm", 0.0}}, "clipnorm is 0", "> 0"},
      {Config::Table{{"type", "SGD"}, {"learning_rate", Config::Table{{"type", "CosinDecay"}}}},
       "no schedule is named 'CosinDecay'", "'CosineDecay'"},
      {Config::Table{{"type", "SGD"}, {"learning_rate", Config::Table{{"type", "CosineDecay"}, {"decay_step", 3}}}},
       "train.optimizer.learning_rate has no option 'decay_step'", "'decay_steps'"},
  };
  for (const Case& c : cases) {
    const std::string message = message_of([&] { optimizer_from_config(c.config, "train.optimizer"); });
    EXPECT_NE(message.find(c.what), std::string::npos) << message;
    EXPECT_NE(message.find(c.fix), std::string::npos) << message;
  }
}

TEST(CosineDecay, DecaysOverTheWholeRunWhenToldItsLength) {
  const CosineDecay schedule({.initial_learning_rate = 2, .warmup_target = 4, .warmup_steps = 10});
  message_of([&] { schedule(Tensor(int64_t{0})); }, Code::kFailedPrecondition);
  schedule.set_total_steps(30);
  const auto rate = [&](int64_t step) { return schedule(Tensor(step)).item<float>(); };
  EXPECT_FLOAT_EQ(rate(0), 2);
  EXPECT_FLOAT_EQ(rate(5), 3);
  EXPECT_FLOAT_EQ(rate(10), 4);
  EXPECT_FLOAT_EQ(rate(20), 2);
  EXPECT_NEAR(rate(30), 0, 1e-6);
  EXPECT_NEAR(rate(1000), 0, 1e-6);
  EXPECT_EQ(*schedule.config().find("decay_steps"), Config(0));
}

TEST(CosineDecay, RefusesBadOptions) {
  message_of([] { CosineDecay({.initial_learning_rate = -1}); });
  message_of([] { CosineDecay({.initial_learning_rate = NAN}); });
  message_of([] { CosineDecay({.decay_steps = -3}); });
  EXPECT_NE(message_of([] { CosineDecay({.warmup_steps = 3}); }).find("warmup_target"), std::string::npos);
}

}  // namespace
}  // namespace hone::optim
