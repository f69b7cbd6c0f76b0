// hone run
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "hone/base/settings.h"
#include "hone/cli/modes.h"
#include "hone/cli/output.h"
#include "hone/cli/program.h"
#include "hone/cli/verbs.h"
#include "hone/compiler/pipeline.h"
#include "hone/compiler/stablehlo.h"
#include "hone/formats/npy.h"

namespace hone::cli {
namespace {

struct Arguments {
  std::string file, inputs, output;
  std::string mode;
  bool print = false, generic = false, locations = false;
};

using Runner = std::vector<Tensor> (*)(const ir::Graph& graph, std::span<const Tensor> inputs);

std::vector<Tensor> run_reference(const ir::Graph& graph, std::span<const Tensor> inputs) {
  settings.reference_kernels = true;
  return ir::interpret(graph, inputs);
}

std::vector<Tensor> run_graph(const ir::Graph& graph, std::span<const Tensor> inputs) {
  return compiler::run_once(graph, inputs);
}

std::vector<Tensor> run_jit(const ir::Graph& graph, std::span<const Tensor> inputs) {
  return compiler::run_once(graph, inputs, {.machine_code = true});
}

// Who computes; the results of eager, graph and jit are the same bit for bit.
struct Mode {
  std::string_view name;
  Runner run;
};
constexpr Mode kModes[] = {{"reference", run_reference}, {kEager, ir::interpret}, {kGraph, run_graph}, {kJit, run_jit}};

int run(const Arguments& arguments) {
  ir::Graph graph = read_program(arguments.file);
  if (arguments.print) {
    print(compiler::to_text(graph, {.generic = arguments.generic, .locations = arguments.locations}));
    return kOk;
  }
  const std::vector<Tensor> inputs = read_inputs(graph, arguments.file, arguments.inputs);
  const auto mode = std::ranges::find(kModes, chosen_mode(arguments.mode), &Mode::name);
  const std::vector<Tensor> outputs = mode->run(graph, inputs);
  formats::NamedTensors arrays;
  for (size_t i = 0; i < outputs.size(); ++i) arrays.emplace_back(fmt::format("out{}", i), outputs[i]);
  if (!arguments.output.empty()) {
    formats::write_npz(arguments.output, arrays);
    return kOk;
  }
  for (const auto& [name, tensor] : arrays) print(name + ": " + to_string(tensor));
  return kOk;
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("run", "Run a program in StableHLO text (what JAX and Hone print)");
  verb->add_option("file", arguments->file, "Program; @main is run")->required()->type_name("FILE.mlir");
  verb->add_option("--inputs", arguments->inputs, "Arrays arg0, arg1, ... for the arguments of @main")
      ->type_name("X.npz");
  verb->add_option("--output", arguments->output, "Where to write arrays out0, out1, ...; printed if left out")
      ->type_name("Y.npz");
  verb->add_option("--mode", arguments->mode,
                   "Who computes: plain loops, op by op, compiled, or compiled to machine code; the same results")
      ->check(CLI::IsMember({"reference", kEager, kGraph, kJit}))
      ->default_str("jit, or graph without a code generator");
  verb->add_flag("--print", arguments->print, "Print the program as Hone reads it, instead of running it");
  verb->add_flag("--generic", arguments->generic, "With --print: MLIR's generic form");
  verb->add_flag("--locations", arguments->locations, "With --print: source lines as loc(...)");
  verb->footer(
      "check.expect_eq, check.expect_almost_eq and check.expect_close in the program are carried out.\n"
      "From JAX: print(jax.jit(f).lower(x).as_text()) > f.mlir; numpy.savez(\"x.npz\", arg0=x)\n\nExamples:\n"
      "  hone run f.mlir --inputs x.npz --output y.npz\n  hone run f.mlir --print");
  verb->callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace hone::cli
