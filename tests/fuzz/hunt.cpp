#include "tests/fuzz/hunt.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "hone/base/error.h"
#include "hone/base/file.h"
#include "hone/compiler/stablehlo.h"

namespace hone::fuzz {

Recorded recorded(const Program& program) {
  const std::vector<Tensor> arguments = inputs_of(program);
  const std::vector<Variable> variables = variables_of(program);
  std::vector<TensorType> types;
  for (const Tensor& argument : arguments) types.push_back(argument.type());
  constexpr bool kDefined[] = {true, true, true, true};
  Recorded out{record({"fuzz", types, {kDefined, types.size()}},
                      [&](std::span<const Tensor> leaves, std::vector<Tensor>& results, auto&) {
                        results = run(program, {leaves.begin(), leaves.end()}, variables);
                      }),
               {}};
  size_t argument = 0, variable = 0;
  for (const ir::Input& input : out.trace.graph.inputs()) {
    out.inputs.push_back(input.tensor.defined()                  ? input.tensor
                         : input.kind == ir::InputKind::Variable ? out.trace.variables[variable++].value()
                                                                 : arguments[argument++]);
  }
  return out;
}

std::string ir_text(const Program& program) {
  try {
    return compiler::to_text(recorded(program).trace.graph);
  } catch (const Error& error) {
    return fmt::format("// {}\n", error.parts().what);
  }
}

bool hold(const char* oracle, const Program& program, const Oracle& difference) {
  if (difference(program).empty()) return false;
  const Program least = minimise(program, [&](const Program& p) { return !difference(p).empty(); });
  const std::string what = difference(least), ir = ir_text(least);
  const char* const wanted = std::getenv("HONE_FUZZ_KEEP");
  const std::filesystem::path folder = wanted ? wanted : std::filesystem::temp_directory_path() / "hone-fuzz";
  const std::string file = (folder / fmt::format("{}-{:x}.mlir", oracle, program.inputs)).string();
  std::filesystem::create_directories(folder);
  write_file_atomic(file, fmt::format("// Oracle: {}\n// Program: {}\n// {}\n{}", oracle, least.text(), what, ir));
  ADD_FAILURE() << oracle << ": " << what << "\n  " << least.text() << "\n  kept as " << file
                << "; once mended, move it to tests/fuzz/kept\n"
                << ir;
  return true;
}

}  // namespace hone::fuzz
