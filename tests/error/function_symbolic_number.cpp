// error: dimension 'length' is symbolic; its number is not known here
//   x.dim(axis) and x.size() are numbers of the host; x.shape() works with symbols too
//   in 'padded', called at tests/error/function_symbolic_number.cpp:LINE   padded(ones({3, 4}));
//   fix: compute with Dim (x.shape()[axis]), or give the Spec a number: then each one is recorded
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_function_symbolic_number(__FILE__, [](const std::string&) {
  const auto padded =
      function([](const Tensor& x) { return concatenate({x, zeros({16 - x.dim(0), 4})}, 0); },
               {.name = "padded", .input_signature = std::vector<Spec>{{f32, {Dim("length", 1, 16), 4}}}});
  padded(ones({3, 4}));
});
}  // namespace hone::test
