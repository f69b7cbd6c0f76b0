#include <algorithm>

#include "hone/compiler/passes.h"
#include "hone/compiler/plan.h"
#include "hone/ops/table.h"

namespace hone::compiler {
namespace {

constexpr uint32_t kNone = ir::kNone;
constexpr int64_t kWorthwhile = 1 << 16;  // bytes of a value that is worth computing twice
constexpr int64_t kSmall = 16;            // operands this many times smaller may live on
constexpr int kDepth = 8;                 // calls computed again for one value
constexpr double kExtraWork = 0.02;       // operations that may be added, as a part of all, where speed comes first

class Recomputer {
 public:
  Recomputer(const ir::Graph& graph, bool at_any_price)
      : graph_(graph),
        at_any_price_(at_any_price),
        nodes_(graph.nodes()),
        users_(graph),
        bytes_(graph.values()),
        root_(graph.values()),
        last_(graph.values()),
        given_at_(graph.values(), kNone),
        moved_(graph.values()) {
    for (ir::ValueId v = 0; v < graph.values(); ++v) {
      const TensorType& type = graph.type(v);
      bytes_[v] = type.shape.count() * static_cast<int64_t>(size_of(type.dtype));
      root_[v] = v;
    }
    for (const ir::Node& node : nodes_) {
      if (node.op->op_class != OpClass::View || node.operands == 0) continue;
      for (uint32_t i = 0; i < node.results; ++i)
        root_[node.first_result + i] = root_[graph.operands(node)[std::min(i, node.operands - 1)]];
    }
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
      for (const ir::ValueId operand : graph.operands(nodes_[n])) last_[root_[operand]] = n;
    }
    for (const ir::ValueId output : graph.outputs()) last_[root_[output]] = static_cast<uint32_t>(nodes_.size());
    for (const ir::Input& input : graph.inputs()) {
      // A cell's old value may be overwritten after its last reader.
      if (input.new_value == kNone) last_[input.value] = static_cast<uint32_t>(nodes_.size());
    }
    double flops = 0;
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
      find_given(n);
      flops += ir::cost_of(graph_, nodes_[n]).flops;
    }
    flops_left_ = kExtraWork * flops;
  }

  // What is free goes first; then, one by one and while much is kept, what costs least for its bytes.
  ir::Graph run() {
    constexpr int kRounds = 32;
    constexpr double kMuch = 0.6;
    const Peak first = peak();
    for (int round = 0; round < kRounds; ++round) {
      const Peak now = peak();
      const bool pay = static_cast<double>(now.bytes) > kMuch * static_cast<double>(first.bytes);
      if (!relieve(now.at, false) && !(pay && relieve(now.at, true))) break;
    }
    return emit();
  }

 private:
  // The memory of an operand that ends where its successor begins, if the kernel writes over it.
  void find_given(uint32_t n) {
    const ir::Node& node = nodes_[n];
    if (node.results == 0 || bytes_[node.first_result] < kWorthwhile || node.op->op_class == OpClass::View) return;
    for (const ir::ValueId operand : graph_.operands(node)) {
      const ir::ValueId root = root_[operand];
      if (last_[root] != n || graph_.producer(root) == kNone || !(graph_.type(root) == graph_.type(node.first_result)))
        continue;
      const Kernel* kernel = service_of(graph_, node).kernel;
      if (kernel && kernel->in_place) given_at_[root] = n;
      return;
    }
  }

  // Whether the call may run twice: no effect, no random numbers, one large result (beside it small ones).
  bool repeatable(const ir::Node& node) const {
    if (node.results == 0 || node.operands == 0 || !node.op->cost || !regions_of(node.attrs).empty()) return false;
    for (uint32_t i = 1; i < node.results; ++i) {
      if (bytes_[node.first_result + i] * kSmall > bytes_[node.first_result]) return false;
    }
    const OpClass kind = node.op->op_class;
    return kind == OpClass::Elementwise || kind == OpClass::Movement || kind == OpClass::Composite ||
           kind == OpClass::Library;
  }
  // Operations that running it twice costs: none where it is bound by memory, as what moves or normalises is.
  double price(const ir::Node& node) const {
    constexpr double kFlopsPerByte = 4;
    if (at_any_price_ || node.op->op_class == OpClass::Elementwise || node.op->op_class == OpClass::Movement) return 0;
    const Cost c = ir::cost_of(graph_, node);
    return node.op->op_class == OpClass::Library || c.flops > kFlopsPerByte * c.bytes ? c.flops : 0;
  }
  static bool view(const ir::Node& node) {
    return node.op->op_class == OpClass::View && node.results == 1 && node.operands == 1;
  }

  // Program positions between which a value is not read: it is free there once it is computed again.
  struct Gap {
    uint32_t from, to;
  };
  Gap gap_of(ir::ValueId value, uint32_t at) const {
    Gap gap{graph_.producer(value), kNone};
    visit_readers(value, [&](uint32_t n) {
      if (n <= at)
        gap.from = std::max(gap.from, n);
      else
        gap.to = std::min(gap.to, n);
    });
    return gap;
  }
  template <class F>
  void visit_readers(ir::ValueId value, const F& f) const {
    for (const uint32_t n : users_.of(value)) {
      if (view(nodes_[n]))
        visit_readers(nodes_[n].first_result, f);
      else
        f(n);
    }
  }
  bool is_output(ir::ValueId value) const {
    if (users_.outputs[value] > 0) return true;
    return std::ranges::any_of(users_.of(value), [&](uint32_t n) {
      for (uint32_t i = 0; i < nodes_[n].results && nodes_[n].op->op_class == OpClass::View; ++i) {
        if (is_output(nodes_[n].first_result + i)) return true;
      }
      return false;
    });
  }

  // Where most is alive, by program order.
  struct Peak {
    uint32_t at;
    int64_t bytes;
  };
  Peak peak() const {
    std::vector<int64_t> change(nodes_.size() + 2);
    for (ir::ValueId v = 0; v < graph_.values(); ++v) {
      const uint32_t n = graph_.producer(v);
      if (n == kNone || root_[v] != v || nodes_[n].op->op_class == OpClass::View || users_.outputs[v] > 0) continue;
      change[n] += bytes_[v];
      for (const uint32_t across : moved_[v]) {
        const Gap gap = gap_of(v, across);
        change[gap.from + 1] -= bytes_[v];
        change[gap.to] += bytes_[v];
      }
      const uint32_t end = std::max(last_[v], n);
      change[moved_[v].empty() && given_at_[v] == end ? end : end + 1] -= bytes_[v];
    }
    int64_t alive = 0, most = 0;
    uint32_t at = 0;
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
      alive += change[n];
      if (alive > most) most = alive, at = n;
    }
    return {at, most};
  }

  // What computing a value again may take.
  struct Budget {
    int calls;
    double flops;
  };

  // Decides to compute anew what is only kept across `at`: all that is free, or one value that is not. False where
  // nothing can be.
  bool relieve(uint32_t at, bool paid) {
    std::vector<std::pair<double, ir::ValueId>> candidates;  // by bytes, or operations a byte
    for (ir::ValueId v = 0; v < graph_.values(); ++v) {
      const uint32_t n = graph_.producer(v);
      if (n == kNone || n >= at || last_[v] <= at || root_[v] != v || bytes_[v] < kWorthwhile ||
          v != nodes_[n].first_result || !repeatable(nodes_[n]) || is_output(v))
        continue;
      const double flops = price(nodes_[n]);
      if (paid == (flops > 0) && flops <= flops_left_)
        candidates.emplace_back(paid ? flops / static_cast<double>(bytes_[v]) : -static_cast<double>(bytes_[v]), v);
    }
    std::ranges::stable_sort(candidates, {}, &std::pair<double, ir::ValueId>::first);
    bool any = false;
    for (const auto& [order, v] : candidates) {
      const Gap gap = gap_of(v, at);
      if (gap.to == kNone || gap.to <= at || gap.from > at || moves_before(v, gap.to) != moves_before(v, gap.from))
        continue;
      Budget budget{kDepth, paid ? flops_left_ : 0};
      std::vector<ir::ValueId> kept;
      if (!available(v, gap.to, bytes_[v], budget, kept)) continue;
      for (const ir::ValueId each : kept) last_[each] = std::max(last_[each], gap.to);
      moved_[v].push_back(at);
      any = true;
      if (!paid) continue;
      flops_left_ = budget.flops;
      break;
    }
    return any;
  }

  // Whether the call that gives v can run at `when`: its operands are there, or small enough to stay, or can be
  // computed again themselves.
  bool available(ir::ValueId v, uint32_t when, int64_t budget_bytes, Budget& budget,
                 std::vector<ir::ValueId>& kept) const {
    const uint32_t n = graph_.producer(v);
    if (n == kNone) return false;
    const ir::Node& node = nodes_[n];
    if (!view(node) && node.op != &ops::constant) {
      if (!repeatable(node)) return false;
      --budget.calls;
      budget.flops -= price(node);
      if (budget.calls < 0 || budget.flops < 0) return false;
    }
    for (const ir::ValueId operand : graph_.operands(node)) {
      const ir::ValueId root = root_[operand];
      const uint32_t producer = graph_.producer(root);
      const bool alive = last_[root] >= when && moved_[root].empty();
      if (alive || (producer != kNone && nodes_[producer].op == &ops::constant)) continue;
      if (producer == kNone && last_[root] < when) return false;  // a cell that is overwritten
      if (bytes_[root] * kSmall <= budget_bytes) {
        kept.push_back(root);
      } else if (!available(root, when, budget_bytes, budget, kept)) {
        return false;
      }
    }
    return true;
  }

  ir::Graph emit() {
    ir::Rewriter rewriter(graph_);
    std::vector<Copy> copies(graph_.values());
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
      const ir::Node& node = nodes_[n];
      SmallVector<ir::ValueId, 8> operands;
      for (const ir::ValueId operand : graph_.operands(node))
        operands.push_back(value_at(operand, n, rewriter, copies));
      const uint32_t made = rewriter.to().add(*node.op, node.attrs, {operands.data(), operands.size()}, node.results,
                                              node.origin, node.again);
      const ir::ValueId first = rewriter.to().graph().nodes()[made].first_result;
      for (uint32_t i = 0; i < node.results; ++i) rewriter.set(node.first_result + i, first + i);
    }
    return rewriter.finish();
  }

  // How many gaps across which the value is not kept end before position n.
  size_t moves_before(ir::ValueId value, uint32_t n) const {
    return static_cast<size_t>(std::ranges::count_if(moved_[value], [&](uint32_t across) { return across < n; }));
  }

  // A value computed again, and where.
  struct Copy {
    ir::ValueId value = kNone;
    uint32_t at = 0;
  };

  // The mapped value that position n reads: after a gap, the computation behind it.
  ir::ValueId value_at(ir::ValueId value, uint32_t n, ir::Rewriter& rewriter, std::vector<Copy>& copies) {
    const bool late = graph_.producer(value) != kNone && moves_before(root_[value], n) > 0;
    return late ? again(value, n, rewriter, copies) : rewriter[value];
  }

  ir::ValueId again(ir::ValueId value, uint32_t n, ir::Rewriter& rewriter, std::vector<Copy>& copies) {
    if (const Copy& copy = copies[value];
        copy.value != kNone && moves_before(root_[value], copy.at) == moves_before(root_[value], n))
      return copy.value;
    const ir::Node& node = nodes_[graph_.producer(value)];
    SmallVector<ir::ValueId, 8> operands;
    for (const ir::ValueId operand : graph_.operands(node)) {
      const ir::ValueId root = root_[operand];
      const uint32_t producer = graph_.producer(root);
      // What is not alive here is computed again too.
      const bool there =
          producer == kNone || nodes_[producer].op == &ops::constant || (last_[root] >= n && moved_[root].empty());
      operands.push_back(there ? rewriter[operand] : again(operand, n, rewriter, copies));
    }
    const uint32_t made =
        rewriter.to().add(*node.op, node.attrs, {operands.data(), operands.size()}, node.results, node.origin, true);
    copies[value] = {rewriter.to().graph().nodes()[made].first_result + (value - node.first_result), n};
    return copies[value].value;
  }

  const ir::Graph& graph_;
  bool at_any_price_;
  double flops_left_;
  std::span<const ir::Node> nodes_;
  const ir::Users users_;
  std::vector<int64_t> bytes_;
  std::vector<ir::ValueId> root_;                // views share the memory of their operand
  std::vector<uint32_t> last_;                   // by root: position of the last reader
  std::vector<uint32_t> given_at_;               // by root: the last reader, if its result takes over the memory
  std::vector<SmallVector<uint32_t, 1>> moved_;  // by value: positions across which it is not kept
};

}  // namespace

// Where all readers of a value come after the gap, its first computation has none left.
ir::Graph recompute(const ir::Graph& graph, bool at_any_price) {
  return remove_dead(Recomputer(graph, at_any_price).run());
}

}  // namespace hone::compiler
