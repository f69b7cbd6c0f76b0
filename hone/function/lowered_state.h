// What Lowered shows. Internal.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hone/compiler/pipeline.h"
#include "hone/function/lowered.h"
#include "hone/function/trace.h"

namespace hone {

struct Lowered::State {
  std::shared_ptr<const Trace> trace;
  std::optional<compiler::Compiled> compiled;  ///< none for symbolic shapes
};

/// Calls of a plan that one kernel serves, and why those before it in the list did not.
struct KernelUse {
  std::string op, kernel;
  int64_t calls = 0;
  std::vector<std::string> refused{};
};
std::vector<KernelUse> kernel_uses(const compiler::Plan& plan);

}  // namespace hone
