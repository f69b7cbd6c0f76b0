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
  uint32_t at = 0;                // where it stands: its last member but for those that stand earlier than they did
  Shape shape;                    // of values that are not per row
  int64_t length = 1;             // elements of a row; 1: nothing is reduced or repeated yet
  ReduceStep fold{1, 0, 1};       // of results that are folded after the loop; extent 0: none
  bool closed = false;            // a call outside reads a member: what joined later might depend on it
  uint32_t merged_into = kNone;
};

enum Form : uint8_t { kElements, kPerRow, kFolded };  // of a member's result

bool folds_all(const ReduceStep& fold) { return fold.extent > 0 && !of_columns(fold); }

// Where an operand comes from, behind what only moves elements: each of the producer's stands `times` times in a row.
struct Source {
  uint32_t producer = kNone;
  int64_t times = 1;
  bool moved = false;
};

// Calls join clusters in program order, and only clusters that nobody else has read: so no way leads out of a cluster
// and back, and each can stand where its last member stood. A reduction may join later, if all that it reads is there
// where the cluster stands: what it reads need not be kept then. Reshapes and broadcasts of a row's result are nobody:
// each reader has its own.
class Clusterer {
 public:
  Clusterer(const ir::Graph& graph, std::vector<FusionDecision>* log, uint64_t cut_seed)
      : graph_(graph),
        nodes_(graph.nodes()),
        users_(graph),
        log_(log),
        cut_seed_(cut_seed),
        of_node_(nodes_.size(), kNone),
        form_(nodes_.size()),
        reader_(graph.values(), kNone) {}

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
    if (folded(graph_, node).extent > 0) return true;
    if (const int64_t columns = reduced_columns(graph_, node); columns > 1 && clusterable(graph_.operands(node)[0]))
      note({&n, 1},
           columns < kMinColumns
               ? fmt::format("not fused: {} columns, fewer than {}, for which the kernel of reductions is faster",
                             columns, kMinColumns)
               : fmt::format("not fused: {} columns, more than {}", columns, codegen::kMaxRow),
           0);
    const int64_t row = reduced_row(graph_, node);
    if (row > codegen::kMaxRow)
      note({&n, 1}, fmt::format("not fused: rows of {} elements, more than {}", row, codegen::kMaxRow), 0);
    return clusters(*node.op) || (row > 1 && row <= codegen::kMaxRow);
  }
  bool clusterable(ir::ValueId value) { return cluster_of(source(value).producer) != kNone; }
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
    Form form = kElements;  // of the call's result
    Shape shape;
    int64_t length = 1;
    ReduceStep fold{1, 0, 1};
  };
  // Null, or the role of call n as a reader of a member of c, which is not closed.
  std::optional<Role> role_in(const Cluster& c, const Source& from, uint32_t n) const {
    const Form read = form_[from.producer];
    if (read == kFolded) return {};
    if (const ReduceStep fold = folded(graph_, nodes_[n]); fold.extent > 0) {
      if (read == kPerRow || from.times > 1) return {};
      return folding(c, fold);
    }
    const int64_t row = reduced_row(graph_, nodes_[n]);
    const bool as_it_is = !from.moved && read == kElements;
    if (row > 1) {
      if (!as_it_is || folds_all(c.fold) || (c.length > 1 && c.length != row)) return {};
      return Role{kPerRow, c.shape, row, c.fold};
    }
    if (as_it_is && c.shape == shape_of(n)) return Role{kElements, c.shape, c.length, c.fold};
    if (folds_all(c.fold)) return {};
    if (c.length == 1) {  // its values would be rows' results
      if (from.times == 1 || c.shape.count() * from.times != shape_of(n).count()) return {};
      return Role{kElements, shape_of(n), from.times};
    }
    if (read == kElements) return {};
    if (from.times == 1) return Role{kPerRow, c.shape, c.length, c.fold};
    if (from.times == c.length && c.shape == shape_of(n)) return Role{kElements, c.shape, c.length, c.fold};
    return {};
  }
  // The role of a reduction that is folded, of elements of c.
  static std::optional<Role> folding(const Cluster& c, const ReduceStep& fold) {
    const int64_t length = of_columns(fold) ? fold.inner : math::kReduceBlock;
    if (c.fold.extent > 0 ? !(c.fold == fold) : c.length > 1 && (folds_all(fold) || c.length != length)) return {};
    return Role{kFolded, c.shape, length, fold};
  }
  // The role of a call in both clusters as one, `own` being what it is in the first.
  static std::optional<Role> common(const Cluster& own, Form own_form, const Cluster& c, const Role& in_c) {
    const bool own_plain = own.length == 1, c_plain = c.length == 1 && in_c.length == 1;
    if (c_plain && !own_plain) return Role{own_form, own.shape, own.length, own.fold};
    if (own_plain) {
      if (c.length == 1 && in_c.length > 1) return {};  // rows only where something is reduced
      return in_c;
    }
    if (own.length != in_c.length || own_form != in_c.form || !(own.shape == in_c.shape)) return {};
    if (folds_all(own.fold) != folds_all(in_c.fold)) return {};
    if (own.fold.extent > 0 && in_c.fold.extent > 0 && !(own.fold == in_c.fold)) return {};
    Role both = in_c;
    if (own.fold.extent > 0) both.fold = own.fold;
    return both;
  }

  // Joins the clusters of its operands, or begins one.
  void place(uint32_t n) {
    uint32_t own = kNone;
    for (int again = 0; again < 2; ++again) {  // some operands can only join what others have made
      for (const ir::ValueId operand : graph_.operands(nodes_[n])) join(n, operand, own);
    }
    for (const ir::ValueId operand : graph_.operands(nodes_[n])) join_sibling(n, operand, own);
    for (const ir::ValueId operand : graph_.operands(nodes_[n])) reader_[operand] = n;
    if (own != kNone) return;
    of_node_[n] = static_cast<uint32_t>(clusters_.size());
    Cluster& made = clusters_.emplace_back(Cluster{.members = {n}, .at = n, .shape = shape_of(n)});
    if (const int64_t row = reduced_row(graph_, nodes_[n]); reduce_kind(*nodes_[n].op) >= 0) {
      made.shape = graph_.type(graph_.operands(nodes_[n])[0]).shape;
      const ReduceStep fold = folded(graph_, nodes_[n]);
      become(made, fold.extent > 0 ? *folding(made, fold) : Role{kPerRow, made.shape, row});
      form_[n] = fold.extent > 0 ? kFolded : kPerRow;
    }
  }

  void join(uint32_t n, ir::ValueId operand, uint32_t& own) {
    const Source from = source(operand);
    const uint32_t c = cluster_of(from.producer);
    if (c == kNone || c == own || !open_to(n, c, own)) return;
    std::optional<Role> role = role_in(clusters_[c], from, n);
    if (!role) return;
    if (own == kNone && clusters_[c].length == 1 && role->length > 1 && role->form == kElements) return;
    const bool only_reader = users_.outputs[operand] == 0 && users_.of(operand).size() == 1;
    unite(n, operand, c, *role, only_reader, own);
  }

  // A cluster that reads the same elements and that nobody has read: one loop reads them once.
  void join_sibling(uint32_t n, ir::ValueId operand, uint32_t& own) {
    const uint32_t c = cluster_of(reader_[operand]);
    if (c == kNone || c == own || !open_to(n, c, own) || reads(n, c, false)) return;
    const Cluster& other = clusters_[c];
    if (graph_.type(operand).shape.count() != other.shape.count()) return;
    std::optional<Role> role;
    if (const ReduceStep fold = folded(graph_, nodes_[n]); fold.extent > 0) {
      role = folding(other, fold);
    } else if (const int64_t row = reduced_row(graph_, nodes_[n]); row > 1) {
      const bool fits = other.shape == graph_.type(operand).shape && !folds_all(other.fold) &&
                        (other.length == 1 || other.length == row);
      if (fits) role = Role{kPerRow, other.shape, row, other.fold};
    } else if (other.shape == shape_of(n)) {
      role = Role{kElements, other.shape, other.length, other.fold};
    }
    if (role) unite(n, operand, c, *role, false, own);
  }

  bool open_to(uint32_t n, uint32_t c, uint32_t own) {
    if (own != kNone && clusters_[own].closed) return false;
    return !clusters_[c].closed || (own == kNone && reduce_kind(*nodes_[n].op) >= 0 && can_stand_at(n, c));
  }
  // Whether what n reads is in c or stands before it.
  bool can_stand_at(uint32_t n, uint32_t c) {
    return std::ranges::all_of(graph_.operands(nodes_[n]), [&](ir::ValueId operand) {
      const uint32_t producer = source(operand).producer, other = cluster_of(producer);
      if (producer == kNone || other == c) return true;
      return (other == kNone ? producer : clusters_[other].at) < clusters_[c].at;
    });
  }

  // Whether n reads a member of c, or one that is folded.
  bool reads(uint32_t n, uint32_t c, bool fold) {
    return std::ranges::any_of(graph_.operands(nodes_[n]), [&](ir::ValueId operand) {
      const uint32_t producer = source(operand).producer;
      return cluster_of(producer) == c && (!fold || form_[producer] == kFolded);
    });
  }

  // Makes n, or its own cluster, part of cluster c, where it has this role.
  void unite(uint32_t n, ir::ValueId operand, uint32_t c, const Role& in_c, bool far, uint32_t& own) {
    const std::optional<Role> role = own == kNone ? in_c : common(clusters_[own], form_[n], clusters_[c], in_c);
    if (!role || reads(n, c, true)) return;
    if (cut_seed_ != 0 && hash_combine(hash_combine(cut_seed_, n), operand) % 2 == 0) return;
    if (!far && n - clusters_[c].at > kNear) return;
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
    if (!clusters_[own].closed) clusters_[own].at = n;
    form_[n] = role->form;
  }

  // Values of the shape that rows have one element for each of become such.
  void become(Cluster& c, const Role& role) {
    const bool demoted = c.length == 1 && role.length > 1 && c.shape.count() != role.shape.count();
    if (demoted) {
      for (const uint32_t n : c.members) form_[n] = kPerRow;
    }
    c.shape = role.shape, c.length = role.length, c.fold = role.fold;
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
      } else if (clusters_[c].at == n) {
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

  double bytes_of(ir::ValueId value) const {
    const TensorType& type = graph_.type(value);
    return static_cast<double>(type.shape.count()) * static_cast<double>(size_of(type.dtype));
  }
  // Bytes of operands that several calls read, but for the first time; what is repeated by a broadcast does not count.
  double read_once(std::span<const uint32_t> members) const {
    std::vector<ir::ValueId> seen;
    double bytes = 0;
    for (const uint32_t n : members) {
      const size_t before = seen.size();
      for (const ir::ValueId operand : graph_.operands(nodes_[n])) {
        const uint32_t producer = graph_.producer(operand);
        if (inside(operand, members) || (producer != kNone && nodes_[producer].op == &ops::broadcast_in_dim)) continue;
        const auto by_others = std::span(seen).first(before);
        if (std::ranges::find(by_others, operand) != by_others.end()) bytes += bytes_of(operand);
        if (std::ranges::find(seen, operand) == seen.end()) seen.push_back(operand);
      }
    }
    return bytes;
  }

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
    double saved = read_once(cluster.members);
    for (const uint32_t n : cluster.members) {
      const ir::ValueId value = nodes_[n].first_result;
      if (read_outside(value, cluster.members)) {
        results.push_back(value);
        outputs.push_back(body[value]);
      } else {
        saved += 2 * bytes_of(value);
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
    note(cluster.members, {}, saved, &cluster);
  }

  static std::string space_of(const Cluster& cluster) {
    if (folds_all(cluster.fold)) return fmt::format(" over all {} elements", cluster.fold.extent);
    if (cluster.fold.extent > 0) return fmt::format(" over columns of {}", cluster.length);
    return cluster.length > 1 ? fmt::format(" over rows of {}", cluster.length) : "";
  }
  void note(std::span<const uint32_t> calls, const std::string& why, double saved, const Cluster* made = nullptr) {
    if (!log_) return;
    std::string names;
    for (const uint32_t n : calls) names += fmt::format("{}{}", names.empty() ? "" : " + ", nodes_[n].op->name);
    const std::string rows = made ? space_of(*made) : "";
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
  std::vector<Form> form_;        // by node, in its cluster
  std::vector<uint32_t> reader_;  // by value, the last call that clusters gather
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
