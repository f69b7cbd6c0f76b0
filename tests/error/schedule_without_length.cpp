// error: CosineDecay: decay_steps = 0 stands for the whole run, whose length nobody told
//   fix: train with fit(), call optimizer.set_total_steps(n), or set decay_steps
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_schedule_without_length(__FILE__, [](const std::string&) {
  const optim::Adam optimizer({.learning_rate = optim::CosineDecay({.initial_learning_rate = 1e-3})});
  const Variable w(zeros({2}), {.name = "w"});
  optimizer.apply_gradients({ones({2})}, {w});
});
}  // namespace hone::test
