// Objects compiled ahead of time.
#pragma once
#include "hone/compiler/codegen.h"

namespace hone::jit {

/// Generator::compile_object.
bool compile_object(const codegen::ObjectProgram& program, const codegen::TextSink& sink);

}  // namespace hone::jit
