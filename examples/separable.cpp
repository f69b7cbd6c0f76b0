// Conv2D against SeparableConv2D on the same data: parameters, multiply-adds, time of a step, accuracy.
#include <hone/hone.h>
#include <hone/train/run_report.h>

#include <cstdio>
#include <cstdlib>
using namespace hone;

namespace {

struct Candidate {
  const char* name;
  nn::Sequential model;
};

// Two blocks of the given convolution between the same first and last layers.
template <class Conv>
nn::Sequential network() {
  return nn::Sequential{nn::Conv2D(32, 3, {.strides = 2, .padding = "same", .activation = "relu"}),
                        Conv(64, 3, {.padding = "same", .activation = "relu"}),
                        nn::BatchNormalization({.momentum = 0.9}),
                        nn::MaxPooling2D(2),
                        Conv(64, 3, {.padding = "same", .activation = "relu"}),
                        nn::BatchNormalization({.momentum = 0.9}),
                        nn::GlobalAveragePooling2D(),
                        nn::Dense(10)};
}

}  // namespace

int main() {
  const bool quick = std::getenv("HONE_EXAMPLE_QUICK") != nullptr;
  const auto [train, test] = data::fashion_mnist();
  const auto normalize = [](Tensor images, Tensor labels) { return std::tuple{cast(images, f32) / 255.f, labels}; };
  const auto validation = test.batch(256).map(normalize).prefetch(data::AUTOTUNE);

  nn::set_random_seed(7);
  Candidate candidates[] = {{"Conv2D", network<nn::Conv2D>()}, {"SeparableConv2D", network<nn::SeparableConv2D>()}};
  std::printf("%-16s %12s %16s %10s %10s\n", "layer", "parameters", "multiply-adds", "ms a step", "accuracy");
  for (auto& [name, model] : candidates) {
    const auto batches = train.shuffle(train.size(), {.seed = 7}).batch(128).map(normalize).prefetch(data::AUTOTUNE);
    const auto timer = std::make_shared<nn::RunTimer>();
    model.compile({.optimizer = optim::Adam({.learning_rate = optim::CosineDecay({.initial_learning_rate = 3e-3})}),
                   .loss = nn::SparseCategoricalCrossentropy({.from_logits = true}),
                   .metrics = {"accuracy"}});
    model.fit(batches, {.epochs = quick ? 1 : 2, .callbacks = {timer}, .steps_per_epoch = quick ? 3 : -1});
    const nn::Logs logs = model.evaluate(validation, {.steps = quick ? 2 : -1});
    std::printf("%-16s %12lld %16.0f %10.2f %10.4f\n", name, static_cast<long long>(model.parameters()),
                nn::multiply_adds(model, zeros({1, 28, 28, 1})), timer->report().step_ms_median,
                *logs.find("accuracy"));
  }
}
