// The demonstration of scripts/demo: trains a convolutional network on Fashion-MNIST, evaluates it, predicts, and
// writes model.hone, report.json and history.svg into the folder given (default: build/demo).
#include <hone/base/config.h>
#include <hone/base/file.h>
#include <hone/formats/png.h>
#include <hone/hone.h>
#include <hone/profile/op_profile.h>
#include <hone/train/history_plot.h>
#include <hone/train/run_report.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
using namespace hone;

namespace {

constexpr int64_t kBatch = 128;
constexpr int kProfiledSteps = 50;

nn::Sequential network() {
  return nn::Sequential{
      nn::Conv2D(32, 3, {.strides = 2, .padding = "same", .use_bias = false}),
      nn::BatchNormalization({.momentum = 0.9}),
      nn::ReLU(),
      nn::Conv2D(64, 3, {.padding = "same", .use_bias = false}),
      nn::BatchNormalization({.momentum = 0.9}),
      nn::ReLU(),
      nn::MaxPooling2D(2),
      nn::SeparableConv2D(128, 3, {.padding = "same", .use_bias = false}),
      nn::BatchNormalization({.momentum = 0.9}),
      nn::ReLU(),
      nn::Flatten(),
      nn::Dropout(0.3),
      nn::Dense(128, {.activation = "relu"}),
      nn::Dense(10),
  };
}

// What the slowest ops of a training step are; apart from the run, since measuring costs time.
std::string profile(nn::Model model, const data::Dataset<Tensor, Tensor>& batches, int steps) {
  OpProfile times;
  const ProbeScope scope(times);
  for (const auto& [images, labels] : batches.take(steps)) model.train_on_batch(images, labels);
  return times.table(5);
}

void show_predictions(nn::Model model, const data::Dataset<Tensor, Tensor>& test, const std::string& folder) {
  std::printf("\n%-28s %-12s %-12s %s\n", "image", "is", "predicted", "probability");
  int64_t number = 0;
  for (const auto& [image, label] : test.take(5)) {
    const std::string file = folder + "/image-" + std::to_string(number++) + ".png";
    formats::write_png(file, image);
    const Tensor probabilities = softmax(model.predict(expand_dims(cast(image, f32) / 255.f, 0)));
    const auto best = static_cast<size_t>(argmax(probabilities).item<int64_t>());
    std::printf("%-28s %-12s %-12s %.3f\n", file.c_str(), test.class_names()[label.item<size_t>()].c_str(),
                test.class_names()[best].c_str(), max(probabilities).item<double>());
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const bool quick = std::getenv("HONE_EXAMPLE_QUICK") != nullptr;
  const std::string folder = argc > 1 ? argv[1] : "build/demo";
  std::filesystem::create_directories(folder);

  const auto [train, test] = data::fashion_mnist();
  const auto normalize = [](Tensor images, Tensor labels) { return std::tuple{cast(images, f32) / 255.f, labels}; };
  const auto batches = train.shuffle(train.size(), {.seed = 7}).batch(kBatch).map(normalize).prefetch(data::AUTOTUNE);
  const auto validation = test.batch(256).map(normalize).prefetch(data::AUTOTUNE);

  nn::set_random_seed(7);
  nn::Sequential model = network();
  model.compile({.optimizer = optim::Adam({.learning_rate = optim::CosineDecay({.initial_learning_rate = 3e-3})}),
                 .loss = nn::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  const auto timer = std::make_shared<nn::RunTimer>();
  const nn::History history = model.fit(batches, {.epochs = quick ? 1 : 5,
                                                  .callbacks = {timer},
                                                  .validation_data = validation,
                                                  .steps_per_epoch = quick ? 3 : -1,
                                                  .validation_steps = quick ? 2 : -1,
                                                  .preprocessing = {.rescale = 1 / 255.}});
  model.save(folder + "/model.hone");
  nn::write_history_svg(folder + "/history.svg", history, "Fashion-MNIST");
  std::printf("\n%s", model.summary().c_str());

  const nn::RunReport& report = timer->report();
  const double accuracy = *model.evaluate(validation, {.steps = quick ? 2 : -1}).find("accuracy");
  show_predictions(model, test, folder);

  std::printf("\ntest accuracy     %10.4f\ntraining          %10.1f s\nmedian step       %10.2f ms\n", accuracy,
              report.train_seconds, report.step_ms_median);
  std::printf("throughput        %10.0f images/s\npeak of tensors   %10.1f MiB\npeak of process   %10.1f MiB\n",
              report.images_per_s, static_cast<double>(report.peak_bytes) / (1 << 20),
              static_cast<double>(report.peak_rss_bytes) / (1 << 20));
  const Config::Table values{{"test_accuracy", accuracy},
                             {"train_seconds", report.train_seconds},
                             {"step_ms_median", report.step_ms_median},
                             {"images_per_s", report.images_per_s},
                             {"peak_bytes", static_cast<int64_t>(report.peak_bytes)},
                             {"peak_rss_bytes", static_cast<int64_t>(report.peak_rss_bytes)}};
  write_file_atomic(folder + "/report.json", to_json(Config(values)) + "\n");

  const int steps = quick ? 2 : kProfiledSteps;
  std::printf("\nthe slowest five ops of %d training steps\n%s", steps, profile(model, batches, steps).c_str());
  std::printf("\nwritten: %s/model.hone, report.json, history.svg\n", folder.c_str());
} catch (const Error& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
