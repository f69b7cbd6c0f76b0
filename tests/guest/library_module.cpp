// A plug-in that contains the whole library: the host's loop is a training step here.
#include <cmath>
#include <cstdint>

#include "hone/base/parallel.h"
#include "hone/hone.h"

/// 0 + 1 + ... + (n - 1), added by an op after a training step of a small network; -1 if a part of it failed.
extern "C" __attribute__((visibility("default"))) int64_t guest_sum(int threads, int64_t n) {
  using namespace hone;
  try {
    set_threads(threads);
    nn::set_random_seed(7);
    const nn::Sequential model{nn::Conv2D(8, 3, {.activation = "relu"}), nn::Flatten(), nn::Dense(10)};
    const Tensor images = ones({32, 12, 12, 3}), labels = zeros({32}, i32);
    model(images);
    const std::vector<Variable> variables = model.trainable_variables();
    GradientTape tape;
    const Tensor loss = nn::SparseCategoricalCrossentropy({.from_logits = true})(labels, model(images));
    optim::Adam().apply_gradients(tape.gradient(loss, variables), variables);
    if (!std::isfinite(loss.item<float>())) return -1;
    return sum(iota({n}, 0, i64)).item<int64_t>();
  } catch (...) {
    return -1;
  }
}
