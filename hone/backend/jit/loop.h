// A loop over small tensors in LLVM IR.
#pragma once
#include "hone/compiler/codegen.h"

namespace llvm {
class Module;
}

namespace hone::jit {

/// Adds the function `name`, a codegen::LoopFn, to the module: carries and what stays the same live in registers. False
/// where a step's functor does not take its type.
bool emit_loop(const codegen::LoopProgram& program, llvm::Module& module, const char* name);

}  // namespace hone::jit
