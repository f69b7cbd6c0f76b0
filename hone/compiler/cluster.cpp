#include <fmt/format.h>

#include <algorithm>

#include "hone/base/hash.h"
#include "hone/compiler/passes.h"
#include "hone/ir/region.h"
#include "hone/ops/attrs.h"
#include "hone/ops/kernel.h"
#include "hone/ops/table.h"
#include "hone/tensor/interpreter.h"

namespace hone::compiler {
namespace {

constexpr uint32_t kNone = ir::kNone;
constexpr size_t kMaxCalls = 64, kMaxOperands = 32;
constexpr uint32_t kNear = 64;  // calls between two that are worth one kernel though the first has other readers

struct Cluster {
  std::vector<uint32_t> members;  // ascending
  bool closed = false;            // a call outside reads a member: what joined later might depend on it
  uint32_t merged_into = kNone;
};

// Calls join clusters in program order, and only clusters that nobody else has read: so no way leads out of a cluster
// and back, and each can stand where its last member stood.
class Clusterer {
 public:
  Clusterer(const ir::Graph& graph, std::vector<FusionDecision>* log, uint64_t cut_seed)
      : graph_(graph),
        nodes_(graph.nodes()),
        users_(graph),
        log_(log),
        cut_seed_(cut_seed),
        of_node_(nodes_.size(), kNone) {}

  ir::Graph run() {
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
      if (mappable(nodes_[n])) place(n);
      for (const ir::ValueId operand : graph_.operands(nodes_[n])) {
        const uint32_t producer = graph_.producer(operand);
        const uint32_t c = producer == kNone ? kNone : cluster_of(producer);
        if (c != kNone && c != cluster_of(n)) clusters_[c].closed = true;
      }
    }
    return emit();
  }

 private:
  bool mappable(const ir::Node& node) const {
    if (node.results != 1 || !clusters(*node.op)) return false;
    const Shape& shape = graph_.type(node.first_result).shape;
    return shape.is_static() && shape.count() > 0;
  }
  const Shape& shape_of(uint32_t n) const { return graph_.type(nodes_[n].first_result).shape; }

  uint32_t cluster_of(uint32_t n) {
    uint32_t c = of_node_[n];
    if (c == kNone) return kNone;
    while (clusters_[c].merged_into != kNone) c = clusters_[c].merged_into;
    return of_node_[n] = c;
  }

  // Joins the clusters of its operands, or begins one.
  void place(uint32_t n) {
    uint32_t own = kNone;
    for (const ir::ValueId operand : graph_.operands(nodes_[n])) {
      const uint32_t producer = graph_.producer(operand);
      const uint32_t c = producer == kNone ? kNone : cluster_of(producer);
      if (c == kNone || c == own || clusters_[c].closed || !(shape_of(producer) == shape_of(n))) continue;
      if (cut_seed_ != 0 && hash_combine(hash_combine(cut_seed_, n), operand) % 2 == 0) continue;
      const bool only_reader = users_.outputs[operand] == 0 && users_.of(operand).size() == 1;
      if (!only_reader && n - clusters_[c].members.back() > kNear) continue;
      std::vector<uint32_t> members = clusters_[c].members;
      if (own == kNone) {
        members.push_back(n);
      } else {
        members.clear();
        std::ranges::merge(clusters_[own].members, clusters_[c].members, std::back_inserter(members));
      }
      if (members.size() > kMaxCalls || operands_of(members) > kMaxOperands) continue;
      if (own == kNone) {
        of_node_[n] = own = c;
      } else {
        clusters_[c].members.clear();
        clusters_[c].merged_into = own;
      }
      clusters_[own].members = std::move(members);
    }
    if (own != kNone) return;
    of_node_[n] = static_cast<uint32_t>(clusters_.size());
    clusters_.push_back({.members = {n}});
  }

  size_t operands_of(std::span<const uint32_t> members) {
    SmallVector<ir::ValueId, 64> found;
    for (const uint32_t n : members) {
      for (const ir::ValueId operand : graph_.operands(nodes_[n])) {
        const uint32_t producer = graph_.producer(operand);
        if (producer != kNone && std::ranges::binary_search(members, producer)) continue;
        if (std::ranges::find(found, operand) == found.end()) found.push_back(operand);
      }
    }
    return found.size();
  }

  ir::Graph emit() {
    ir::Rewriter rewriter(graph_);
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
      const uint32_t c = cluster_of(n);
      if (c == kNone)
        rewriter.copy(nodes_[n]);
      else if (clusters_[c].members.back() == n)
        emit_cluster(clusters_[c], rewriter);
    }
    return rewriter.finish();
  }

  void emit_cluster(const Cluster& cluster, ir::Rewriter& rewriter) {
    if (cluster.members.size() < 2) {
      for (const uint32_t n : cluster.members) rewriter.copy(nodes_[n]);
      return;
    }
    ir::Builder body(graph_.shared_context());
    std::vector<ir::ValueId> operands, inner_of_operand, results;
    std::vector<std::pair<ir::ValueId, ir::ValueId>> inner;  // value of the graph, of the body; few
    uint32_t origin = 0;
    bool again = false;
    const auto inside = [&](ir::ValueId value) {
      const auto found = std::ranges::find(inner, value, &std::pair<ir::ValueId, ir::ValueId>::first);
      if (found != inner.end()) return found->second;
      const ir::ValueId made = body.add_input(graph_.type(value), {});
      operands.push_back(rewriter[value]);
      inner.emplace_back(value, made);
      return made;
    };
    for (const uint32_t n : cluster.members) {
      SmallVector<ir::ValueId, 4> mapped;
      for (const ir::ValueId operand : graph_.operands(nodes_[n])) mapped.push_back(inside(operand));
      const uint32_t node =
          body.add(*nodes_[n].op, nodes_[n].attrs, {mapped.data(), mapped.size()}, 1, nodes_[n].origin);
      inner.emplace_back(nodes_[n].first_result, body.graph().nodes()[node].first_result);
      origin = graph_.context().merge(origin, nodes_[n].origin);
      again = again || nodes_[n].again;
    }
    std::vector<ir::ValueId> outputs;
    double saved = 0;
    for (const uint32_t n : cluster.members) {
      const ir::ValueId value = nodes_[n].first_result;
      bool outside = users_.outputs[value] > 0;
      for (const uint32_t user : users_.of(value))
        outside = outside || !std::ranges::binary_search(cluster.members, user);
      if (outside) {
        results.push_back(value);
        outputs.push_back(inside(value));
      } else {
        saved += 2 * static_cast<double>(graph_.type(value).shape.count()) *
                 static_cast<double>(size_of(graph_.type(value).dtype));
      }
    }
    FusionAttrs attrs{{std::make_shared<ir::Graph>(body.finish(std::move(outputs)))}};
    if (const char* why = refuses_cluster(attrs)) {
      note(cluster, fmt::format("not fused: {}", why), 0);
      for (const uint32_t n : cluster.members) rewriter.copy(nodes_[n]);
      return;
    }
    const uint32_t made =
        rewriter.to().add(ops::fusion, attrs, operands, static_cast<uint32_t>(results.size()), origin, again);
    const ir::ValueId first = rewriter.to().graph().nodes()[made].first_result;
    for (size_t i = 0; i < results.size(); ++i) rewriter.set(results[i], first + static_cast<uint32_t>(i));
    note(cluster, {}, saved);
  }

  void note(const Cluster& cluster, std::string why, double saved) {
    if (!log_) return;
    std::string names;
    for (const uint32_t n : cluster.members)
      names += fmt::format("{}{}", names.empty() ? "" : " + ", nodes_[n].op->name);
    log_->push_back({why.empty() ? names + " -> 1 kernel" : names + ": " + why,
                     graph_.origin(nodes_[cluster.members[0]]).location(), static_cast<int64_t>(cluster.members.size()),
                     saved});
  }

  const ir::Graph& graph_;
  std::span<const ir::Node> nodes_;
  const ir::Users users_;
  std::vector<FusionDecision>* log_;
  uint64_t cut_seed_;
  std::vector<Cluster> clusters_;
  std::vector<uint32_t> of_node_;
};

}  // namespace

bool clusters(const Op& op) { return op.elementwise >= 0 || &op == &ops::convert; }

const char* refuses_cluster(const FusionAttrs& attrs) {
  const ir::Graph& body = ir::graph_of(attrs.body[0]);
  SmallVector<TensorType, 4> types;
  for (const ir::ValueId output : body.outputs()) types.push_back(body.type(output));
  const KernelQuery query{ops::fusion, attrs, {}, {types.data(), types.size()}};
  const char* why = "no kernel runs clusters";
  for (const Kernel& kernel : kernels(ops::fusion)) {
    why = kernel.refuses ? kernel.refuses(query) : nullptr;
    if (!why) break;
  }
  return why;
}

ir::Graph cluster(const ir::Graph& graph, std::vector<FusionDecision>* log, uint64_t cut_seed) {
  return Clusterer(graph, log, cut_seed).run();
}

}  // namespace hone::compiler
