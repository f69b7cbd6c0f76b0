#include <algorithm>

#include "hone/compiler/passes.h"
#include "hone/compiler/plan.h"
#include "hone/ir/recorder.h"

namespace hone::compiler {
namespace {

ir::Graph decompose_once(const ir::Graph& graph, const ServedFn& served, bool& changed) {
  ir::Recorder recorder(graph.shared_context());
  std::vector<Tensor> values(graph.values());
  for (const ir::Input& input : graph.inputs())
    values[input.value] = recorder.add_input(graph.type(input.value), input, {});
  const InterpreterScope none(nullptr);
  recorder.push();
  for (const ir::Node& node : graph.nodes()) {
    SmallVector<Tensor, 8> inputs;
    for (const ir::ValueId operand : graph.operands(node)) inputs.push_back(values[operand]);
    Call call{*node.op,
              node.attrs,
              {inputs.data(), inputs.size()},
              {values.data() + node.first_result, node.results},
              graph.origin(node).location()};
    if (!node.op->decompose || served(graph, node)) {
      SmallVector<ir::ValueId, 8> operands;
      for (const Tensor& input : inputs) operands.push_back(recorder.value_of(input, call.location));
      const uint32_t made =
          recorder.builder().add(*node.op, node.attrs, {operands.data(), operands.size()}, node.results, node.origin);
      for (uint32_t i = 0; i < node.results; ++i)
        call.outputs[i] = recorder.tensor_for(recorder.builder().graph().nodes()[made].first_result + i, call.location);
    } else {
      hone::decompose(call);
      changed = true;
    }
  }
  recorder.remove();
  std::vector<ir::ValueId> outputs;
  for (const ir::ValueId output : graph.outputs()) outputs.push_back(recorder.value_of(values[output], {}));
  ir::Graph result = recorder.builder().finish(std::move(outputs));
  result.name = graph.name;
  return result;
}

}  // namespace

ir::Graph decompose(const ir::Graph& graph, bool objects) {
  return decompose_unserved(
      graph, [objects](const ir::Graph& g, const ir::Node& node) { return service_of(g, node, objects).served; });
}

ir::Graph decompose_unserved(const ir::Graph& graph, const ServedFn& served) {
  bool changed = false;
  ir::Graph result = decompose_once(graph, served, changed);
  while (changed) {
    changed = false;
    result = decompose_once(result, served, changed);
  }
  return result;
}

}  // namespace hone::compiler
