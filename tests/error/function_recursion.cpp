// error: 'factorial' calls itself without end
//   at tests/error/function_recursion.cpp:LINE   : traced(function(std::function<Tensor(const Tensor&)>([this](const Tensor& n) { return n * traced(n - 1); }),
//   200 calls of functions stand inside each other
//   in 'factorial', called at tests/error/function_recursion.cpp:LINE   Factorial().traced(Tensor(5.0F));
//   fix: a recorded function cannot decide by a tensor's value when to stop: use while_loop or scan
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_function_recursion(__FILE__, [](const std::string&) {
  struct Factorial {
    Function<std::function<Tensor(const Tensor&)>> traced;
    explicit Factorial()
        : traced(function(std::function<Tensor(const Tensor&)>([this](const Tensor& n) { return n * traced(n - 1); }),
                          {.name = "factorial"})) {}
  };
  Factorial().traced(Tensor(5.0F));
});
}  // namespace hone::test
