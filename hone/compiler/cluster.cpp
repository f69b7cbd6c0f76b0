#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "hone/base/hash.h"
#include "hone/compiler/codegen.h"
#include "hone/compiler/passes.h"
#include "hone/compiler/row_space.h"
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
  Shape shape;                    // of values that are not per row
  int64_t length = 1;             // elements of a row; 1: nothing is reduced or repeated yet
  bool closed = false;            // a call outside reads a member: what joined later might depend on it
  uint32_t merged_into = kNone;
};

// Where an operand comes from, behind what only moves elements: each of the producer's stands `times` times in a row.
struct Source {
  uint32_t producer = kNone;
  int64_t times = 1;
  bool moved = false;
};

// Calls join clusters in program order, and only clusters that nobody else has read: so no way leads out of a cluster
// and back, and each can stand where its last member stood. Reshapes and broadcasts of a row's result are nobody: each
// reader has its own.
class Clusterer {
 public:
  Clusterer(const ir::Graph& graph, std::vector<FusionDecision>* log, uint64_t cut_seed)
      : graph_(graph),
        nodes_(graph.nodes()),
        users_(graph),
        log_(log),
        cut_seed_(cut_seed),
        of_node_(nodes_.size(), kNone),
        per_row_(nodes_.size()) {}

  ir::Graph run() {
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
      if (mappable(n)) place(n);
      if (repeats(graph_, nodes_[n]) > 0) continue;
      for (const ir::ValueId operand : graph_.operands(nodes_[n])) {
        const uint32_t c = cluster_of(source(operand).producer);
        if (c != kNone && c != cluster_of(n)) clusters_[c].closed = true;
      }
    }
    return emit();
  }

 private:
  bool mappable(uint32_t n) {
    const ir::Node& node = nodes_[n];
    if (node.results != 1) return false;
    const Shape& shape = graph_.type(node.first_result).shape;
    if (!shape.is_static() || shape.count() == 0) return false;
    const int64_t row = reduced_row(graph_, node);
    if (row > codegen::kMaxRow)
      note({&n, 1}, fmt::format("not fused: rows of {} elements, more than {}", row, codegen::kMaxRow), 0);
    return clusters(*node.op) || (row > 1 && row <= codegen::kMaxRow);
  }
  const Shape& shape_of(uint32_t n) const { return graph_.type(nodes_[n].first_result).shape; }

  Source source(ir::ValueId value) const {
    Source found;
    for (found.producer = graph_.producer(value); found.producer != kNone; found.moved = true) {
      const ir::Node& node = nodes_[found.producer];
      const int64_t times = repeats(graph_, node);
      if (times == 0) break;
      found.times *= times;
      found.producer = graph_.producer(graph_.operands(node)[0]);
    }
    return found;
  }

  uint32_t cluster_of(uint32_t n) {
    uint32_t c = n == kNone ? kNone : of_node_[n];
    if (c == kNone) return kNone;
    while (clusters_[c].merged_into != kNone) c = clusters_[c].merged_into;
    return of_node_[n] = c;
  }

  // What a cluster must become, so that a call may join it.
  struct Role {
    bool per_row = false;  // the call gives an element for each row
    Shape shape;
    int64_t length = 1;
  };
  // Null, or the role of call n as a reader of a member of c, which is not closed.
  std::optional<Role> role_in(const Cluster& c, const Source& from, uint32_t n) const {
    const int64_t row = reduced_row(graph_, nodes_[n]);
    const bool as_it_is = !from.moved && (c.length == 1 || per_row_[from.producer] == 0);
    if (row > 1) {
      if (!as_it_is || (c.length > 1 && c.length != row)) return {};
      return Role{true, c.shape, row};
    }
    if (as_it_is && c.shape == shape_of(n)) return Role{false, c.shape, c.length};
    if (c.length == 1) {  // its values would be rows' results
      if (from.times == 1 || c.shape.count() * from.times != shape_of(n).count()) return {};
      return Role{false, shape_of(n), from.times};
    }
    if (per_row_[from.producer] == 0) return {};
    if (from.times == 1) return Role{true, c.shape, c.length};
    if (from.times == c.length && c.shape == shape_of(n)) return Role{false, c.shape, c.length};
    return {};
  }
  // The role of a call in both clusters as one, `own` being what it is in the first.
  std::optional<Role> common(const Cluster& own, bool own_per_row, const Cluster& c, const Role& in_c) const {
    const bool own_plain = own.length == 1, c_plain = c.length == 1 && in_c.length == 1;
    if (c_plain && !own_plain) return Role{own_per_row, own.shape, own.length};
    if (own_plain) {
      if (c.length == 1 && in_c.length > 1) return {};  // rows only where something is reduced
      return in_c;
    }
    if (own.length != in_c.length || own_per_row != in_c.per_row || !(own.shape == in_c.shape)) return {};
    return in_c;
  }

  // Joins the clusters of its operands, or begins one.
  void place(uint32_t n) {
    uint32_t own = kNone;
    for (int again = 0; again < 2; ++again) {  // some operands can only join what others have made
      for (const ir::ValueId operand : graph_.operands(nodes_[n])) join(n, operand, own);
    }
    if (own != kNone) return;
    const int64_t row = reduced_row(graph_, nodes_[n]);
    per_row_[n] = row > 1 ? 1 : 0;
    of_node_[n] = static_cast<uint32_t>(clusters_.size());
    clusters_.push_back({.members = {n},
                         .shape = row > 1 ? graph_.type(graph_.operands(nodes_[n])[0]).shape : shape_of(n),
                         .length = std::max<int64_t>(row, 1)});
  }

  void join(uint32_t n, ir::ValueId operand, uint32_t& own) {
    const Source from = source(operand);
    const uint32_t c = cluster_of(from.producer);
    if (c == kNone || c == own || clusters_[c].closed) return;
    std::optional<Role> role = role_in(clusters_[c], from, n);
    if (!role) return;
    if (own == kNone && clusters_[c].length == 1 && role->length > 1 && !role->per_row) return;
    if (own != kNone) role = common(clusters_[own], per_row_[n] != 0, clusters_[c], *role);
    if (!role) return;
    if (cut_seed_ != 0 && hash_combine(hash_combine(cut_seed_, n), operand) % 2 == 0) return;
    const bool only_reader = users_.outputs[operand] == 0 && users_.of(operand).size() == 1;
    if (!only_reader && n - clusters_[c].members.back() > kNear) return;
    std::vector<uint32_t> members = clusters_[c].members;
    if (own == kNone) {
      members.push_back(n);
    } else {
      members.clear();
      std::ranges::merge(clusters_[own].members, clusters_[c].members, std::back_inserter(members));
    }
    if (members.size() > kMaxCalls || operands_of(members) > kMaxOperands) return;
    become(clusters_[c], *role);
    if (own == kNone) {
      of_node_[n] = own = c;
    } else {
      become(clusters_[own], *role);
      clusters_[c].members.clear();
      clusters_[c].merged_into = own;
    }
    clusters_[own].members = std::move(members);
    per_row_[n] = role->per_row ? 1 : 0;
  }

  // Values of the shape that rows have one element for each of become such.
  void become(Cluster& c, const Role& role) {
    const bool demoted = c.length == 1 && role.length > 1 && c.shape.count() != role.shape.count();
    if (demoted) {
      for (const uint32_t n : c.members) per_row_[n] = 1;
    }
    c.shape = role.shape, c.length = role.length;
  }

  bool inside(ir::ValueId value, std::span<const uint32_t> members) const {
    const uint32_t producer = source(value).producer;
    return producer != kNone && std::ranges::binary_search(members, producer);
  }

  size_t operands_of(std::span<const uint32_t> members) {
    SmallVector<ir::ValueId, 64> found;
    for (const uint32_t n : members) {
      for (const ir::ValueId operand : graph_.operands(nodes_[n])) {
        if (!inside(operand, members) && std::ranges::find(found, operand) == found.end()) found.push_back(operand);
      }
    }
    return found.size();
  }

  ir::Graph emit() {
    ir::Rewriter rewriter(graph_);
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
      const uint32_t c = cluster_of(n);
      if (c == kNone) {
        const bool waits =
            repeats(graph_, nodes_[n]) > 0 && cluster_of(source(nodes_[n].first_result).producer) != kNone;
        if (!waits) copy(n, rewriter);
      } else if (clusters_[c].members.back() == n) {
        emit_cluster(clusters_[c], rewriter);
      }
    }
    for (const ir::ValueId output : graph_.outputs()) (void)outer(output, rewriter);
    return rewriter.finish();
  }

  // A value outside clusters; what moves a member's elements is made where it is first read.
  ir::ValueId outer(ir::ValueId value, ir::Rewriter& rewriter) {
    if (rewriter[value] == kNone) copy(graph_.producer(value), rewriter);
    return rewriter[value];
  }
  void copy(uint32_t n, ir::Rewriter& rewriter) {
    for (const ir::ValueId operand : graph_.operands(nodes_[n])) (void)outer(operand, rewriter);
    rewriter.copy(nodes_[n]);
  }

  bool read_outside(ir::ValueId value, std::span<const uint32_t> members) const {
    if (users_.outputs[value] > 0) return true;
    return std::ranges::any_of(users_.of(value), [&](uint32_t user) {
      if (std::ranges::binary_search(members, user)) return false;
      return repeats(graph_, nodes_[user]) == 0 || read_outside(nodes_[user].first_result, members);
    });
  }

  // The calls as a program of their own.
  class Body {
   public:
    Body(Clusterer& owner, const Cluster& cluster, ir::Rewriter& rewriter)
        : owner_(owner), members_(cluster.members), rewriter_(rewriter), builder_(owner.graph_.shared_context()) {}

    ir::ValueId operator[](ir::ValueId value) {
      const auto found = std::ranges::find(inner_, value, &std::pair<ir::ValueId, ir::ValueId>::first);
      if (found != inner_.end()) return found->second;
      if (owner_.inside(value, members_)) return add(owner_.graph_.producer(value));
      const ir::ValueId made = builder_.add_input(owner_.graph_.type(value), {});
      operands.push_back(owner_.outer(value, rewriter_));
      inner_.emplace_back(value, made);
      return made;
    }
    ir::ValueId add(uint32_t n) {
      const ir::Node& node = owner_.nodes_[n];
      SmallVector<ir::ValueId, 4> mapped;
      for (const ir::ValueId operand : owner_.graph_.operands(node)) mapped.push_back((*this)[operand]);
      inner_.emplace_back(node.first_result,
                          builder_.add_one(*node.op, node.attrs, {mapped.data(), mapped.size()}, node.origin));
      return inner_.back().second;
    }
    ir::Graph finish(std::vector<ir::ValueId> outputs) { return builder_.finish(std::move(outputs)); }

    std::vector<ir::ValueId> operands;

   private:
    Clusterer& owner_;
    std::span<const uint32_t> members_;
    ir::Rewriter& rewriter_;
    ir::Builder builder_;
    std::vector<std::pair<ir::ValueId, ir::ValueId>> inner_;  // value of the graph, of the body; few
  };

  void emit_cluster(const Cluster& cluster, ir::Rewriter& rewriter) {
    if (cluster.members.size() < 2) {
      for (const uint32_t n : cluster.members) copy(n, rewriter);
      return;
    }
    Body body(*this, cluster, rewriter);
    uint32_t origin = 0;
    bool again = false;
    for (const uint32_t n : cluster.members) {
      body.add(n);
      origin = graph_.context().merge(origin, nodes_[n].origin);
      again = again || nodes_[n].again;
    }
    std::vector<ir::ValueId> results, outputs;
    double saved = 0;
    for (const uint32_t n : cluster.members) {
      const ir::ValueId value = nodes_[n].first_result;
      if (read_outside(value, cluster.members)) {
        results.push_back(value);
        outputs.push_back(body[value]);
      } else {
        saved += 2 * static_cast<double>(graph_.type(value).shape.count()) *
                 static_cast<double>(size_of(graph_.type(value).dtype));
      }
    }
    FusionAttrs attrs{{std::make_shared<ir::Graph>(body.finish(std::move(outputs)))}};
    if (const char* why = refuses_cluster(attrs)) {
      note(cluster.members, fmt::format("not fused: {}", why), 0);
      for (const uint32_t n : cluster.members) copy(n, rewriter);
      return;
    }
    const uint32_t made =
        rewriter.to().add(ops::fusion, attrs, body.operands, static_cast<uint32_t>(results.size()), origin, again);
    const ir::ValueId first = rewriter.to().graph().nodes()[made].first_result;
    for (size_t i = 0; i < results.size(); ++i) rewriter.set(results[i], first + static_cast<uint32_t>(i));
    note(cluster.members, {}, saved, cluster.length);
  }

  void note(std::span<const uint32_t> calls, const std::string& why, double saved, int64_t length = 1) {
    if (!log_) return;
    std::string names;
    for (const uint32_t n : calls) names += fmt::format("{}{}", names.empty() ? "" : " + ", nodes_[n].op->name);
    const std::string rows = length > 1 ? fmt::format(" over rows of {}", length) : "";
    log_->push_back({why.empty() ? names + " -> 1 kernel" + rows : names + ": " + why,
                     graph_.origin(nodes_[calls[0]]).location(), static_cast<int64_t>(calls.size()), saved});
  }

  const ir::Graph& graph_;
  std::span<const ir::Node> nodes_;
  const ir::Users users_;
  std::vector<FusionDecision>* log_;
  uint64_t cut_seed_;
  std::vector<Cluster> clusters_;
  std::vector<uint32_t> of_node_;
  std::vector<uint8_t> per_row_;  // by node, in its cluster
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
