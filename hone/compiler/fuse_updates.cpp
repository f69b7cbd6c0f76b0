#include <fmt/format.h>

#include <map>
#include <set>

#include "hone/compiler/passes.h"
#include "hone/ops/dot_axes.h"
#include "hone/ops/table.h"

namespace hone::compiler {
namespace {

constexpr uint32_t kNone = ir::kNone;

bool is_update(const ir::Node& node) { return node.op == &ops::sgd_update || node.op == &ops::adam_update; }

// The product that makes the gradient of update `n` and that nobody else reads, or kNone.
uint32_t product_of(const ir::Graph& graph, const ir::Users& users, uint32_t n) {
  const ir::ValueId gradient = graph.operands(graph.nodes()[n])[1];
  const uint32_t producer = graph.producer(gradient);
  if (producer == kNone || users.outputs[gradient] > 0 || users.of(gradient).size() != 1) return kNone;
  const ir::Node& product = graph.nodes()[producer];
  if (product.op != &ops::dot_general) return kNone;
  const std::span<const ir::ValueId> factors = graph.operands(product);
  const bool outer =
      is_outer_product(graph.type(factors[0]).shape, graph.type(factors[1]).shape, product.attrs.as<DotAttrs>());
  return outer ? producer : kNone;
}

// Product and update as a program over the product's operands, then the update's but the gradient.
FusionAttrs body_of(const ir::Graph& graph, const ir::Node& product, const ir::Node& update) {
  ir::Builder body(graph.shared_context());
  const auto copy = [&](const ir::Node& node, ir::ValueId gradient) {
    SmallVector<ir::ValueId, 8> operands;
    for (const ir::ValueId operand : graph.operands(node)) {
      const bool made = operand == product.first_result;
      operands.push_back(made ? gradient : body.add_input(graph.type(operand), {}));
    }
    const uint32_t made = body.add(*node.op, node.attrs, {operands.data(), operands.size()}, node.results, node.origin);
    return body.graph().nodes()[made].first_result;
  };
  const ir::ValueId first = copy(update, copy(product, kNone));
  std::vector<ir::ValueId> results;
  for (uint32_t i = 0; i < update.results; ++i) results.push_back(first + i);
  return {{std::make_shared<ir::Graph>(body.finish(std::move(results)))}};
}

}  // namespace

ir::Graph fuse_updates(const ir::Graph& graph, std::vector<FusionDecision>* log) {
  const std::span<const ir::Node> nodes = graph.nodes();
  const ir::Users users(graph);
  struct Fused {
    uint32_t product;
    FusionAttrs attrs;
  };
  std::map<uint32_t, Fused> updates;  // by the update's node
  std::set<uint32_t> products;
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    const uint32_t product = is_update(nodes[n]) ? product_of(graph, users, n) : kNone;
    if (product == kNone) continue;
    FusionAttrs attrs = body_of(graph, nodes[product], nodes[n]);
    if (refuses_cluster(attrs)) continue;
    updates.emplace(n, Fused{product, std::move(attrs)});
    products.insert(product);
  }
  ir::Rewriter rewriter(graph);
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    const auto found = updates.find(n);
    if (found == updates.end()) {
      if (!products.contains(n)) rewriter.copy(nodes[n]);
      continue;
    }
    const ir::Node &product = nodes[found->second.product], &update = nodes[n];
    std::vector<ir::ValueId> operands;
    for (const ir::Node* node : {&product, &update}) {
      for (const ir::ValueId operand : graph.operands(*node)) {
        if (operand != product.first_result) operands.push_back(rewriter[operand]);
      }
    }
    const uint32_t made = rewriter.to().add(ops::fusion, found->second.attrs, operands, update.results,
                                            graph.context().merge(product.origin, update.origin));
    const ir::ValueId first = rewriter.to().graph().nodes()[made].first_result;
    for (uint32_t i = 0; i < update.results; ++i) rewriter.set(update.first_result + i, first + i);
    if (!log) continue;
    const TensorType& gradient = graph.type(product.first_result);
    log->push_back({fmt::format("{} + {} -> 1 kernel", product.op->name, update.op->name),
                    graph.origin(update).location(), 2,
                    2 * static_cast<double>(gradient.shape.count()) * static_cast<double>(size_of(gradient.dtype))});
  }
  return rewriter.finish();
}

}  // namespace hone::compiler
