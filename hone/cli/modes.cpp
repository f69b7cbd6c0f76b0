#include "hone/cli/modes.h"

#include "hone/base/error.h"
#include "hone/compiler/codegen.h"

namespace hone::cli {

std::string chosen_mode(const std::string& asked) {
  if (!asked.empty() && asked != kJit) return asked;
  if (codegen::available()) return kJit;
  if (asked.empty()) return kGraph;
  throw Error(Code::kUnsupported,
              codegen::built() ? "mode jit: libhone-jit.so is missing" : "mode jit: this build has no code generator",
              codegen::built() ? "install it beside the library, or use --mode graph"
                               : "configure with -DHONE_JIT=ON, or use --mode graph");
}

}  // namespace hone::cli
