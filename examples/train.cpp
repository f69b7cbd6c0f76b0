#include <hone/hone.h>
using namespace hone;

int main() {
  auto [train, test] =
      data::fashion_mnist();  // IDX files of Debian's dataset-fashion-mnist; rank 3 gets a channel axis: u8[28,28,1]
  auto normalize = [](Tensor image, Tensor label) { return std::tuple{cast(image, f32) / 255.f, label}; };

  auto batches = train.cache()
                     .shuffle(train.size(), {.seed = 7})
                     .map(normalize, {.num_parallel_calls = data::AUTOTUNE})
                     .batch(128)
                     .prefetch(data::AUTOTUNE);

  nn::Sequential model{
      nn::Conv2D(32, 3, {.padding = "same", .activation = "relu"}),
      nn::BatchNormalization(),
      nn::SeparableConv2D(64, 3, {.strides = 2, .activation = "relu"}),
      nn::GlobalAveragePooling2D(),
      nn::Dense(10),
  };
  model.compile({.optimizer = optim::Adam({.learning_rate = 1e-3}),
                 .loss = nn::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"},
                 .jit_compile = true});
  auto history = model.fit(
      batches,
      {.epochs = 5, .validation_data = test.map(normalize).batch(256), .preprocessing = {.rescale = 1 / 255.f}});
  model.save("fashion.hone");
}
