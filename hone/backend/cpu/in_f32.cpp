#include "hone/backend/cpu/in_f32.h"

#include <algorithm>

#include "hone/backend/cpu/map_works.h"
#include "hone/base/small_vector.h"
#include "hone/compiler/plan.h"
#include "hone/ops/attrs.h"
#include "hone/ops/table.h"

namespace hone {
namespace {

// The conversion op's own kernels: one rounding rule, one vector loop.
void convert(const Tensor& from, const Tensor& to) {
  const DTypeAttrs attrs{to.dtype()};
  const TensorType types[] = {to.type()};
  const Tensor inputs[] = {from.dense()}, outputs[] = {to};
  for (const Kernel& kernel : kernels(ops::convert)) {
    if (kernel.refuses && kernel.refuses({ops::convert, attrs, inputs, types})) continue;
    return kernel.run({ops::convert, attrs, inputs, outputs});
  }
}

Tensor in_f32(const Tensor& x) { return is_half(x.dtype()) ? Tensor::empty({f32, x.shape()}) : x; }

}  // namespace

void run_in_f32(const KernelCall& call, void (*run)(const KernelCall&)) {
  SmallVector<Tensor, 8> inputs, outputs;
  for (const Tensor& input : call.inputs) {
    inputs.push_back(in_f32(input));
    if (is_half(input.dtype())) convert(input, inputs[inputs.size() - 1]);
  }
  for (const Tensor& output : call.outputs) outputs.push_back(in_f32(output));
  run({call.op, call.attrs, {inputs.data(), inputs.size()}, {outputs.data(), outputs.size()}, call.prepared});
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (is_half(call.outputs[i].dtype())) convert(outputs[i], call.outputs[i]);
  }
}

Works works_of_f32(const KernelQuery& query, Works (*make)(const KernelQuery&)) {
  SmallVector<Tensor, 8> inputs;
  SmallVector<TensorType, 4> outputs;
  for (const Tensor& input : query.inputs)
    inputs.push_back(is_half(input.dtype()) ? compiler::placeholder({f32, input.shape()}) : input);
  for (const TensorType& output : query.outputs)
    outputs.push_back({is_half(output.dtype) ? f32 : output.dtype, output.shape});
  return make({query.op, query.attrs, {inputs.data(), inputs.size()}, {outputs.data(), outputs.size()}});
}

Works works_in_f32(const KernelQuery& query, Works (*make)(const KernelQuery&)) {
  Works works = works_of_f32(query, make);
  const auto half = [](const auto& list, auto dtype) { return std::ranges::any_of(list, is_half, dtype); };
  if (!half(query.inputs, &Tensor::dtype) && !half(query.outputs, &TensorType::dtype)) return works;
  const auto temporary = [&](const Shape& shape) {
    works.temporaries.push_back(shape.count() * static_cast<int64_t>(sizeof(float)));
    return WorkMemory{WorkMemory::Temporary, static_cast<int32_t>(works.temporaries.size()) - 1};
  };
  const auto add_conversion = [](std::vector<Work>& to, const TensorType& from, DType dtype, WorkMemory source,
                                 WorkMemory target) {
    if (from.shape.count() > 0) to.push_back(convert_work(from, dtype, source, target));
  };
  std::vector<Work> all, after;
  std::vector<WorkMemory> in, out;
  for (size_t i = 0; i < query.inputs.size(); ++i) {
    in.push_back({WorkMemory::Input, static_cast<int32_t>(i)});
    if (!is_half(query.inputs[i].dtype())) continue;
    const WorkMemory half = in[i];
    in[i] = temporary(query.inputs[i].shape());
    add_conversion(all, query.inputs[i].type(), f32, half, in[i]);
  }
  for (size_t i = 0; i < query.outputs.size(); ++i) {
    out.push_back({WorkMemory::Output, static_cast<int32_t>(i)});
    if (!is_half(query.outputs[i].dtype)) continue;
    const WorkMemory half = out[i];
    out[i] = temporary(query.outputs[i].shape);
    add_conversion(after, {f32, query.outputs[i].shape}, query.outputs[i].dtype, out[i], half);
  }
  for (Work& work : works.works) {
    for (WorkMemory& m : work.memory) {
      if (m.kind == WorkMemory::Temporary) continue;
      const int64_t offset = m.offset;
      m = (m.kind == WorkMemory::Input ? in : out)[static_cast<size_t>(m.index)];
      m.offset = offset;
    }
    all.push_back(std::move(work));
  }
  for (Work& work : after) all.push_back(std::move(work));
  works.works = std::move(all);
  return works;
}

}  // namespace hone
