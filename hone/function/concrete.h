// Concrete: a trace bound to numbers, compiled, ready to run. Internal to function().
#pragma once
#include <memory>
#include <span>

#include "hone/compiler/pipeline.h"
#include "hone/function/structure.h"
#include "hone/function/trace.h"

namespace hone::function_detail {

struct Concrete {
  std::shared_ptr<const Trace> trace;
  compiler::Compiled compiled;
  SmallVector<uint32_t, 8> argument_of_input;  // leaf, or index of the variable
  bool writes = false;                         // assigns variables
};

/// Runs it; adds the results' tensors and sizes to those given. Donated arguments are taken, for `call`.
void execute(const Concrete& concrete, std::span<const Tensor> leaves, Location call, Leaves& results,
             Statics& structure);

/// In words, for each donated argument: whether its memory is used ("" where none is donated).
std::string describe_donation(const Trace& trace, const compiler::Executable& executable);

}  // namespace hone::function_detail
