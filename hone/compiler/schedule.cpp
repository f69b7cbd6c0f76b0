#include <queue>

#include "hone/compiler/passes.h"
#include "hone/ops/table.h"

namespace hone::compiler {
namespace {

class Scheduler {
 public:
  explicit Scheduler(const ir::Graph& graph)
      : graph_(graph),
        users_(graph),
        nodes_(graph.nodes()),
        after_(nodes_.size()),
        waits_(nodes_.size()),
        root_(graph.values()),
        readers_(graph.values()),
        of_root_(graph.values()),
        done_(nodes_.size()),
        hurried_(nodes_.size()) {
    find_roots();
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
      waits_[n] = 0;
      for (const ir::ValueId operand : graph.operands(nodes_[n]))
        waits_[n] += graph.producer(operand) != ir::kNone ? 1 : 0;
    }
    keep_effects_in_order();
    write_cells_last();
  }

  ir::Graph run() {
    ir::Rewriter rewriter(graph_);
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
      if (done_[n]) continue;
      // Program order is an order of all edges, so what comes first is ready.
      emit(n, rewriter);
      while (!shrinking_.empty()) {
        const uint32_t next = shrinking_.top();
        shrinking_.pop();
        if (!done_[next] && (hurried_[next] || shrinks(next))) emit(next, rewriter);
      }
    }
    return rewriter.finish();
  }

 private:
  // Views share the memory of their operand: it is free when the last reader of any has run.
  void find_roots() {
    for (ir::ValueId v = 0; v < graph_.values(); ++v) root_[v] = v;
    for (const ir::Node& node : nodes_) {
      if (node.op->op_class != OpClass::View || node.operands == 0) continue;
      for (uint32_t i = 0; i < node.results; ++i)
        root_[node.first_result + i] = root_[graph_.operands(node)[std::min(i, node.operands - 1)]];
    }
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
      for (const ir::ValueId operand : graph_.operands(nodes_[n])) {
        const ir::ValueId root = root_[operand];
        ++readers_[root];
        if (of_root_[root].empty() || of_root_[root].back() != n) of_root_[root].push_back(n);
      }
    }
    for (const ir::ValueId output : graph_.outputs()) ++readers_[root_[output]];
    for (const ir::Input& input : graph_.inputs()) ++readers_[root_[input.value]];  // not ours to free
  }

  void add_edge(uint32_t before, uint32_t after) {
    after_[before].push_back(after);
    ++waits_[after];
  }

  // A cell that is written in place must not change before an effect that stands before it has had its say.
  void keep_effects_in_order() {
    std::vector<bool> writes(nodes_.size());
    for (const ir::Input& input : graph_.inputs()) {
      if (input.new_value == ir::kNone) continue;
      if (const uint32_t writer = graph_.producer(graph_.outputs()[input.new_value]); writer != ir::kNone)
        writes[writer] = true;
    }
    uint32_t last = ir::kNone;
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
      const bool effect = ir::has_effect(nodes_[n]);
      if (last != ir::kNone && (effect || writes[n])) add_edge(last, n);
      if (effect) last = n;
    }
  }

  void write_cells_last() {
    for (const ir::Input& input : graph_.inputs()) {
      if (input.new_value == ir::kNone) continue;
      const uint32_t writer = graph_.producer(graph_.outputs()[input.new_value]);
      if (writer == ir::kNone) continue;
      for (const uint32_t reader : of_root_[input.value]) {
        if (reader < writer) add_edge(reader, writer);
      }
    }
  }

  int64_t bytes(ir::ValueId value) const {
    const TensorType& type = graph_.type(value);
    return type.shape.is_static() ? type.shape.count() * static_cast<int64_t>(size_of(type.dtype)) : 0;
  }

  int64_t taken_by(uint32_t n) const {
    int64_t taken = 0;
    for (uint32_t i = 0; i < nodes_[n].results; ++i) {
      if (users_.outputs[nodes_[n].first_result + i] == 0) taken += bytes(nodes_[n].first_result + i);
    }
    return taken;
  }

  // The last readers of a large value, if together they take less than it frees.
  void hurry_readers(ir::ValueId root) {
    int64_t taken = 0;
    SmallVector<uint32_t, kFewReaders> left;
    uint32_t uses = 0;
    for (const uint32_t n : of_root_[root]) {
      if (done_[n]) continue;
      if (waits_[n] != 0 || nodes_[n].op->op_class == OpClass::View || left.size() == kFewReaders) return;
      left.push_back(n);
      taken += taken_by(n);
      for (const ir::ValueId operand : graph_.operands(nodes_[n])) uses += root_[operand] == root ? 1 : 0;
    }
    if (uses != readers_[root] || taken >= bytes(root)) return;
    for (const uint32_t n : left) hurried_[n] = true, shrinking_.push(n);
  }

  // Whether running the call now frees more than it takes.
  bool shrinks(uint32_t n) const {
    const ir::Node& node = nodes_[n];
    if (node.op->op_class == OpClass::View) return false;
    int64_t freed = 0;
    const int64_t taken = taken_by(n);
    const std::span<const ir::ValueId> operands = graph_.operands(node);
    for (size_t i = 0; i < operands.size(); ++i) {
      const ir::ValueId root = root_[operands[i]];
      uint32_t own = 0;
      for (const ir::ValueId other : operands) own += root_[other] == root ? 1 : 0;
      if (readers_[root] == own) freed += bytes(root) / own;
    }
    return freed > taken;
  }

  void emit(uint32_t n, ir::Rewriter& rewriter) {
    const ir::Node& node = nodes_[n];
    rewriter.copy(node);
    done_[n] = true;
    for (const ir::ValueId operand : graph_.operands(node)) {
      const ir::ValueId root = root_[operand];
      --readers_[root];
      if (readers_[root] > kFewReaders) continue;
      // Who reads it last may have become one that frees memory.
      for (const uint32_t reader : of_root_[root]) offer(reader);
      if (readers_[root] > 1) hurry_readers(root);
    }
    const auto arrived = [&](uint32_t user) {
      if (--waits_[user] == 0) offer(user);
    };
    for (uint32_t i = 0; i < node.results; ++i) {
      for (const uint32_t user : users_.of(node.first_result + i)) arrived(user);
    }
    for (const uint32_t user : after_[n]) arrived(user);
    for (uint32_t i = 0; i < node.results; ++i) hurry_readers(root_[node.first_result + i]);
  }

  void offer(uint32_t n) {
    if (!done_[n] && waits_[n] == 0 && shrinks(n)) shrinking_.push(n);
  }

  static constexpr uint32_t kFewReaders = 8;
  const ir::Graph& graph_;
  const ir::Users users_;
  std::span<const ir::Node> nodes_;
  std::vector<SmallVector<uint32_t, 1>> after_;    // edges beside the operands
  std::vector<uint32_t> waits_;                    // by node: operands and edges that have not come
  std::vector<ir::ValueId> root_;                  // by value
  std::vector<uint32_t> readers_;                  // by root: uses to come
  std::vector<SmallVector<uint32_t, 2>> of_root_;  // by root: calls that read it, ascending
  std::vector<bool> done_, hurried_;
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> shrinking_;  // the earliest first
};

}  // namespace

ir::Graph schedule(const ir::Graph& graph) { return Scheduler(graph).run(); }

}  // namespace hone::compiler
