// Bisect: which pass or kernel changes the result of a program.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hone/compiler/difference.h"
#include "hone/compiler/pipeline.h"

namespace hone::compiler {

/// A static graph and its inputs in its order, as ir::interpret takes them.
struct Program {
  ir::Graph graph;
  std::vector<Tensor> inputs;
};

/// What changes the result of a program.
struct Culprit {
  enum Kind : uint8_t {
    Pass,    ///< the first step of the pipeline whose program, evaluated call by call, gives another result
    Kernel,  ///< the first call of the plan that gives another result than its op on the same operands
    Memory,  ///< each kernel is right by itself: places in memory overlap, or one does not bear its surroundings
  };
  Kind kind = Pass;
  std::string name{};          ///< of the pass or kernel, as HONE_PASSES and reports spell it
  size_t step = 0, steps = 0;  ///< which step of the pipeline or plan, from 1, and of how many
  Difference difference;       ///< in the results of the program after the pass, of the kernel, or of the run
  std::string op{};            ///< whose result is wrong; of a cluster with its calls
  Location location{};         ///< the user's line of that op
  Program program;             ///< the smallest found in which the same culprit changes the result
};

struct BisectOptions {
  bool machine_code = false;  ///< as in CompileOptions
  double tolerance = 0;       ///< as in difference()
  /// What compiles, and adds the program after each of its steps to `stages`. Null: the pipeline.
  std::function<Compiled(const ir::Graph& graph, std::vector<Stage>& stages)> compile{};
};

/// Runs a static program call by call (clusters and control flow by their definition) and compiled, and searches for
/// what makes the results differ; nothing where they do not. Checks and other calls for their effect alone are left
/// out. Each search compiles about log2(calls) programs, and a few more. Errors: of compiling and running.
std::optional<Culprit> bisect(const ir::Graph& graph, std::span<const Tensor> inputs,
                              const BisectOptions& options = {});

/// Lines for people: pass or kernel, op, source line, difference.
std::string to_string(const Culprit& culprit);

}  // namespace hone::compiler
