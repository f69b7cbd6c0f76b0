// hone bisect
#include "hone/compiler/bisect.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <filesystem>

#include "hone/base/file.h"
#include "hone/cli/modes.h"
#include "hone/cli/output.h"
#include "hone/cli/program.h"
#include "hone/cli/verbs.h"
#include "hone/compiler/stablehlo.h"
#include "hone/formats/npy.h"

namespace hone::cli {
namespace {

struct Arguments {
  std::string file, inputs, output;
  std::string mode;
  double tolerance = 0;
  uint64_t seed = 0;
};

// OUT.mlir and OUT.npz, for `hone run` and for this verb.
void save(const compiler::Program& program, const std::string& name) {
  formats::NamedTensors arrays;
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    if (program.graph.inputs()[i].kind == ir::InputKind::Constant) continue;
    arrays.emplace_back(fmt::format("arg{}", arrays.size()), program.inputs[i]);
  }
  write_file_atomic(name + ".mlir", compiler::to_text(program.graph, {.locations = true}));
  formats::write_npz(name + ".npz", arrays);
}

int bisect(const Arguments& arguments) {
  ir::Graph graph = read_program(arguments.file);
  const std::vector<Tensor> inputs = arguments.inputs.empty() ? draw_inputs(graph, arguments.file, arguments.seed)
                                                              : read_inputs(graph, arguments.file, arguments.inputs);
  const std::string mode = chosen_mode(arguments.mode);
  const std::optional<compiler::Culprit> culprit =
      compiler::bisect(graph, inputs, {.machine_code = mode == kJit, .tolerance = arguments.tolerance});
  if (!culprit) {
    print(fmt::format("no difference: mode {} gives the results of the program call by call{}", mode,
                      arguments.tolerance > 0 ? fmt::format(", within {:g}", arguments.tolerance) : ", bit for bit"));
    return kOk;
  }
  const std::string name =
      arguments.output.empty() ? std::filesystem::path(arguments.file).stem().string() + ".bisect" : arguments.output;
  save(culprit->program, name);
  print(fmt::format("{}\nprogram: {}.mlir, {}.npz", to_string(*culprit), name, name));
  return kFailed;
}

}  // namespace

void add_bisect(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("bisect", "Find the pass or kernel that changes the result of a program");
  verb->add_option("file", arguments->file, "Program in StableHLO text; @main is run")
      ->required()
      ->type_name("FILE.mlir");
  verb->add_option("--inputs", arguments->inputs,
                   "Arrays arg0, arg1, ... for the arguments of @main; drawn if left out")
      ->type_name("X.npz");
  verb->add_option("--mode", arguments->mode, "What is compared with the program call by call")
      ->check(CLI::IsMember({kGraph, kJit}))
      ->default_str("jit, or graph without a code generator");
  verb->add_option("--tolerance", arguments->tolerance,
                   "Differences up to this share of a result's largest element do not count")
      ->type_name("T")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb->add_option("--seed", arguments->seed, "Of inputs that are drawn: floats in [-2, 2), integers in [0, 4)")
      ->type_name("N")
      ->capture_default_str();
  verb->add_option("--output", arguments->output,
                   "Where to write the smallest program that shows it: OUT.mlir, OUT.npz")
      ->type_name("OUT")
      ->default_str("FILE.bisect");
  verb->footer(
      "Evaluates the program call by call and compiled. If the results differ, prints the first pass, or the first\n"
      "kernel, that changes them, the op, its source line and the largest difference, and exits with 1.\n"
      "Checks in the program are left out. HONE_PASSES=-NAME,... leaves passes out here too.\n\nExamples:\n"
      "  hone bisect f.mlir --inputs x.npz\n  hone bisect f.mlir --mode graph --tolerance 1e-6 --output small");
  verb->callback([arguments, &exit_code] { exit_code = bisect(*arguments); });
}

}  // namespace hone::cli
