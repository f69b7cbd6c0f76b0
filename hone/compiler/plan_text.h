// A plan as text, for HONE_DUMP.
#pragma once
#include <string>

#include "hone/compiler/passes.h"
#include "hone/compiler/plan.h"

namespace hone::compiler {

/// Each step in order: op, kernel, where it writes and reads, the user's line.
std::string plan_text(const Plan& plan);
/// Arena and lower bound, and the places in the arena by size: offset, steps, who writes them.
std::string memory_text(const Plan& plan);
/// Which calls became one kernel, and which did not.
std::string fusion_text(std::span<const FusionDecision> decisions);

}  // namespace hone::compiler
