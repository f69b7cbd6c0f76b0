#include "hone/compiler/pipeline.h"

#include <chrono>
#include <cstdlib>

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

Compiled compile(const ir::Graph& graph) {
  ensure_defaults();
  Compiled result;
  Pipeline p(graph);
  p.step("simplify", simplify);  // what bound shapes allow
  p.step("remove_dead", remove_dead);
  p.step("decompose", decompose);
  p.step("simplify", simplify);  // what decompositions bring
  p.step("remove_dead", remove_dead);
  p.step("cluster", [&](const ir::Graph& g) { return cluster(g, &result.fusion); });
  p.step("schedule", schedule);
  result.passes = std::move(p.reports);
  result.executable = std::make_shared<Executable>(make_plan(p.take()));
  return result;
}

std::vector<Tensor> run_once(const ir::Graph& graph, std::span<const Tensor> inputs) {
  const Compiled compiled = compile(optimize(graph));
  const ir::Graph& program = compiled.executable->graph();
  std::vector<Tensor> given, outputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor dense = inputs[i].dense();
    given.push_back(dense);
    if (program.inputs()[i].new_value == ir::kNone) continue;
    given.back() = Tensor::empty(dense.type());  // the run overwrites it
    dense.copy_to(given.back().mutable_bytes());
  }
  for (size_t i = 0; i < program.outputs().size(); ++i) {
    const OutputPlace& place = compiled.executable->outputs()[i];
    outputs.push_back(place.kind == OutputPlace::Donated ? given[place.index]
                                                         : Tensor::empty(program.type(program.outputs()[i])));
  }
  compiled.executable->run(given, outputs);
  return outputs;
}

}  // namespace hone::compiler
