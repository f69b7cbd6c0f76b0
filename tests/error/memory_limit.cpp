// error: out of memory: a tensor of 256 MiB does not fit
//   in use: 0 MiB, peak: 0 MiB, limit: 1 MiB
//   fix: raise settings.memory_limit, or use a smaller batch
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_memory_limit(__FILE__, [](const std::string&) {
  struct Limit {
    Limit() { settings.memory_limit = memory_stats().in_use + (1 << 20); }
    ~Limit() { settings.memory_limit = 0; }
  } limit;
  auto x = Tensor::empty({f32, {1024, 1024, 64}});
});
}  // namespace hone::test
