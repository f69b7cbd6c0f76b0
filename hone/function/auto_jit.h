// Auto-JIT: eager elementwise calls wait in a queue and run as fused clusters (settings.auto_jit).
#pragma once
#include <cstdint>

#include "hone/tensor/op.h"

namespace hone {

/// Puts the call into the calling thread's queue and gives a pending result, or returns false: the evaluator computes
/// it. Runs the queue before a call that cannot join. Infers the result's type, so an error of the call is raised here.
bool enqueue(Call& call);

/// What queues of the process have run, for tests.
struct AutoJitCounts {
  int64_t clusters = 0;  ///< runs of a compiled queue
  int64_t compiled = 0;  ///< queues that were compiled
  int64_t op_by_op = 0;  ///< queues that ran call by call: the first run of each, and those of one call
};
AutoJitCounts auto_jit_counts();

/// Switches on what HONE_AUTOJIT says, if the program has not. Error kInvalidArgument for a value other than 0 to 3.
void read_auto_jit_environment();

}  // namespace hone
