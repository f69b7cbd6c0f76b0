#include "hone/compiler/passes.h"

namespace hone::compiler {

ir::Graph remove_dead(const ir::Graph& graph) {
  const std::span<const ir::Node> nodes = graph.nodes();
  std::vector<bool> needed(graph.values());
  for (const ir::ValueId output : graph.outputs()) needed[output] = true;
  std::vector<bool> kept(nodes.size());
  for (size_t n = nodes.size(); n-- > 0;) {
    bool keep = ir::has_effect(nodes[n]);
    for (uint32_t i = 0; i < nodes[n].results; ++i) keep = keep || needed[nodes[n].first_result + i];
    kept[n] = keep;
    if (!keep) continue;
    for (const ir::ValueId operand : graph.operands(nodes[n])) needed[operand] = true;
  }
  ir::Rewriter rewriter(graph);
  for (size_t n = 0; n < nodes.size(); ++n) {
    if (kept[n]) rewriter.copy(nodes[n]);
  }
  return rewriter.finish();
}

}  // namespace hone::compiler
