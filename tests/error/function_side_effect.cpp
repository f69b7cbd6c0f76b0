// error: 'decayed' does not do the same each time it is recorded
//   at tests/error/function_side_effect.cpp:LINE   return x * rate;
//   the host changes something here: a counter, a clock, a random number of its own
//   in 'decayed', called at tests/error/function_side_effect.cpp:LINE   decayed(ones({3}));
//   fix: pass what changes as a tensor or keep it in a Variable; settings.trace_twice = false switches this check off
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_function_side_effect(__FILE__, [](const std::string&) {
  const bool before = std::exchange(settings.trace_twice, true);
  const std::shared_ptr<void> restore(nullptr, [=](void*) { settings.trace_twice = before; });
  int step = 0;
  const auto decayed = function(
      [&](const Tensor& x) {
        const float rate = 0.1F / static_cast<float>(++step);
        return x * rate;
      },
      {.name = "decayed"});
  decayed(ones({3}));
});
}  // namespace hone::test
