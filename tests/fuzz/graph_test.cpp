// Random programs give the same bits eager and as graphs: with all passes and with each of them off, at any number of
// threads, with dead memory poisoned, twice in a row.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "hone/base/error.h"
#include "hone/base/parallel.h"
#include "hone/function/function.h"
#include "tests/conformance/cases.h"
#include "tests/fuzz/program.h"

namespace hone::fuzz {
namespace {

struct Setting {
  const char* passes;
  int threads;
};
constexpr Setting kSettings[] = {
    {"", 2}, {"-simplify", 2},          {"-cluster", 2},          {"-schedule", 1}, {"-remove_dead", 3},
    {"", 1}, {"-simplify,-cluster", 7}, {"-cluster,-schedule", 2}};

// "" if the graph does what eager does over two calls, else what differs.
std::string difference_of(const Program& program, const Setting& setting) {
  const std::vector<Tensor> inputs = inputs_of(program);
  const std::vector<Variable> eager_state = variables_of(program), graph_state = variables_of(program);
  setenv("HONE_PASSES", setting.passes, 1);
  set_threads(setting.threads);
  const auto f = function([&](const std::vector<Tensor>& xs) { return run(program, xs, graph_state); });
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
  const int threads_before = threads();
  settings.poison_memory = true;
  const int n = rounds(1000);
  int failures = 0, calls = 0;
  for (int seed = 0; seed < n && failures < 5; ++seed) {
    const Program program = random_program(static_cast<uint64_t>(seed));
    const Setting& setting = kSettings[static_cast<size_t>(seed) % std::size(kSettings)];
    trace(fmt::format("program {} with passes '{}'", seed, setting.passes));
    calls += static_cast<int>(program.instructions.size());
    if (difference_of(program, setting).empty()) continue;
    ++failures;
    const Program least = minimise(program, [&](const Program& p) { return !difference_of(p, setting).empty(); });
    ADD_FAILURE() << "seed " << seed << ", passes '" << setting.passes << "', " << setting.threads << " threads\n  "
                  << least.text() << "\n  " << difference_of(least, setting);
  }
  unsetenv("HONE_PASSES");
  set_threads(threads_before);
  settings.poison_memory = false;
  RecordProperty("instructions", calls);
  EXPECT_GT(calls, 5 * n);
}

}  // namespace
}  // namespace hone::fuzz
