#include "hone/compiler/passes.h"

namespace hone::compiler {

ir::Graph remove_dead(const ir::Graph& graph) { return ir::prune(graph); }

}  // namespace hone::compiler
