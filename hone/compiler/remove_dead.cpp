#include <algorithm>
#include <cstdint>
#include <optional>

#include "hone/compiler/passes.h"
#include "hone/ir/region.h"
#include "hone/ops/attrs.h"
#include "hone/ops/table.h"

namespace hone::compiler {
namespace {

using Places = std::vector<uint32_t>;  // numbers of operands or results that stay, ascending

// A call with programs, without operands that those do not read and results that nobody reads.
struct Trimmed {
  Attrs attrs;
  Places operands, results;
};

Places true_ones(const std::vector<bool>& flags) {
  Places places;
  for (uint32_t i = 0; i < flags.size(); ++i) {
    if (flags[i]) places.push_back(i);
  }
  return places;
}

ir::Graph giving(const ir::Graph& program, const std::vector<bool>& results) {
  std::vector<ir::ValueId> values;
  for (const uint32_t i : true_ones(results)) values.push_back(program.outputs()[i]);
  return remove_dead(ir::with_results(program, values));
}

std::vector<bool> read_inputs(const ir::Graph& program) {
  const ir::Users users(program);
  std::vector<bool> read;
  for (const ir::Input& input : program.inputs())
    read.push_back(!users.of(input.value).empty() || users.outputs[input.value] > 0);
  return read;
}

std::shared_ptr<const Region> taking(const ir::Graph& program, const Places& inputs) {
  std::vector<TensorType> types;
  std::vector<size_t> place(program.inputs().size(), SIZE_MAX);
  for (const uint32_t i : inputs) {
    place[i] = types.size();
    types.push_back(program.type(program.inputs()[i].value));
  }
  return std::make_shared<ir::Graph>(ir::with_inputs(program, types, place));
}

Trimmed trimmed_if(const BranchAttrs& attrs, const std::vector<bool>& results, size_t operands) {
  std::vector<ir::Graph> branches;
  std::vector<bool> read(operands);
  read[0] = true;
  for (const auto& branch : attrs.branches) {
    branches.push_back(giving(ir::graph_of(branch), results));
    const std::vector<bool> here = read_inputs(branches.back());
    for (size_t i = 0; i < here.size(); ++i) read[i + 1] = read[i + 1] || here[i];
  }
  BranchAttrs own;
  const Places kept = true_ones(read);
  Places inputs;
  for (const uint32_t place : kept) {
    if (place > 0) inputs.push_back(place - 1);
  }
  for (const ir::Graph& branch : branches) own.branches.push_back(taking(branch, inputs));
  return {Attrs(own), kept, true_ones(results)};
}

Trimmed trimmed_scan(const ScanAttrs& attrs, std::vector<bool> results) {
  const ir::Graph& body = ir::graph_of(attrs.body[0]);
  const auto carries = static_cast<size_t>(attrs.carries), rows = static_cast<size_t>(attrs.xs);
  for (;;) {  // a carry that is read is carried on
    const ir::Graph program = giving(body, results);
    std::vector<bool> read = read_inputs(program), before = results;
    for (size_t i = 0; i < carries; ++i) read[i] = results[i] = results[i] || read[i];
    if (results != before) continue;
    ScanAttrs own = attrs;
    own.carries = std::count(read.begin(), read.begin() + static_cast<ptrdiff_t>(carries), true);
    own.xs = std::count(read.begin() + static_cast<ptrdiff_t>(carries),
                        read.begin() + static_cast<ptrdiff_t>(carries + rows), true);
    const Places inputs = true_ones(read);
    own.body = {taking(program, inputs)};
    return {Attrs(own), inputs, true_ones(results)};
  }
}

// Nothing where all is needed.
std::optional<Trimmed> trimmed(const ir::Node& node, const std::vector<bool>& results) {
  std::optional<Trimmed> found;
  if (node.op == &ops::if_) found = trimmed_if(node.attrs.as<BranchAttrs>(), results, node.operands);
  if (node.op == &ops::scan) found = trimmed_scan(node.attrs.as<ScanAttrs>(), results);
  if (found && found->operands.size() == node.operands && found->results.size() == node.results) found.reset();
  return found;
}

}  // namespace

ir::Graph remove_dead(const ir::Graph& graph) {
  const std::span<const ir::Node> nodes = graph.nodes();
  std::vector<bool> read(graph.values()), kept(nodes.size());
  std::vector<std::optional<Trimmed>> smaller(nodes.size());
  for (const ir::ValueId output : graph.outputs()) read[output] = true;
  for (size_t n = nodes.size(); n-- > 0;) {
    const ir::Node& node = nodes[n];
    const auto first = read.begin() + node.first_result;
    const std::vector<bool> results(first, first + node.results);
    kept[n] = ir::has_effect(node) || std::ranges::find(results, true) != results.end();
    if (!kept[n]) continue;
    smaller[n] = trimmed(node, results);
    for (uint32_t i = 0; i < node.operands; ++i) {
      if (!smaller[n] || std::ranges::binary_search(smaller[n]->operands, i)) read[graph.operands(node)[i]] = true;
    }
  }
  ir::Rewriter rewriter(graph);
  for (size_t n = 0; n < nodes.size(); ++n) {
    const ir::Node& node = nodes[n];
    if (!kept[n]) continue;
    if (!smaller[n]) {
      rewriter.copy(node);
      continue;
    }
    const Trimmed& now = *smaller[n];
    std::vector<ir::ValueId> operands;
    for (const uint32_t i : now.operands) operands.push_back(rewriter[graph.operands(node)[i]]);
    const uint32_t made = rewriter.to().add(*node.op, now.attrs, operands, static_cast<uint32_t>(now.results.size()),
                                            node.origin, node.again);
    for (uint32_t i = 0; i < now.results.size(); ++i)
      rewriter.set(node.first_result + now.results[i], rewriter.to().graph().nodes()[made].first_result + i);
  }
  return rewriter.finish();
}

}  // namespace hone::compiler
