// error: f.mlir:1:3: expected an attribute's value, got 'ï'
//   fix: the text form is StableHLO, as jax.jit(f).lower(x).as_text() prints it
#include "hone/compiler/stablehlo.h"
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_stablehlo_binary(__FILE__, [](const std::string&) {
  constexpr std::string_view kText =
      "ML\xefR\x03StableHLO";
  compiler::parse_text(kText, "f.mlir");
});
}  // namespace hone::test
