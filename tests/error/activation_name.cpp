// error: no activation is named 'rellu'
//   known: linear, relu, relu6, leaky_relu, elu, gelu, silu, swish, hard_silu, hard_swish, hard_sigmoid, sigmoid, softplus, tanh, exponential, softmax, log_softmax
//   fix: did you mean 'relu'?
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_activation_name(__FILE__,
                                       [](const std::string&) { const nn::Dense dense(10, {.activation = "rellu"}); });
}  // namespace hone::test
