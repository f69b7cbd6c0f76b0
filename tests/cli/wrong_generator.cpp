// A code generator (hone/compiler/codegen.h) whose code gives wrong numbers: what `hone bisect` is to find. It has the
// real one compile clusters in which each call's first operand stands for all.
#include <dlfcn.h>

#include <vector>

#include "hone/compiler/codegen.h"

namespace {

using namespace hone::codegen;

const Generator* right = nullptr;

bool compile_map(const MapProgram& program, const TextSink& sink) {
  std::vector<MapStep> steps(program.steps, program.steps + program.step_count);
  for (MapStep& step : steps) {
    if (step.operands == 2) step.in[1] = step.in[0];
  }
  MapProgram wrong = program;
  wrong.steps = steps.data();
  return right->compile_map(wrong, sink);
}

}  // namespace

extern "C" const Generator* hone_jit_generator(int32_t version) {
  void* const library = dlopen(HONE_RIGHT_GENERATOR, RTLD_NOW | RTLD_LOCAL);
  const auto entry = library ? reinterpret_cast<EntryFn>(dlsym(library, kEntry)) : nullptr;
  right = entry ? entry(version) : nullptr;
  static Generator wrong{};
  if (right) wrong = *right, wrong.compile_map = compile_map;
  return right ? &wrong : nullptr;
}
