// The loops of a cluster that reduces rows, in LLVM IR.
#pragma once
#include "hone/compiler/codegen.h"

namespace llvm {
class Function;
}

namespace hone::jit {

/// Fills a codegen::MapFn with a loop over rows and, in it, one loop for each phase, over vectors of `lanes`. False
/// where a step's functor does not take its type.
bool emit_row_map(const codegen::MapProgram& program, llvm::Function& function, int lanes);

}  // namespace hone::jit
