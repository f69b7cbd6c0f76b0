// The evaluating interpreter: the last word in eager mode.
#pragma once
#include "hone/tensor/interpreter.h"

namespace hone {

/// Infers the result types, then takes the first that serves: the op's view, its kernel list in order, its
/// decomposition. Error kUnsupported where none does, with each kernel's reason.
void evaluate(Call& call);

}  // namespace hone
