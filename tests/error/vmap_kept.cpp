// error: a traced value is used outside its trace
//   at tests/error/vmap_kept.cpp:LINE   const Tensor y = kept + 1;
//   value: f32[3], made at tests/error/vmap_kept.cpp:LINE   kept = x * 2;
//   it was kept from a function that has returned, traced or under vmap, or belongs to another thread
//   fix: return the value from the function
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_vmap_kept(__FILE__, [](const std::string&) {
  Tensor kept;
  const auto total = [&](const Tensor& x) {
    kept = x * 2;
    return sum(kept);
  };
  vmap(total)(ones({8, 3}));
  const Tensor y = kept + 1;
});
}  // namespace hone::test
