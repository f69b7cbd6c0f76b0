#include "hone/compiler/pipeline.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

#include "hone/base/error.h"
#include "hone/base/settings.h"
#include "hone/device/device.h"
#include "hone/tensor/interpreter.h"

namespace hone::compiler {
namespace {

// Runs named steps, times them, and leaves out those that HONE_PASSES names with a minus.
class Pipeline {
 public:
  explicit Pipeline(ir::Graph graph) : graph_(std::move(graph)) {
    const char* text = std::getenv("HONE_PASSES");
    skipped_ = text ? text : "";
  }

  template <class Pass>
  void step(const char* name, Pass&& pass) {
    if (skips(name)) return;
    const size_t before = graph_.nodes().size();
    const auto start = std::chrono::steady_clock::now();
    graph_ = pass(std::as_const(graph_));
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
#ifndef NDEBUG
    ir::verify(graph_, name);
#endif
    reports.push_back({name, before, graph_.nodes().size(), spent.count()});
  }
  ir::Graph take() { return std::move(graph_); }
  std::vector<PassReport> reports;

 private:
  bool skips(std::string_view name) const {
    for (size_t at = 0; (at = skipped_.find(name, at)) != std::string::npos; ++at) {
      const size_t end = at + name.size();
      if (at > 0 && skipped_[at - 1] == '-' && (end == skipped_.size() || skipped_[end] == ',')) return true;
    }
    return false;
  }

  ir::Graph graph_;
  std::string skipped_;
};

}  // namespace

ir::Graph optimize(const ir::Graph& graph) {
  Pipeline p(graph);
  p.step("remove_dead", remove_dead);
  p.step("simplify", simplify);
  p.step("remove_dead", remove_dead);
  return p.take();
}

namespace {

Compiled compile_once(const ir::Graph& graph, bool save_memory) {
  Compiled result;
  Pipeline p(graph);
  p.step("simplify", simplify);  // what bound shapes allow
  p.step("remove_dead", remove_dead);
  p.step("expand_norm", expand_norm);
  p.step("decompose", decompose);
  p.step("simplify", simplify);  // what decompositions bring
  p.step("remove_dead", remove_dead);
  p.step("recompute", [&](const ir::Graph& g) { return recompute(g, save_memory); });
  p.step("cluster", [&](const ir::Graph& g) { return cluster(g, &result.fusion); });
  p.step("schedule", schedule);
  result.passes = std::move(p.reports);
  result.executable = std::make_shared<Executable>(make_plan(p.take()));
  return result;
}

size_t free_memory() {
  const size_t in_use = memory_stats().in_use;
  return settings.memory_limit > in_use ? settings.memory_limit - in_use : 0;
}

}  // namespace

Compiled compile(const ir::Graph& graph) {
  ensure_defaults();
  Compiled result = compile_once(graph, false);
  if (settings.memory_limit == 0 || result.executable->plan().arena_bytes <= free_memory()) return result;
  Compiled lean = compile_once(graph, true);
  const size_t needed = std::min(lean.executable->plan().arena_bytes, result.executable->plan().arena_bytes);
  if (needed > free_memory()) {
    const auto mebibytes = [](size_t bytes) { return static_cast<double>(bytes) / 1048576.0; };
    throw Error(
        Code::kResourceExhausted,
        {.what = fmt::format("'{}' needs {:.1f} MiB beside its arguments; settings.memory_limit leaves {:.1f} MiB",
                             graph.name, mebibytes(needed), mebibytes(free_memory())),
         .details = {fmt::format("without computing activations again it would be {:.1f} MiB",
                                 mebibytes(result.executable->plan().arena_bytes))},
         .fix = "use a smaller batch, or raise the limit; lower(...).memory() shows the largest buffers"});
  }
  return lean;
}

}  // namespace hone::compiler
