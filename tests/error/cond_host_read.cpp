// error: a value of a traced function is read on the host
//   at tests/error/cond_host_read.cpp:LINE   return cond(sum(x) > 0, [](const Tensor& v) { return v * v.item<float>(); }, [](const Tensor& v) { return v; }, x);
//   value: f32[], made at tests/error/cond_host_read.cpp:LINE   return cond(sum(x) > 0, [](const Tensor& v) { return v * v.item<float>(); }, [](const Tensor& v) { return v; }, x);
//   the function runs once to record its ops; their values exist only when the graph runs
//   in 'function', called at tests/error/cond_host_read.cpp:LINE   forward(Tensor(1.0F));
//   fix: branch with cond, loop with while_loop or scan, show it with print, or debug with run_functions_eagerly(true)
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_cond_host_read(__FILE__, [](const std::string&) {
  const auto forward = function([](const Tensor& x) {
    return cond(sum(x) > 0, [](const Tensor& v) { return v * v.item<float>(); }, [](const Tensor& v) { return v; }, x);
  });
  forward(Tensor(1.0F));
});
}  // namespace hone::test
