// The way from a recorded graph to an executable.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hone/base/settings.h"
#include "hone/compiler/executable.h"
#include "hone/compiler/passes.h"

namespace hone::compiler {

/// A pass by its name in HONE_PASSES and in reports, with its switch.
struct PassName {
  const char* name;
  bool PassSettings::* on;
};
std::span<const PassName> pass_names();

/// One step of the pipeline as it ran.
struct PassReport {
  const char* name;
  size_t calls_before, calls_after;
  double milliseconds;
};

struct Compiled {
  std::shared_ptr<const Executable> executable;
  std::vector<PassReport> passes;
  std::vector<FusionDecision> fusion;
};

/// The program after a step of the pipeline.
struct Stage {
  std::string name;
  ir::Graph graph;
};

/// Improves a graph of any shapes without changing a bit of its results: what holds for each binding of its symbols.
/// `stages`, unless null, gets the program after each step behind what it holds.
ir::Graph optimize(const ir::Graph& graph, std::vector<Stage>* stages = nullptr);

struct CompileOptions {
  bool machine_code = false;  ///< made before compile returns; else in the background while it runs (settings.jit)
  std::vector<Stage>* stages = nullptr;  ///< as optimize takes it
  bool objects = false;  ///< by kernels that have works where there are some (compiler/works.h), ops decomposed for it
};

/// Compiles a static graph for the CPU. HONE_PASSES=-NAME,... and settings.passes leave passes out, cluster=SEED in it
/// cuts clusters at random; HONE_DUMP=DIR writes the graph after each pass that changed it, then what was fused, the
/// plan, its memory and machine code. Error kUnsupported for an op that nobody serves.
Compiled compile(const ir::Graph& graph, const CompileOptions& options = {});

/// Where HONE_DUMP wants texts; empty for nowhere. The folder is made.
const std::string& dump_directory();

/// Compiles a static graph and runs it once. `inputs` as ir::interpret takes them; they stay as they are.
std::vector<Tensor> run_once(const ir::Graph& graph, std::span<const Tensor> inputs,
                             const CompileOptions& options = {});
/// The same with what was compiled.
std::vector<Tensor> run_once(const Executable& executable, std::span<const Tensor> inputs);

}  // namespace hone::compiler
