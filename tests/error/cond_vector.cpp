// error: the condition of cond is not a scalar
//   at tests/error/cond_vector.cpp:LINE   cond(x > 0, [](const Tensor& v) { return v; }, [](const Tensor& v) { return -v; }, x);
//   condition: bool[3]
//   fix: reduce it: all(...), any(...); or choose element by element with where(...)
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_cond_vector(__FILE__, [](const std::string&) {
  const Tensor x = ones({3});
  cond(x > 0, [](const Tensor& v) { return v; }, [](const Tensor& v) { return -v; }, x);
});
}  // namespace hone::test
