// error: a traced value is used outside its trace
//   at tests/error/function_leaked.cpp:LINE   (void)hidden.to_vector<float>();
//   value: f32[3], made at tests/error/function_leaked.cpp:LINE   hidden = tanh(x);
//   it was kept from a function that has returned, traced or under vmap, or belongs to another thread
//   fix: return the value from the function, or assign it to a Variable inside
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_function_leaked(__FILE__, [](const std::string&) {
  Tensor hidden;
  const auto forward = function([&](const Tensor& x) {
    hidden = tanh(x);
    return sum(hidden);
  });
  forward(ones({3}));
  (void)hidden.to_vector<float>();
});
}  // namespace hone::test
