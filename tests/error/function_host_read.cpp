// error: a value of a traced function is read on the host
//   at tests/error/function_host_read.cpp:LINE   if (total.item<float>() > 1) return x / total;
//   value: f32[], made at tests/error/function_host_read.cpp:LINE   const Tensor total = sum(x);
//   the function runs once to record its ops; their values exist only when the graph runs
//   in 'function', called at tests/error/function_host_read.cpp:LINE   clipped(ones({3}));
//   fix: branch with cond, loop with while_loop or scan, show it with print, or debug with run_functions_eagerly(true)
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_function_host_read(__FILE__, [](const std::string&) {
  const auto clipped = function([](const Tensor& x) {
    const Tensor total = sum(x);
    if (total.item<float>() > 1) return x / total;
    return x;
  });
  clipped(ones({3}));
});
}  // namespace hone::test
