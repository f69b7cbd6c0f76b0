// The loop of a cluster in LLVM IR.
#pragma once
#include "hone/compiler/codegen.h"

namespace llvm {
class Module;
}

namespace hone::jit {

/// Adds the function `name`, a codegen::MapFn, to the module: one loop over whole vectors, whose results are stored
/// after all operands have been read; where rows are reduced, what row_map.h says. False where a step's functor does
/// not take its type.
bool emit_map(const codegen::MapProgram& program, llvm::Module& module, const char* name);

}  // namespace hone::jit
