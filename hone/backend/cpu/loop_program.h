// A loop of calls on small tensors as the code generator takes it.
#pragma once
#include <vector>

#include "hone/compiler/codegen.h"
#include "hone/ops/kernel.h"

namespace hone {

/// What codegen::LoopProgram points to, and which operands and results of the call its pointers are.
struct LoopProgram {
  int32_t rows = 0, constants = 0, hoisted = 0, condition_steps = 0, condition = -1;
  bool reverse = false;
  std::vector<codegen::LoopValue> values;
  std::vector<codegen::LoopStep> steps;
  std::vector<int32_t> next, stacked;
  std::vector<uint64_t> data;

  std::vector<size_t> operands;  ///< carries, rows, what stays the same
  std::vector<size_t> results;   ///< by carry, then by stacked value
  std::vector<size_t> kept;      ///< carries that the body does not change: the result is the operand
  int64_t length = 0;            ///< of a scan
};

/// Fills `program` with a call of `while` or `scan`, whose regions run through the passes first. Null, or why it is no
/// loop that the generator makes (static storage).
const char* lower_loop(AttrRef attrs, std::span<const Tensor> inputs, LoopProgram& program);

}  // namespace hone
