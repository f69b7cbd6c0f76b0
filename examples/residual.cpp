// A block of one's own: a module with two members, used as a layer.
#include <hone/hone.h>

#include <cstdlib>
#include <iostream>
using namespace hone;

struct Residual : nn::Module {
  explicit Residual(int filters)
      : conv(child("conv", nn::Conv2D(filters, 3, {.padding = "same", .use_bias = false}))) {}
  nn::Conv2D conv;
  nn::BatchNormalization bn = child("bn", nn::BatchNormalization());
  Tensor call(const Tensor& x, const nn::CallOptions& o) override { return relu(x + bn(conv(x), o)); }
};

int main() {
  const bool quick = std::getenv("HONE_EXAMPLE_QUICK") != nullptr;
  auto [train, test] = data::fashion_mnist();
  const auto normalize = [](Tensor images, Tensor labels) { return std::tuple{cast(images, f32) / 255.f, labels}; };
  const auto batches = train.shuffle(train.size(), {.seed = 7}).batch(128).map(normalize).prefetch(data::AUTOTUNE);

  nn::set_random_seed(7);
  nn::Sequential model{nn::Conv2D(32, 3, {.strides = 2, .padding = "same"}), nn::make<Residual>(32),
                       nn::make<Residual>(32), nn::GlobalAveragePooling2D(), nn::Dense(10)};
  model.compile({.optimizer = optim::Adam({.learning_rate = 2e-3}),
                 .loss = nn::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  model.fit(batches, {.epochs = quick ? 1 : 2,
                      .validation_data = test.batch(256).map(normalize),
                      .steps_per_epoch = quick ? 3 : -1,
                      .validation_steps = quick ? 2 : -1});
  std::cout << model.summary();
}
