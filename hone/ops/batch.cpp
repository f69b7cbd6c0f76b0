#include "hone/ops/batch.h"

#include <fmt/format.h>

#include "hone/base/error.h"
#include "hone/ops/movement.h"
#include "hone/ops/views.h"
#include "hone/tensor/interpreter.h"

namespace hone::batch {
namespace {

std::vector<Tensor> results(const BatchContext& c, AttrRef attrs, std::span<Tensor> inputs) {
  std::vector<Tensor> outputs(static_cast<size_t>(c.outputs()));
  Call call{c.call().op, attrs, inputs, outputs, c.call().location};
  dispatch(call);
  return outputs;
}

// Operand i of one example.
Tensor example(const BatchContext& c, int i, int64_t number) {
  if (!c.mapped(i)) return c.in(i);
  Shape start, limit = c.in(i).shape();
  start.resize(limit.size());
  start[0] = number;
  limit[0] = number + 1;
  return reshape(slice_by(c.in(i), start, limit), c.in_type(i).shape);
}

}  // namespace

Tensor moved(const Tensor& x, int from, int to) {
  if (from == to) return x;
  Ints permutation;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (axis != from) permutation.push_back(axis);
  }
  permutation.insert(static_cast<size_t>(to), from);
  return transpose(x, permutation);
}

void call(BatchContext& c, AttrRef attrs, std::span<Tensor> inputs) {
  std::vector<Tensor> outputs = results(c, attrs, inputs);
  for (int i = 0; i < c.outputs(); ++i) c.set(i, std::move(outputs[static_cast<size_t>(i)]));
}

bool leading(BatchContext& c, AttrRef attrs, uint32_t takes) {
  const auto takes_axis = [takes](int i) { return i >= 32 || (takes >> i & 1) != 0; };
  for (int i = 0; i < c.inputs(); ++i) {
    if (c.mapped(i) && !takes_axis(i)) return false;
  }
  TensorList inputs;
  for (int i = 0; i < c.inputs(); ++i) inputs.push_back(takes_axis(i) ? c.stacked(i) : c.in(i));
  call(c, attrs, {inputs.data(), inputs.size()});
  return true;
}

Tensor folded_operand(const BatchContext& c, int i) {
  Shape shape = c.in_type(i).shape;
  shape[0] = shape[0] * c.size();
  return reshape(c.stacked(i), shape);
}

void call_folded(BatchContext& c, AttrRef attrs, std::span<Tensor> inputs) {
  const std::vector<Tensor> outputs = results(c, attrs, inputs);
  for (int i = 0; i < c.outputs(); ++i) {
    Shape shape = c.out_type(i).shape;
    shape.insert(0, c.size());
    c.set(i, reshape(outputs[static_cast<size_t>(i)], shape));
  }
}

bool folded(BatchContext& c, AttrRef attrs) {
  TensorList inputs;
  for (int i = 0; i < c.inputs(); ++i) inputs.push_back(folded_operand(c, i));
  call_folded(c, attrs, {inputs.data(), inputs.size()});
  return true;
}

bool each(BatchContext& c) {
  if (!c.size().is_number()) {
    throw Error(Code::kUnsupported,
                {.what = fmt::format("vmap of {} needs a known number of examples", c.call().op.name),
                 .location = c.call().location,
                 .details = {"there are " + to_string(c.size()) + "; the op is called once for each"},
                 .fix = "map an axis whose extent is a number"});
  }
  std::vector<std::vector<Tensor>> parts(static_cast<size_t>(c.outputs()));
  for (int64_t number = 0; number < c.size().number(); ++number) {
    TensorList inputs;
    for (int i = 0; i < c.inputs(); ++i) inputs.push_back(example(c, i, number));
    std::vector<Tensor> outputs = results(c, c.call().attrs, {inputs.data(), inputs.size()});
    for (size_t i = 0; i < parts.size(); ++i) parts[i].push_back(std::move(outputs[i]));
  }
  for (int i = 0; i < c.outputs(); ++i) c.set(i, stack(parts[static_cast<size_t>(i)]));
  return true;
}

}  // namespace hone::batch
