// Random programs, held to what must not change their bits: eager or graph, passes on or off, the number of threads,
// the instruction set, the way through text. Their gradients are held to differences.
#include <fmt/format.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "hone/base/error.h"
#include "hone/base/file.h"
#include "hone/base/parallel.h"
#include "hone/compiler/pipeline.h"
#include "hone/compiler/stablehlo.h"
#include "hone/function/function.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/reduction.h"
#include "tests/conformance/cases.h"
#include "tests/fuzz/hunt.h"

namespace hone::fuzz {
namespace {

// What tests change of the process.
class Restored {
 public:
  Restored() = default;
  ~Restored() {
    unsetenv("HONE_PASSES");
    set_threads(threads_);
    settings.poison_memory = false;
    settings.reproducible = Reproducible::Off;
  }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

 private:
  int threads_ = threads();
};

// Sanitized code is slow, and sanitizers look for other things than wrong bits.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
int few(int n) { return rounds(n) / 10; }
#else
int few(int n) { return rounds(n); }
#endif

// ---- eager and graph

struct Setting {
  std::string passes;  // a seed goes behind the last '='
  int threads;
};
Setting seeded(Setting setting, int seed) {
  if (setting.passes.ends_with('=')) setting.passes += std::to_string(seed + 1);
  return setting;
}
const Setting kSettings[] = {{"", 2},          {"-simplify", 2},          {"-cluster", 2},
                             {"-schedule", 1}, {"-remove_dead", 3},       {"-expand_norm,-recompute", 2},
                             {"", 1},          {"-simplify,-cluster", 7}, {"-cluster,-schedule", 2},
                             {"cluster=", 2},  {"-simplify,cluster=", 1}};

// Over two calls, so that state is carried on.
std::string graph_difference(const Program& program, const Setting& setting, bool machine_code) {
  const std::vector<Tensor> inputs = inputs_of(program);
  const std::vector<Variable> eager_state = variables_of(program), graph_state = variables_of(program);
  setenv("HONE_PASSES", setting.passes.c_str(), 1);
  set_threads(setting.threads);
  const auto f = function([&](const std::vector<Tensor>& xs) { return run(program, xs, graph_state); },
                          {.jit_compile = machine_code});
  for (int call = 0; call < 2; ++call) {
    std::vector<Tensor> expected, got;
    std::string eager_error, graph_error;
    try {
      expected = run(program, inputs, eager_state);
    } catch (const Error& error) {
      eager_error = error.parts().what;
    }
    try {
      got = f(inputs);
    } catch (const Error& error) {
      graph_error = error.parts().what;
    }
    if (eager_error != graph_error) return fmt::format("eager: '{}', graph: '{}'", eager_error, graph_error);
    if (!eager_error.empty()) return {};
    for (size_t i = 0; i < eager_state.size(); ++i) {
      expected.push_back(eager_state[i].value());
      got.push_back(graph_state[i].value());
    }
    if (std::string differ = conformance::difference(got, expected); !differ.empty())
      return fmt::format("call {}: {}", call, differ);
  }
  return {};
}

TEST(GraphFuzz, EagerAndGraphAgreeBitForBit) {
  const Restored restored;
  settings.poison_memory = true;
  const int n = rounds(1000);
  int failures = 0, calls = 0;
  for (int seed = 0; seed < n && failures < 5; ++seed) {
    const Program program = random_program(static_cast<uint64_t>(seed));
    const Setting setting = seeded(kSettings[static_cast<size_t>(seed) % std::size(kSettings)], seed);
    trace(fmt::format("program {} with passes '{}'", seed, setting.passes));
    calls += static_cast<int>(program.instructions.size());
    failures += hold("graph", program, [&](const Program& p) {
      const std::string differ = graph_difference(p, setting, seed % 2 == 0);
      return differ.empty() ? differ
                            : fmt::format("passes '{}', {} threads: {}", setting.passes, setting.threads, differ);
    });
  }
  RecordProperty("instructions", calls);
  EXPECT_GT(calls, 5 * n);
}

// ---- threads

// At 1 thread and at `count`, eager and as a graph. Library calls too: in fixed partitions.
std::string threads_difference(const Program& program, int count) {
  set_threads(1);
  const uint64_t expected = hash_of_run(program);
  set_threads(count);
  const uint64_t got = hash_of_run(program);
  return got == expected ? "" : fmt::format("other bits at {} threads", count);
}

TEST(GraphFuzz, ThreadsGiveTheSameBits) {
  const Restored restored;
  settings.reproducible = Reproducible::Threads;
  const int n = few(150);
  int failures = 0;
  for (int seed = 0; seed < n && failures < 3; ++seed) {
    const int count = std::array{2, 3, 7}[static_cast<size_t>(seed) % 3];
    trace(fmt::format("large program {}", seed));
    failures += hold("threads", large_program(static_cast<uint64_t>(seed)),
                     [&](const Program& p) { return threads_difference(p, count); });
  }
}

// ---- text

// Written, read and run: the same bits; written again: the same text.
std::string text_difference(const Program& program, int& unrecorded) {
  try {
    const Recorded whole = recorded(program);
    const ir::Graph& graph = whole.trace.graph;
    const std::vector<Tensor> expected = ir::interpret(graph, whole.inputs);
    std::vector<Tensor> given;  // literals are in the text
    for (size_t i = 0; i < whole.inputs.size(); ++i) {
      if (graph.inputs()[i].kind != ir::InputKind::Constant) given.push_back(whole.inputs[i]);
    }
    const bool generic = program.inputs % 2 == 1;
    const std::string text = compiler::to_text(graph, {.generic = generic, .locations = program.inputs % 3 == 0});
    const ir::Graph read = compiler::parse_text(text, "fuzz");
    ir::verify(read, "parse_text");
    std::vector<Tensor> again;
    size_t place = 0;
    for (const ir::Input& input : read.inputs())
      again.push_back(input.tensor.defined() ? input.tensor : given[place++]);
    if (std::string differ = conformance::difference(compiler::run_once(read, again), expected); !differ.empty())
      return differ;
    // Reading drops what nothing reads, region by region, so a text may shrink a few times.
    std::string last = compiler::to_text(read), next = compiler::to_text(compiler::parse_text(last, "fuzz"));
    for (int i = 0; i < 3 && next != last; ++i)
      last = std::exchange(next, compiler::to_text(compiler::parse_text(next, "fuzz")));
    if (next != last) return "the text changes each time it is read";
    return {};
  } catch (const Error& error) {
    // What cannot be recorded or computed is no matter of the text.
    const Code code = error.code();
    const bool of_text = error.parts().what.find("fuzz:") != std::string::npos || code == Code::kInternal;
    if (!of_text) ++unrecorded;
    return of_text ? std::string(error.what()) : "";
  }
}

TEST(GraphFuzz, ProgramsSurviveTheirText) {
  const Restored restored;
  const int n = few(1000);
  int failures = 0, unrecorded = 0;
  for (int seed = 0; seed < n && failures < 5; ++seed) {
    trace(fmt::format("text of program {}", seed));
    failures += hold("text", random_program(static_cast<uint64_t>(seed)),
                     [&](const Program& p) { return text_difference(p, unrecorded); });
  }
  EXPECT_LT(unrecorded, n / 50);
}

// ---- instruction sets

// The hashes that another process with this environment prints.
std::vector<std::string> hashes_elsewhere(const std::string& environment, const std::vector<Program>& programs) {
  const std::string base = testing::TempDir() + fmt::format("hone-fuzz-{}", getpid());
  std::ofstream given(base + ".in");
  for (const Program& program : programs) given << program.text() << "\n";
  given.close();
  const std::filesystem::path tool = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fuzz_hashes";
  const int status = std::system(fmt::format("{} '{}' <{}.in >{}.out", environment, tool.string(), base, base).c_str());
  std::vector<std::string> lines;
  std::ifstream got(base + ".out");
  for (std::string line; std::getline(got, line);) lines.push_back(line);
  if (status != 0 || lines.size() != programs.size())
    lines.resize(programs.size(), fmt::format("the other process ended with {}", status));
  std::filesystem::remove(base + ".in");
  std::filesystem::remove(base + ".out");
  return lines;
}

TEST(GraphFuzz, InstructionSetsGiveTheSameBits) {
  std::vector<Program> programs;
  for (int seed = 0; seed < few(1000); ++seed) programs.push_back(random_program(static_cast<uint64_t>(seed)));
  for (int seed = 0; seed < few(20); ++seed) programs.push_back(large_program(static_cast<uint64_t>(seed)));
  const std::vector<std::string> expected = hashes_elsewhere("", programs);
  EXPECT_GT(std::set<std::string>(expected.begin(), expected.end()).size(), programs.size() * 3 / 4) << expected[0];
  for (const char* environment : {"HONE_ISA=v2", "HONE_ISA=v3"}) {
    const std::vector<std::string> got = hashes_elsewhere(environment, programs);
    int failures = 0;
    for (size_t i = 0; i < programs.size() && failures < 3; ++i) {
      if (got[i] == expected[i]) continue;
      failures += hold("isa", programs[i], [&](const Program& p) -> std::string {
        const std::string here = hashes_elsewhere("", {p})[0], there = hashes_elsewhere(environment, {p})[0];
        return here == there ? "" : fmt::format("{}: {} and {}", environment, there, here);
      });
    }
  }
}

// ---- gradients

double number(const Tensor& x) { return cast(x, f64).item<double>(); }

enum class Verdict { Good, Wrong, Rough };

// The derivative along a random direction against central differences of two steps, which also say how far to trust
// them: where they disagree, an edge lies between or numbers are too large.
Verdict gradient_verdict(const Program& program, const std::vector<Tensor>& inputs, std::string& text) {
  const std::vector<Tensor> results = run(program, inputs, {});
  const auto f = function([&](const std::vector<Tensor>& xs) { return run(program, xs, {}); });
  if (text = conformance::difference(f(inputs), results, 1e-11); !text.empty()) return Verdict::Wrong;
  Program value = program;
  value.gradients = false;
  std::vector<Tensor> directions;
  double derivative = 0, scale = 1;
  for (size_t i = 0; i < inputs.size(); ++i) {
    directions.push_back(random::normal(random::state(program.inputs + i), inputs[i].shape(), 0, 1, f64).second);
    const Tensor products = results[i + 1] * directions[i];
    derivative += number(sum(products));
    scale += number(sum(abs(products)));
  }
  const auto slope = [&](double step) {
    std::vector<Tensor> up, down;
    for (size_t i = 0; i < inputs.size(); ++i) {
      up.push_back(inputs[i] + directions[i] * step);
      down.push_back(inputs[i] - directions[i] * step);
    }
    return (number(run(value, up, {})[0]) - number(run(value, down, {})[0])) / (2 * step);
  };
  const double coarse = slope(2e-5), fine = slope(1e-5);
  scale += std::abs(number(results[0])) * 1e-5;  // rounding of the value, divided by the step
  const double doubt = std::abs(coarse - fine);
  if (!(doubt < 1e-5 * scale)) return Verdict::Rough;
  if (std::abs(fine - derivative) <= 1e-5 * scale + 10 * doubt) return Verdict::Good;
  text = fmt::format("the tape says {}, differences {} and {}", derivative, fine, coarse);
  return Verdict::Wrong;
}

// An edge may lie between both steps and deceive them; it does not at each point.
Verdict gradient_verdict(const Program& program, std::string& text) {
  std::vector<Tensor> inputs = inputs_of(program);
  Verdict verdict = gradient_verdict(program, inputs, text);
  for (uint64_t point = 1; point < 4 && verdict == Verdict::Wrong; ++point) {
    for (Tensor& input : inputs)
      input = input + random::normal(random::state(1000 + point), input.shape(), 0, 0.01, f64).second;
    verdict = gradient_verdict(program, inputs, text);
  }
  return verdict;
}

TEST(GraphFuzz, GradientsAreDerivatives) {
  const Restored restored;
  const int n = few(1000);
  int failures = 0, good = 0;
  for (int seed = 0; seed < n && failures < 5; ++seed) {
    trace(fmt::format("smooth program {}", seed));
    const Program program = smooth_program(static_cast<uint64_t>(seed));
    failures += hold("gradient", program, [&](const Program& p) {
      std::string text;
      const Verdict verdict = gradient_verdict(p, text);
      good += verdict == Verdict::Good ? 1 : 0;
      return verdict == Verdict::Wrong ? text : "";
    });
  }
  RecordProperty("compared", good);
  EXPECT_GT(good, n * 9 / 10);
}

// ---- programs that failed once

TEST(GraphFuzz, WhatFailedOnceAgreesInEverySetting) {
  const Restored restored;
  int programs = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/fuzz/kept")) {
    if (entry.path().extension() != ".mlir") continue;
    const ir::Graph graph = compiler::parse_text(read_file(entry.path().string()), entry.path().filename().string());
    std::vector<Tensor> inputs;
    for (const ir::Input& input : graph.inputs()) {
      const TensorType& type = graph.type(input.value);
      inputs.push_back(input.tensor.defined() ? input.tensor
                                              : cast(conformance::noise(type.shape, ++programs), type.dtype));
    }
    const std::vector<Tensor> expected = ir::interpret(graph, inputs);
    for (const Setting& setting : kSettings) {
      setenv("HONE_PASSES", seeded(setting, programs).passes.c_str(), 1);
      EXPECT_EQ(conformance::difference(compiler::run_once(graph, inputs), expected), "")
          << entry.path() << ", passes '" << setting.passes << "'";
    }
    const ir::Graph again = compiler::parse_text(compiler::to_text(graph), "kept");
    std::vector<Tensor> given;
    for (const ir::Input& input : again.inputs())
      given.push_back(input.tensor.defined() ? input.tensor : inputs[given.size()]);
    EXPECT_EQ(conformance::difference(ir::interpret(again, given), expected), "") << entry.path();
  }
  EXPECT_GT(programs, 0);
}

// ---- the hunt itself

TEST(GraphFuzz, AnOracleThatSaysNoIsHeard) {
  const Program program = random_program(7);
  ASSERT_GT(program.instructions.size(), 1U);
  const std::string folder = testing::TempDir() + "hone-fuzz-kept";
  setenv("HONE_FUZZ_KEEP", folder.c_str(), 1);
  const uint64_t wanted = program.instructions[1];
  const Oracle oracle = [&](const Program& p) -> std::string {
    return std::ranges::count(p.instructions, wanted) > 0 ? "differs" : "";
  };
  testing::TestPartResultArray failures;
  {
    const testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures);
    EXPECT_TRUE(hold("never", program, oracle));
  }
  unsetenv("HONE_FUZZ_KEEP");
  ASSERT_EQ(failures.size(), 1);
  const std::string message = failures.GetTestPartResult(0).message();
  EXPECT_NE(message.find(fmt::format(": {:#x}\n", wanted)), message.npos) << "one instruction is left: " << message;
  const std::string kept = read_file(fmt::format("{}/never-{:x}.mlir", folder, program.inputs));
  EXPECT_NE(kept.find("func.func public @main"), kept.npos) << kept;
  std::filesystem::remove_all(folder);
  Program parsed;
  ASSERT_TRUE(parse_program(program.text(), parsed));
  EXPECT_EQ(parsed.text(), program.text());
  EXPECT_NE(hash_of_run(random_program(1)), hash_of_run(random_program(2)));
}

}  // namespace
}  // namespace hone::fuzz
