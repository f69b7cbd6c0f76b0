#include "hone/compiler/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "hone/base/error.h"
#include "hone/base/file.h"
#include "hone/base/settings.h"
#include "hone/compiler/plan_text.h"
#include "hone/compiler/stablehlo.h"
#include "hone/device/device.h"
#include "hone/ops/table.h"
#include "hone/tensor/interpreter.h"

namespace hone::compiler {

const std::string& dump_directory() {
  static const std::string directory = [] {
    const char* const text = std::getenv("HONE_DUMP");
    std::error_code failure;  // then writing the first file says why
    if (text && *text) std::filesystem::create_directories(text, failure);
    return std::string(text ? text : "");
  }();
  return directory;
}

namespace {

using P = PassSettings;
constexpr PassName kPasses[] = {
    {"remove_dead", &P::remove_dead},   {"simplify", &P::simplify},   {"constant_folding", &P::constant_folding},
    {"expand_norm", &P::expand_norm},   {"decompose", &P::decompose}, {"share_transposes", &P::share_transposes},
    {"fuse_updates", &P::fuse_updates}, {"recompute", &P::recompute}, {"cluster", &P::cluster},
    {"schedule", &P::schedule},
};

// Runs named steps, times them, and leaves out those that settings.passes switches off or HONE_PASSES names with a
// minus; NAME=N there is a pass's seed.
class Pipeline {
 public:
  Pipeline(ir::Graph graph, std::vector<Stage>* stages) : graph_(std::move(graph)), stages_(stages) {
    const char* text = std::getenv("HONE_PASSES");
    told_ = text ? text : "";
    dump("begin");
  }

  template <class Pass>
  void step(bool P::* which, Pass&& pass) {
    if (!runs(which)) return;
    const char* const name = name_of(which);
    const size_t before = graph_.nodes().size();
    const auto start = std::chrono::steady_clock::now();
    graph_ = pass(std::as_const(graph_));
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
#ifndef NDEBUG
    ir::verify(graph_, name);
#endif
    reports.push_back({name, before, graph_.nodes().size(), spent.count()});
    if (stages_) stages_->push_back({name, graph_});
    dump(name);
  }
  bool runs(bool P::* which) const { return settings.passes.*which && !skips(name_of(which)); }
  // N of NAME=N in HONE_PASSES, or 0.
  uint64_t seed(bool P::* which) const {
    const std::string_view name = name_of(which);
    const size_t at = told_.find(fmt::format("{}=", name));
    return at == std::string::npos ? 0 : std::strtoull(told_.c_str() + at + name.size() + 1, nullptr, 10);
  }
  ir::Graph take() {
    taken_ = graph_.name;
    return std::move(graph_);
  }

  // What a plan came to, beside the texts of the passes.
  void dump(const Plan& plan, std::span<const FusionDecision> fusion) {
    if (dump_directory().empty()) return;
    graph_.name = taken_;
    write("fusion.txt", fusion_text(fusion));
    write("plan.txt", plan_text(plan));
    write("memory.txt", memory_text(plan));
  }
  std::vector<PassReport> reports;

 private:
  static const char* name_of(bool P::* which) { return std::ranges::find(kPasses, which, &PassName::on)->name; }

  bool skips(std::string_view name) const {
    for (size_t at = 0; (at = told_.find(name, at)) != std::string::npos; ++at) {
      const size_t end = at + name.size();
      if (at > 0 && told_[at - 1] == '-' && (end == told_.size() || told_[end] == ',')) return true;
    }
    return false;
  }

  // HONE_DUMP: the text after each pass that changed something, NUMBER-NAME-STEP-pass.mlir.
  void dump(const char* pass) {
    if (dump_directory().empty()) return;
    const uint64_t now = graph_.fingerprint();
    if (std::exchange(dumped_, now) == now && steps_ > 0) return void(++steps_);
    static std::atomic<int> serial{0};
    if (steps_ == 0) number_ = serial++;
    write(fmt::format("{}.mlir", pass), to_text(graph_));
  }

  void write(const std::string& what, const std::string& text) {
    std::string name = graph_.name;
    std::ranges::replace(name, '/', '_');
    write_file_atomic(fmt::format("{}/{:03}-{}-{:02}-{}", dump_directory(), number_, name, steps_++, what), text);
  }

  ir::Graph graph_;
  std::vector<Stage>* const stages_;
  std::string told_, taken_;
  uint64_t dumped_ = 0;
  int number_ = 0, steps_ = 0;
};

auto simplify_in(const Pipeline& p) {
  return [&p](const ir::Graph& g) { return simplify(g, p.runs(&P::constant_folding)); };
}

}  // namespace

std::span<const PassName> pass_names() { return kPasses; }

ir::Graph optimize(const ir::Graph& graph, std::vector<Stage>* stages) {
  Pipeline p(graph, stages);
  p.step(&P::remove_dead, remove_dead);
  p.step(&P::simplify, simplify_in(p));
  p.step(&P::remove_dead, remove_dead);
  return p.take();
}

namespace {

// A loop is one kernel where the first of its op's list takes it.
void note_loops(const Plan& plan, std::vector<FusionDecision>& log) {
  for (const Step& step : plan.steps) {
    const ir::Node& node = plan.graph.nodes()[step.node];
    if (step.kind != Step::Call || (node.op != &ops::while_ && node.op != &ops::scan)) continue;
    std::string what = step.refused ? fmt::format("{}: runs its body call by call: {}", node.op->name, step.refused)
                                    : fmt::format("{} -> 1 kernel", node.op->name);
    log.push_back({std::move(what), plan.graph.origin(node).location(), 1});
  }
}

Compiled compile_once(const ir::Graph& graph, bool save_memory, const CompileOptions& options) {
  Compiled result;
  Pipeline p(graph, options.stages);
  p.step(&P::simplify, simplify_in(p));  // what bound shapes allow
  p.step(&P::remove_dead, remove_dead);
  p.step(&P::expand_norm, expand_norm);
  p.step(&P::decompose, [&](const ir::Graph& g) { return decompose(g, options.objects); });
  p.step(&P::simplify, simplify_in(p));  // what decompositions bring
  p.step(&P::remove_dead, remove_dead);
  p.step(&P::share_transposes, share_transposes);
  p.step(&P::fuse_updates, [&](const ir::Graph& g) { return fuse_updates(g, &result.fusion); });
  p.step(&P::recompute, [&](const ir::Graph& g) { return recompute(g, save_memory); });
  p.step(&P::cluster, [&](const ir::Graph& g) { return cluster(g, &result.fusion, p.seed(&P::cluster)); });
  p.step(&P::schedule, schedule);
  result.passes = std::move(p.reports);
  Plan plan = make_plan(p.take(), options.machine_code, options.objects);
  note_loops(plan, result.fusion);
  p.dump(plan, result.fusion);
  result.executable = std::make_shared<Executable>(std::move(plan));
  return result;
}

size_t free_memory() {
  const size_t in_use = memory_stats().in_use;
  return settings.memory_limit > in_use ? settings.memory_limit - in_use : 0;
}

}  // namespace

Compiled compile(const ir::Graph& graph, const CompileOptions& options) {
  ensure_defaults();
  const size_t stages = options.stages ? options.stages->size() : 0;
  Compiled result = compile_once(graph, false, options);
  if (settings.memory_limit == 0 || result.executable->plan().arena_bytes <= free_memory()) return result;
  if (options.stages)
    options.stages->erase(options.stages->begin() + static_cast<ptrdiff_t>(stages), options.stages->end());
  Compiled lean = compile_once(graph, true, options);
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

std::vector<Tensor> run_once(const ir::Graph& graph, std::span<const Tensor> inputs, const CompileOptions& options) {
  return run_once(*compile(optimize(graph, options.stages), options).executable, inputs);
}

std::vector<Tensor> run_once(const Executable& executable, std::span<const Tensor> inputs) {
  const ir::Graph& program = executable.graph();
  std::vector<Tensor> given, outputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor dense = inputs[i].dense();
    given.push_back(dense);
    if (program.inputs()[i].new_value == ir::kNone) continue;
    given.back() = Tensor::empty(dense.type());  // the run overwrites it
    dense.copy_to(given.back().mutable_bytes());
  }
  for (size_t i = 0; i < program.outputs().size(); ++i) {
    const OutputPlace& place = executable.outputs()[i];
    outputs.push_back(place.kind == OutputPlace::Donated ? given[place.index]
                                                         : Tensor::empty(program.type(program.outputs()[i])));
  }
  executable.run(given, outputs);
  return outputs;
}

}  // namespace hone::compiler
