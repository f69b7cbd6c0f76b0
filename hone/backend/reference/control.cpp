// Branches and loops call by call: a step of a plan that runs programs.
#include "hone/backend/reference/install.h"
#include "hone/ops/kernel.h"
#include "hone/ops/table.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

void run_programs(const KernelCall& call) {
  const InterpreterScope scope(nullptr);
  std::vector<Tensor> inputs(call.inputs.begin(), call.inputs.end()), results(call.outputs.size());
  call.op.decompose({call.op, call.attrs, inputs, results, {}});
  for (size_t i = 0; i < results.size(); ++i) results[i].copy_to(call.outputs[i].mutable_bytes());
}

}  // namespace

void install_reference_control() {
  add_kernels(ops::if_, {{.name = "reference.if", .run = run_programs}});
  add_kernels(ops::while_, {{.name = "reference.while", .run = run_programs}});
}

}  // namespace hone
