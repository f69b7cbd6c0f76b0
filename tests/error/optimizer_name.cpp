// error: optimizer: no optimizer is named 'adamm'
//   known: SGD, Adam, AdamW
//   fix: did you mean 'Adam'?
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_optimizer_name(__FILE__, [](const std::string&) { const optim::Optimizer optimizer("adamm"); });
}  // namespace hone::test
