#include <unordered_map>

#include "hone/compiler/passes.h"
#include "hone/compiler/plan.h"
#include "hone/ops/attrs.h"
#include "hone/ops/kernel.h"
#include "hone/ops/table.h"

namespace hone::compiler {
namespace {

// A product whose kernel would transpose the right matrix.
bool transposes(const ir::Graph& graph, const ir::Node& node) {
  if (node.op != &ops::dot_general || graph.type(graph.operands(node)[1]).shape.rank() != 2) return false;
  const Kernel* kernel = service_of(graph, node).kernel;
  return kernel && kernel->transposes == 1;
}

}  // namespace

ir::Graph share_transposes(const ir::Graph& graph) {
  std::vector<bool> copies(graph.nodes().size());
  std::unordered_map<ir::ValueId, int> times;
  for (size_t n = 0; n < copies.size(); ++n) {
    copies[n] = transposes(graph, graph.nodes()[n]);
    if (copies[n]) ++times[graph.operands(graph.nodes()[n])[1]];
  }
  ir::Rewriter rewriter(graph);
  for (size_t n = 0; n < copies.size(); ++n) {
    const ir::Node& node = graph.nodes()[n];
    if (!copies[n] || times[graph.operands(node)[1]] < 2) {
      rewriter.copy(node);
      continue;
    }
    SmallVector<ir::ValueId, 8> operands = rewriter.operands(node);
    operands[1] = rewriter.to().add_one(ops::transpose, TransposeAttrs{{1, 0}}, {&operands[1], 1}, node.origin);
    DotAttrs attrs = node.attrs.as<DotAttrs>();
    attrs.rhs_contract[0] = 1 - attrs.rhs_contract[0];
    rewriter.set(node.first_result,
                 rewriter.to().add_one(ops::dot_general, attrs, {operands.data(), operands.size()}, node.origin));
  }
  return rewriter.finish();
}

}  // namespace hone::compiler
