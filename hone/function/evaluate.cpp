#include "hone/function/evaluate.h"

#include <fmt/format.h>

#include <array>

#include "hone/base/denormals.h"
#include "hone/base/error.h"
#include "hone/base/probe.h"
#include "hone/base/settings.h"
#include "hone/base/small_vector.h"
#include "hone/function/auto_jit.h"
#include "hone/function/check_numerics.h"
#include "hone/ops/kernel.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

constexpr size_t kInline = 8;  // operands and results of nearly every call
using Types = SmallVector<TensorType, 4>;
using TypePointers = SmallVector<const TensorType*, kInline>;

void infer(const Call& call, const TypePointers& inputs, Types& outputs) {
  InferContext context(call.op, call.attrs, {inputs.data(), inputs.size()}, {outputs.data(), outputs.size()},
                       call.location);
  call.op.infer(context);
}

// The input whose memory output `i` may take: a temporary that nobody else sees, of the same type, not yet given away.
const Tensor* reusable(const Call& call, const TensorType& type, uint32_t& used) {
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Tensor& input = call.inputs[i];
    if ((used >> i & 1) == 0 && input.type() == type && input.exclusive()) {
      used |= 1U << i;
      return &input;
    }
  }
  return nullptr;
}

void run(const Kernel& kernel, const Call& call, const Types& types) {
  SmallVector<Tensor, kInline> inputs;
  uint32_t used = 0;
  for (size_t i = 0; i < types.size(); ++i) {
    const Tensor* reuse = kernel.in_place && call.inputs.size() < 32 ? reusable(call, types[i], used) : nullptr;
    call.outputs[i] = reuse ? reuse->alias(types[i]) : Tensor::empty(types[i], call.location);
  }
  std::span<const Tensor> operands = call.inputs;
  if (!kernel.reads_strides) {
    bool packed = true;
    for (const Tensor& input : call.inputs) packed = packed && input.layout().dense;
    if (!packed) {
      for (const Tensor& input : call.inputs) inputs.push_back(input.dense());
      operands = {inputs.data(), inputs.size()};
    }
  }
  std::shared_ptr<const void> prepared;
  if (kernel.prepare) prepared = kernel.prepare({call.op, call.attrs, operands, {types.data(), types.size()}});
  KernelCall ready{call.op, call.attrs, operands, call.outputs, prepared.get()};
  std::shared_ptr<void> state;
  if (kernel.make_state) state = kernel.make_state(ready), ready.state = state.get();
  kernel.run(ready);
  set_last_kernel(kernel.name);
}

[[noreturn]] void fail(const Call& call, const KernelQuery& query) {
  ErrorParts parts{.what = fmt::format("no kernel serves {}", call.op.name), .location = call.location};
  for (const Tensor& input : call.inputs) parts.details.push_back("operand: " + to_string(input.type()));
  if (std::string why = explain_kernels(query); !why.empty()) parts.details.push_back(why.substr(0, why.size() - 1));
  parts.fix = "convert the operands to another dtype: cast(x, f32)";
  throw Error(Code::kUnsupported, std::move(parts));
}

void evaluate_call(Call& call);

}  // namespace

void evaluate(Call& call) {
  if (settings.auto_jit) [[unlikely]] {
    if (enqueue(call)) return;
  }
  const DenormalMode mode;
  if (settings.check_numerics) [[unlikely]] {
    std::vector<Tensor> operands(call.inputs.begin(), call.inputs.end());  // held, so that none is overwritten
    evaluate_call(call);
    return check_numerics(call, operands);
  }
  evaluate_call(call);
}

namespace {

void evaluate_call(Call& call) {
  probe::Scope span("op", call.op.name, {}, call.location);
  TypePointers inputs;
  for (const Tensor& input : call.inputs) {
    if (!input.concrete()) [[unlikely]]
      fail_traced(input, call.location);
    inputs.push_back(&input.type());
  }
  Types types(call.outputs.size());
  infer(call, inputs, types);
  if (span.active() && call.op.cost) {
    const Cost cost = call.op.cost(call.attrs, {inputs.data(), inputs.size()}, {types.data(), types.size()});
    span.cost(cost.flops, cost.bytes);
  }
  if (call.op.view && call.op.view(call, {types.data(), types.size()})) return;

  const std::span<const Kernel> list = kernels(call.op);
  if (settings.reference_kernels) [[unlikely]] {
    if (call.op.decompose) return decompose(call);
    if (!list.empty()) return run(list.back(), call, types);
  }
  const KernelQuery query{call.op, call.attrs, call.inputs, {types.data(), types.size()}};
  for (const Kernel& kernel : list) {
    if (kernel.refuses && kernel.refuses(query)) continue;
    span.detail(kernel.name);
    return run(kernel, call, types);
  }
  if (!call.op.decompose) fail(call, query);
  span.detail("decomposed");
  decompose(call);
}

}  // namespace
}  // namespace hone
