// error: invalid equation "ij,jk->il" in einsum
//   at tests/error/einsum_equation.cpp:LINE   auto y = einsum("ij,jk->il", {zeros({2, 3}), zeros({3, 4})});
//   'l' of the result appears in no operand
//   fix: use letters of the operands
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_einsum_equation(__FILE__, [](const std::string&) {
  auto y = einsum("ij,jk->il", {zeros({2, 3}), zeros({3, 4})});
});
}  // namespace hone::test
