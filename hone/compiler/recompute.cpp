#include <algorithm>

#include "hone/compiler/passes.h"
#include "hone/ops/table.h"

namespace hone::compiler {
namespace {

constexpr uint32_t kNone = ir::kNone;
constexpr int64_t kWorthwhile = 1 << 16;  // bytes of a value that is worth computing twice
constexpr int64_t kSmall = 16;            // operands this many times smaller may live on
constexpr int kDepth = 8;                 // calls computed again for one value

class Recomputer {
 public:
  Recomputer(const ir::Graph& graph, bool contractions)
      : graph_(graph),
        contractions_(contractions),
        nodes_(graph.nodes()),
        users_(graph),
        bytes_(graph.values()),
        root_(graph.values()),
        last_(graph.values()),
        moved_(graph.values(), kNone) {
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
  }

  ir::Graph run() {
    constexpr int kRounds = 8;
    for (int round = 0; round < kRounds && relieve(peak()); ++round) {
    }
    return emit();
  }

 private:
  // Bound by memory: what moves or normalises, not what multiplies matrices.
  bool cheap(const ir::Node& node) const {
    constexpr double kFlopsPerByte = 4;
    if (node.results != 1 || node.operands == 0 || !node.op->cost) return false;
    switch (node.op->op_class) {
      case OpClass::Elementwise:
      case OpClass::Movement:
        return true;
      case OpClass::Library:
        return contractions_;
      case OpClass::Composite:
        break;
      default:
        return false;
    }
    SmallVector<const TensorType*, 8> inputs;
    for (const ir::ValueId operand : graph_.operands(node)) inputs.push_back(&graph_.type(operand));
    const Cost cost = node.op->cost(node.attrs, {inputs.data(), inputs.size()}, {&graph_.type(node.first_result), 1});
    return (contractions_ || cost.flops <= kFlopsPerByte * cost.bytes) && regions_of(node.attrs).empty();
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
  uint32_t peak() const {
    std::vector<int64_t> change(nodes_.size() + 2);
    for (ir::ValueId v = 0; v < graph_.values(); ++v) {
      const uint32_t n = graph_.producer(v);
      if (n == kNone || root_[v] != v || nodes_[n].op->op_class == OpClass::View) continue;
      change[n] += bytes_[v];
      if (moved_[v] == kNone) {
        change[std::max(last_[v], n) + 1] -= bytes_[v];
      } else {
        const Gap gap = gap_of(v, moved_[v]);
        change[gap.from + 1] -= bytes_[v];
        change[gap.to] += bytes_[v];
        change[std::max(last_[v], n) + 1] -= bytes_[v];
      }
    }
    int64_t alive = 0, most = 0;
    uint32_t at = 0;
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
      alive += change[n];
      if (alive > most) most = alive, at = n;
    }
    return at;
  }

  // Decides to compute anew what is only kept across `at`. False where nothing can be.
  bool relieve(uint32_t at) {
    std::vector<ir::ValueId> candidates;
    for (ir::ValueId v = 0; v < graph_.values(); ++v) {
      const uint32_t n = graph_.producer(v);
      if (n == kNone || n >= at || last_[v] <= at || root_[v] != v || bytes_[v] < kWorthwhile || moved_[v] != kNone)
        continue;
      if (cheap(nodes_[n]) && !is_output(v)) candidates.push_back(v);
    }
    std::ranges::stable_sort(candidates, std::greater(), [&](ir::ValueId v) { return bytes_[v]; });
    bool any = false;
    for (const ir::ValueId v : candidates) {
      const Gap gap = gap_of(v, at);
      if (gap.to == kNone || gap.to <= at || gap.from > at) continue;
      int budget = kDepth;
      std::vector<ir::ValueId> kept;
      if (!available(v, gap.to, bytes_[v], budget, kept)) continue;
      for (const ir::ValueId each : kept) last_[each] = std::max(last_[each], gap.to);
      moved_[v] = at;
      any = true;
    }
    return any;
  }

  // Whether the call that gives v can run at `when`: its operands are there, or small enough to stay, or can be
  // computed again themselves.
  bool available(ir::ValueId v, uint32_t when, int64_t budget_bytes, int& budget,
                 std::vector<ir::ValueId>& kept) const {
    const uint32_t n = graph_.producer(v);
    if (n == kNone || !(cheap(nodes_[n]) || view(nodes_[n]) || nodes_[n].op == &ops::constant)) return false;
    if (cheap(nodes_[n]) && --budget < 0) return false;
    for (const ir::ValueId operand : graph_.operands(nodes_[n])) {
      const ir::ValueId root = root_[operand];
      const uint32_t producer = graph_.producer(root);
      const bool alive = last_[root] >= when && (moved_[root] == kNone);
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
    std::vector<ir::ValueId> second(graph_.values(), kNone);
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
      const ir::Node& node = nodes_[n];
      SmallVector<ir::ValueId, 8> operands;
      for (const ir::ValueId operand : graph_.operands(node))
        operands.push_back(value_at(operand, n, rewriter, second));
      const uint32_t made = rewriter.to().add(*node.op, node.attrs, {operands.data(), operands.size()}, node.results,
                                              node.origin, node.again);
      const ir::ValueId first = rewriter.to().graph().nodes()[made].first_result;
      for (uint32_t i = 0; i < node.results; ++i) rewriter.set(node.first_result + i, first + i);
    }
    return rewriter.finish();
  }

  // The mapped value that position n reads: after the gap, the second computation.
  ir::ValueId value_at(ir::ValueId value, uint32_t n, ir::Rewriter& rewriter, std::vector<ir::ValueId>& second) {
    const uint32_t producer = graph_.producer(value);
    if (producer == kNone) return rewriter[value];
    const ir::ValueId root = root_[value];
    const bool late = moved_[root] != kNone && n > moved_[root];
    if (!late) return rewriter[value];
    return again(value, n, rewriter, second);
  }

  ir::ValueId again(ir::ValueId value, uint32_t n, ir::Rewriter& rewriter, std::vector<ir::ValueId>& second) {
    if (second[value] != kNone) return second[value];
    const ir::Node& node = nodes_[graph_.producer(value)];
    SmallVector<ir::ValueId, 8> operands;
    for (const ir::ValueId operand : graph_.operands(node)) {
      const ir::ValueId root = root_[operand];
      const uint32_t producer = graph_.producer(root);
      // What is not alive here is computed again too.
      const bool there =
          producer == kNone || nodes_[producer].op == &ops::constant || (last_[root] >= n && moved_[root] == kNone);
      operands.push_back(there ? rewriter[operand] : again(operand, n, rewriter, second));
    }
    const uint32_t made =
        rewriter.to().add(*node.op, node.attrs, {operands.data(), operands.size()}, node.results, node.origin, true);
    return second[value] = rewriter.to().graph().nodes()[made].first_result;
  }

  const ir::Graph& graph_;
  bool contractions_;
  std::span<const ir::Node> nodes_;
  const ir::Users users_;
  std::vector<int64_t> bytes_;
  std::vector<ir::ValueId> root_;  // views share the memory of their operand
  std::vector<uint32_t> last_;     // by root: position of the last reader
  std::vector<uint32_t> moved_;    // by value: the position across which it is not kept
};

}  // namespace

ir::Graph recompute(const ir::Graph& graph, bool contractions) { return Recomputer(graph, contractions).run(); }

}  // namespace hone::compiler
