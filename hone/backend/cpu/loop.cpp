// Loops over small tensors: at first by the kernel behind this one, which runs the body's calls; then by machine code,
// one function for all iterations. Both have the same bits.
#include <algorithm>
#include <cstring>

#include "hone/backend/cpu/install.h"
#include "hone/backend/cpu/loop_code.h"
#include "hone/base/settings.h"
#include "hone/base/small_vector.h"
#include "hone/ops/table.h"

namespace hone {
namespace {

const char* refuses(const KernelQuery& query) {
  if (!codegen::built()) return "this build makes no machine code";
  LoopProgram program;
  return lower_loop(query.attrs, query.inputs, program);
}

struct Prepared {
  LoopProgram program;
  std::shared_ptr<LoopCode> code;
  bool wants_code = false;         // whatever settings.jit says
  const Kernel* before = nullptr;  // runs the loop until the code is there; null: it is
  std::shared_ptr<const void> before_prepared;
  mutable std::atomic<bool> has_run{false};
};

void run(const KernelCall& call);

// The one that would take the call if there were no machine code.
const Kernel* kernel_behind(const KernelQuery& query) {
  const std::span<const Kernel> list = kernels(query.op);
  const auto own = std::ranges::find(list, &run, &Kernel::run);
  return &*std::find_if(own + 1, list.end(),
                        [&](const Kernel& kernel) { return !kernel.refuses || !kernel.refuses(query); });
}

std::shared_ptr<const void> prepare(const KernelQuery& query) {
  auto prepared = std::make_shared<Prepared>();
  lower_loop(query.attrs, query.inputs, prepared->program);
  prepared->code = LoopCode::of(prepared->program);
  prepared->wants_code = query.machine_code;
  if (query.machine_code && prepared->code->compile()) return prepared;
  prepared->before = kernel_behind(query);
  if (prepared->before->prepare) prepared->before_prepared = prepared->before->prepare(query);
  return prepared;
}

KernelCall call_before(const KernelCall& call, void* state) {
  KernelCall other = call;
  other.prepared = static_cast<const Prepared*>(call.prepared)->before_prepared.get();
  other.state = state;
  return other;
}

std::shared_ptr<void> make_state(const KernelCall& call) {
  const Kernel* const before = static_cast<const Prepared*>(call.prepared)->before;
  return before && before->make_state ? before->make_state(call_before(call, nullptr)) : nullptr;
}

void run_code(const KernelCall& call, const Prepared& prepared) {
  const LoopProgram& p = prepared.program;
  SmallVector<void*, 64> pointers;
  for (const size_t operand : p.operands) pointers.push_back(call.inputs[operand].mutable_bytes());
  for (const size_t result : p.results) pointers.push_back(call.outputs[result].mutable_bytes());
  prepared.code->run(pointers.data(), p.length);
  for (const size_t carry : p.kept) {
    if (const size_t bytes = call.inputs[carry].bytes(); bytes > 0)
      std::memcpy(call.outputs[carry].mutable_bytes(), call.inputs[carry].mutable_bytes(), bytes);
  }
}

// Whether the code is there; a second run asks for it.
bool has_code(const Prepared& prepared) {
  if (!prepared.before) return true;
  if (!prepared.wants_code && !settings.jit) return false;
  if (!prepared.code->ready() && !prepared.wants_code && prepared.has_run.exchange(true, std::memory_order_relaxed))
    MachineCode::request(prepared.code);
  return prepared.code->ready();
}

void run(const KernelCall& call) {
  const auto& prepared = *static_cast<const Prepared*>(call.prepared);
  if (has_code(prepared)) return run_code(call, prepared);
  prepared.before->run(call_before(call, call.state));
}

}  // namespace

void install_cpu_loops() {
  for (const Op* op : {&ops::while_, &ops::scan}) {
    add_kernels(*op,
                {{.name = "cpu.loop", .refuses = refuses, .run = run, .prepare = prepare, .make_state = make_state}});
  }
}

}  // namespace hone
