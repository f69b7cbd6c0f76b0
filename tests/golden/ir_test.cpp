// What each pass does, fixed as text: tests/golden/ir/*.mlir are programs with the passes to run and what must come
// out. Programs of one file stand between lines `// -----`. HONE_IR_PRINT=1 prints what comes out, to write a new one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "hone/base/error.h"
#include "hone/base/file.h"
#include "hone/compiler/freeze.h"
#include "hone/compiler/pipeline.h"
#include "hone/compiler/stablehlo.h"
#include "hone/ops/creation.h"
#include "hone/tensor/interpreter.h"
#include "tests/golden/check.h"

namespace hone {
namespace {

using Pass = std::function<ir::Graph(const ir::Graph&)>;
struct Named {
  Pass run;
  bool exact = true;  // gives the same bits
};

const std::map<std::string, Named, std::less<>>& passes() {
  using namespace compiler;
  static const auto* all = new std::map<std::string, Named, std::less<>>{
      {"none", {[](const ir::Graph& g) { return g; }}},
      {"remove_dead", {compiler::remove_dead}},
      {"simplify", {[](const ir::Graph& g) { return simplify(g); }}},
      {"expand_norm", {compiler::expand_norm}},
      {"decompose", {[](const ir::Graph& g) { return compiler::decompose(g); }}},
      {"share_transposes", {compiler::share_transposes}},
      {"recompute", {[](const ir::Graph& g) { return recompute(g); }}},
      {"recompute_contractions", {[](const ir::Graph& g) { return recompute(g, true); }}},
      {"cluster", {[](const ir::Graph& g) { return cluster(g); }}},
      {"schedule", {compiler::schedule}},
      {"freeze", {[](const ir::Graph& g) { return freeze(g, {}); }, false}},
      {"optimize", {[](const ir::Graph& g) { return optimize(g); }}},
      {"compile", {[](const ir::Graph& g) { return compile(optimize(g)).executable->graph(); }}},
  };
  return *all;
}

struct Program {
  std::string name, text;  // "simplify_zero.mlir:12"
  std::vector<std::string> run;
};

std::vector<std::string> run_line(std::string_view text) {
  constexpr std::string_view kRun = "// RUN:";
  const size_t at = text.find(kRun);
  if (at == text.npos) return {};
  std::vector<std::string> names(1);
  for (const char c : text.substr(at + kRun.size(), text.find('\n', at) - at - kRun.size())) {
    if (c == ',')
      names.emplace_back();
    else if (c != ' ')
      names.back() += c;
  }
  return names;
}

std::vector<Program> programs() {
  constexpr std::string_view kCut = "// -----\n";
  std::vector<Program> all;
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden/ir")) files.insert(entry.path());
  for (const std::filesystem::path& path : files) {
    const std::string whole = read_file(path.string());
    for (size_t at = 0; at < whole.size();) {
      const size_t end = std::min(whole.find(kCut, at), whole.size());
      // Empty lines in front, so that messages give lines of the file.
      const auto line = static_cast<size_t>(std::count(whole.begin(), whole.begin() + static_cast<long>(at), '\n'));
      const std::string text = whole.substr(at, end - at);
      all.push_back(
          {fmt::format("{}:{}", path.filename().string(), line + 1), std::string(line, '\n') + text, run_line(text)});
      at = end + kCut.size();
    }
  }
  return all;
}

std::vector<Tensor> inputs_of(const ir::Graph& graph) {
  std::vector<Tensor> inputs;
  for (const ir::Input& input : graph.inputs()) {
    const TensorType& type = graph.type(input.value);
    const Tensor values = random::normal(random::state(inputs.size()), type.shape, 0, 3, f64).second;
    inputs.push_back(input.tensor.defined() ? input.tensor : cast(values, type.dtype).dense());
  }
  return inputs;
}

// Passes add inputs only behind those that are there, or drop none; the given ones have the same order.
void expect_same_bits(const ir::Graph& before, const ir::Graph& after, const std::string& name) {
  if (!before.is_static()) return;
  const std::vector<Tensor> inputs = inputs_of(before);
  std::vector<Tensor> given;
  size_t next = 0;
  for (const ir::Input& input : after.inputs()) {
    while (next < inputs.size() && before.inputs()[next].tensor.defined()) ++next;
    given.push_back(input.tensor.defined() ? input.tensor : inputs[next++]);
  }
  const std::vector<Tensor> expected = ir::interpret(before, inputs), got = ir::interpret(after, given);
  ASSERT_EQ(got.size(), expected.size()) << name;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].type(), expected[i].type()) << name;
    const Tensor a = got[i].dense(), b = expected[i].dense();
    EXPECT_EQ(std::memcmp(a.raw(), b.raw(), a.bytes()), 0) << name << ", result " << i;
  }
}

void run(const Program& program, std::set<std::string>& used) {
  ASSERT_FALSE(program.run.empty()) << program.name << " has no RUN line";
  const ir::Graph before = compiler::parse_text(program.text, program.name);
  ensure_defaults();  // passes ask kernels
  ir::Graph graph = before;
  bool exact = true;
  for (const std::string& name : program.run) {
    const auto pass = passes().find(name);
    ASSERT_NE(pass, passes().end()) << program.name << ": no pass '" << name << "'";
    used.insert(name);
    graph = pass->second.run(graph);
    ir::verify(graph, name);
    exact = exact && pass->second.exact;
  }
  const std::string text = compiler::to_text(graph);
  static const bool print = std::getenv("HONE_IR_PRINT") != nullptr;
  if (print) fmt::print("=== {}\n{}", program.name, text);
  if (const std::string missed = golden::check(text, program.text); !missed.empty())
    ADD_FAILURE() << program.name << "\n" << missed << "\nThe whole text:\n" << text;
  if (exact) expect_same_bits(before, graph, program.name);
  const std::string full = compiler::to_text(graph, {.generic = true, .locations = true});
  if (exact) expect_same_bits(before, compiler::parse_text(full, program.name + " as printed"), program.name);
}

TEST(GoldenIr, PassesGiveWhatTheFilesSay) {
  std::set<std::string> used;
  const std::vector<Program> all = programs();
  for (const Program& program : all) {
    try {
      run(program, used);
    } catch (const Error& error) {
      ADD_FAILURE() << program.name << ": " << error.what();
    }
  }
  EXPECT_GE(all.size(), 55U);
  for (const auto& [name, pass] : passes()) EXPECT_TRUE(used.contains(name)) << "no file runs " << name;
}

}  // namespace
}  // namespace hone
