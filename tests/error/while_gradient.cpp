// error: while_loop has no gradient
//   at tests/error/while_gradient.cpp:LINE   return while_loop([](const Tensor& c) { return c < 10; }, [](const Tensor& c) { return c * 2; }, x);
//   how often it runs is known only when it has run, so nothing was kept to walk back along
//   in 'function', called at tests/error/while_gradient.cpp:LINE   function([&](const Tensor& x) { return grad(doubled)(x); })(Tensor(1.0F));
//   fix: use scan, or fori_loop with bounds that are numbers of the host; stop_gradient where no gradient is meant to pass
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_while_gradient(__FILE__, [](const std::string&) {
  const auto doubled = [](const Tensor& x) {
    return while_loop([](const Tensor& c) { return c < 10; }, [](const Tensor& c) { return c * 2; }, x);
  };
  function([&](const Tensor& x) { return grad(doubled)(x); })(Tensor(1.0F));
});
}  // namespace hone::test
