// error: f.mlir is MLIR bytecode, not text
//   fix: write it as text: jax.jit(f).lower(x).as_text(), or stablehlo-translate --deserialize
#include "hone/compiler/stablehlo.h"
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_stablehlo_binary(__FILE__, [](const std::string&) {
  constexpr std::string_view kText = "ML\xefR\x03StableHLO";
  compiler::parse_text(kText, "f.mlir");
});
}  // namespace hone::test
