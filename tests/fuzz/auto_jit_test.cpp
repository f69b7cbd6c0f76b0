// Random programs run eagerly with queued calls: the bits and the errors of plain eager mode.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "hone/base/error.h"
#include "hone/base/settings.h"
#include "hone/tensor/interpreter.h"
#include "tests/conformance/cases.h"
#include "tests/fuzz/hunt.h"

namespace hone::fuzz {
namespace {

struct Outcome {
  std::vector<Tensor> values;
  std::string error;
};

Outcome outcome(const Program& program, const std::vector<Tensor>& inputs, int auto_jit) {
  settings.auto_jit = auto_jit;
  Outcome out;
  try {
    const std::vector<Variable> state = variables_of(program);
    out.values = run(program, inputs, state);
    for (const Variable& variable : state) out.values.push_back(variable.value());
  } catch (const Error& error) {
    out.error = error.parts().what;
  }
  return out;
}

// Call by call at first, compiled from the second run.
std::string auto_jit_difference(const Program& program) {
  const std::vector<Tensor> inputs = inputs_of(program);
  const Outcome plain = outcome(program, inputs, 0);
  for (int call = 0; call < 3; ++call) {
    const Outcome queued = outcome(program, inputs, 3);
    std::string differ = queued.error == plain.error
                             ? conformance::difference(queued.values, plain.values)
                             : fmt::format("eager: '{}', queued: '{}'", plain.error, queued.error);
    settings.auto_jit = 0;
    if (!differ.empty()) return fmt::format("call {}: {}", call, differ);
  }
  return {};
}

TEST(GraphFuzz, AutoJitGivesTheBitsOfEager) {
  ensure_defaults();
  const int before = settings.auto_jit;
  int failures = 0;
  for (int seed = 0; seed < rounds(150) && failures < 5; ++seed)
    failures += hold("auto_jit", random_program(static_cast<uint64_t>(seed)), auto_jit_difference);
  settings.auto_jit = before;
}

}  // namespace
}  // namespace hone::fuzz
