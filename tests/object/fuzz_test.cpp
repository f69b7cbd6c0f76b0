// Random programs (tests/fuzz), many in one object, against Hone under Reproducible::Portable: bit for bit, of a NaN
// only that it is one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>

#include "hone/base/error.h"
#include "hone/compiler/object.h"
#include "hone/function/trace.h"
#include "tests/conformance/cases.h"
#include "tests/fuzz/program.h"
#include "tests/object/driver.h"

namespace hone {
namespace {

using fuzz::Program;
using object_test::Machine;

// Programs one after another, as one function.
struct Batch {
  std::vector<Program> programs;
  std::vector<Tensor> inputs, expected;
  std::vector<std::string> of_result;  // the program that a result is of

  void add(const Program& program) {
    programs.push_back(program);
    for (const Tensor& input : fuzz::inputs_of(program)) inputs.push_back(input.dense());
    const std::vector<Variable> variables = fuzz::variables_of(program);
    std::vector<Tensor> results = fuzz::run(program, fuzz::inputs_of(program), variables);
    for (const Variable& variable : variables) results.push_back(variable.value());
    for (Tensor& result : results) {
      expected.push_back(std::move(result));
      of_result.push_back(program.text());
    }
  }

  Trace recorded() const {
    const std::vector<TensorType> types = conformance::types_of(inputs);
    const std::unique_ptr<bool[]> defined = std::make_unique<bool[]>(types.size());
    std::fill_n(defined.get(), types.size(), true);
    std::vector<std::vector<Variable>> variables;
    for (const Program& program : programs) variables.push_back(fuzz::variables_of(program));
    return record({"fuzz", types, {defined.get(), types.size()}},
                  [&](std::span<const Tensor> leaves, std::vector<Tensor>& results, auto&) {
                    size_t leaf = 0;
                    for (size_t i = 0; i < programs.size(); ++i) {
                      const size_t count = fuzz::inputs_of(programs[i]).size();
                      const std::vector<Tensor> own(leaves.begin() + static_cast<std::ptrdiff_t>(leaf),
                                                    leaves.begin() + static_cast<std::ptrdiff_t>(leaf + count));
                      leaf += count;
                      for (Tensor& each : fuzz::run(programs[i], own, variables[i])) results.push_back(std::move(each));
                      for (const Variable& variable : variables[i]) results.push_back(variable.value());
                    }
                  });
  }
};

std::vector<Tensor> values_of(const Trace& trace) {
  std::vector<Tensor> values;
  for (const Variable& variable : trace.variables) values.push_back(variable.value().dense());
  return values;
}

// What keeps a program out of an object; nullopt where it throws.
std::optional<std::vector<std::string>> obstacles(const Program& program) {
  try {
    Batch one;
    one.add(program);
    const Trace trace = one.recorded();
    return compiler::object_obstacles(trace.graph, values_of(trace), trace.results);
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool has_doubles(const Batch& batch) {
  const Trace trace = batch.recorded();
  for (uint32_t value = 0; value < trace.graph.values(); ++value) {
    if (trace.graph.type(value).dtype == f64) return true;
  }
  return false;
}

void expect_same(const Batch& batch, Machine machine, uint32_t levels) {
  const Trace trace = batch.recorded();
  object_test::RunOptions options;
  options.object.levels = levels, options.object.arm64 = machine == Machine::Arm64;
  const compiler::ObjectFiles files =
      compiler::compile_object(trace.graph, values_of(trace), trace.results, options.object);
  const std::vector<Tensor> made =
      object_test::run_object(files, machine, batch.inputs, conformance::types_of(batch.expected), options);
  for (size_t i = 0; i < made.size(); ++i)
    EXPECT_EQ(conformance::difference({&made[i], 1}, {&batch.expected[i], 1}), "")
        << batch.of_result[i] << "\nlevels " << levels;
}

// The first `count` programs that objects hold, from a seed on, which fits `wanted`.
template <class F>
std::vector<Program> programs(int count, F wanted) {
  std::vector<Program> found;
  std::vector<std::string> refused;
  for (uint64_t seed = 0; std::ssize(found) < count && seed < 1000; ++seed) {
    const Program program = fuzz::random_program(seed);
    const std::optional<std::vector<std::string>> why = obstacles(program);
    if (!why) continue;
    if (!why->empty()) {
      refused.push_back(program.text() + ": " + why->front());
      continue;
    }
    Batch one;
    one.add(program);
    if (wanted(one)) found.push_back(program);
  }
  EXPECT_LE(refused.size(), 2U) << fmt::format("{}", refused.empty() ? "" : refused[0]);
  return found;
}

TEST(ObjectFuzz, ProgramsHaveTheBitsOfHoneAtEveryLevel) {
  const compiler::PortableScope portable;
  const std::vector<Program> all = programs(51, [](const Batch&) { return true; });
  ASSERT_EQ(all.size(), 51U);
  // v2 alone, v3 alone, the best of v2 and v4.
  for (const size_t part : {0, 1, 2}) {
    Batch batch;
    for (size_t i = part; i < all.size(); i += 3) batch.add(all[i]);
    expect_same(batch, Machine::Host, std::array{1U, 2U, 5U}[part]);
  }
}

// Without f64, whose functions are libm's, another one there.
TEST(ObjectFuzz, ProgramsHaveTheBitsOfHoneOnAarch64) {
  if (!object_test::available(Machine::Arm64)) GTEST_SKIP() << "no compiler or emulator for aarch64";
  const compiler::PortableScope portable;
  Batch batch;
  for (const Program& program : programs(12, [](const Batch& one) { return !has_doubles(one); })) batch.add(program);
  expect_same(batch, Machine::Arm64, 7);
}

}  // namespace
}  // namespace hone
