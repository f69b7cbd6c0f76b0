#include "hone/function/lowered.h"

#include <fmt/format.h>

#include "hone/function/lowered_state.h"

namespace hone {

std::string Lowered::ir() const { return state_->trace->graph.name; }
std::string Lowered::memory() const { return {}; }
std::string Lowered::cost() const { return {}; }
std::string Lowered::fusion() const { return {}; }
std::string Lowered::json() const { return {}; }

}  // namespace hone
