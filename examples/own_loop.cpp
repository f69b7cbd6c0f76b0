// A training loop of one's own: one function, recorded once for full batches and once for the last, and what it will do
// before it runs.
#include <hone/hone.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

using namespace hone;

int main() {
  nn::set_random_seed(7);
  const bool quick = std::getenv("HONE_EXAMPLE_QUICK") != nullptr;
  const int64_t examples = quick ? 1000 : 20000;
  // Points of the plane, labelled by whether they lie in the unit circle.
  const Tensor points = random::uniform(random::state(1), {examples, 2}, -1.5, 1.5).second;
  const Tensor inside = cast(sum(points * points, {1}) < 1, i64);

  nn::Sequential model{nn::Dense(32, {.activation = "relu"}), nn::Dense(32, {.activation = "relu"}), nn::Dense(2)};
  const nn::SparseCategoricalCrossentropy loss_fn({.from_logits = true});
  const optim::Adam optimizer({.learning_rate = 1e-2});

  auto step = function([&](Tensor x, Tensor y) {
    GradientTape tape;
    Tensor loss = loss_fn(y, model(x, {.training = true}));
    auto variables = model.trainable_variables();
    optimizer.apply_gradients(tape.gradient(loss, variables), variables);
    return loss;
  });

  auto lowered = step.lower(Spec{f32, {128, 2}}, Spec{i64, {128}});
  std::cout << lowered.memory() << lowered.cost();

  for (int epoch = 0; epoch < 3; ++epoch) {
    Tensor loss;
    for (auto [x, y] : data::from_tensor_slices(points, inside).batch(128)) loss = step(x, y);
    std::printf("epoch %d: loss %.3f\n", epoch + 1, loss.item<double>());
  }
  std::printf("%lld traces\n%s", static_cast<long long>(step.trace_count()), step.explain_retraces().c_str());
  return step.trace_count() == 2 ? 0 : 1;
}
