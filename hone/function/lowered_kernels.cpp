// Who computes what in a plan, and why others do not.
#include <fmt/format.h>

#include <algorithm>

#include "hone/function/lowered_state.h"
#include "hone/ops/kernel.h"

namespace hone {

std::vector<KernelUse> kernel_uses(const compiler::Plan& plan) {
  std::vector<KernelUse> uses;
  for (const compiler::Step& step : plan.steps) {
    if (step.kind != compiler::Step::Call) continue;
    const ir::Node& node = plan.graph.nodes()[step.node];
    SmallVector<Tensor, 8> inputs;
    SmallVector<TensorType, 4> outputs;
    for (const ir::ValueId operand : plan.graph.operands(node))
      inputs.push_back(compiler::placeholder(plan.graph.type(operand)));
    for (uint32_t i = 0; i < node.results; ++i) outputs.push_back(plan.graph.type(node.first_result + i));
    const KernelQuery query{*node.op, node.attrs, {inputs.data(), inputs.size()}, {outputs.data(), outputs.size()}};
    KernelUse use{std::string(node.op->name), step.kernel->name, 1, {}};
    for (const Kernel& kernel : kernels(*node.op)) {
      if (&kernel == step.kernel) break;
      const char* why = kernel.refuses ? kernel.refuses(query) : nullptr;
      use.refused.push_back(fmt::format("{}: {}", kernel.name, why ? why : "would take it"));
    }
    const auto same = std::ranges::find_if(uses, [&](const KernelUse& other) {
      return other.op == use.op && other.kernel == use.kernel && other.refused == use.refused;
    });
    if (same == uses.end())
      uses.push_back(std::move(use));
    else
      ++same->calls;
  }
  return uses;
}

}  // namespace hone
