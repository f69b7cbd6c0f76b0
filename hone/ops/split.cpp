// split: equal parts along an axis as one op, so that its gradient is one concatenation however many parts there are.
#include <fmt/format.h>

#include "hone/base/small_vector.h"
#include "hone/ops/attrs.h"
#include "hone/ops/creation.h"
#include "hone/ops/family.h"
#include "hone/ops/movement.h"
#include "hone/ops/promote.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

void infer_split(InferContext& c) {
  const auto axis = static_cast<size_t>(c.attrs<AxisAttrs>().axis);
  const int parts = c.outputs();
  if (axis >= c.shape(0).size() || !(mod(c.shape(0)[axis], parts) == Dim(0))) {
    c.fail("shape mismatch", fmt::format("axis {} does not divide into {} equal parts", axis, parts));
  }
  TensorType part = c.in(0);
  part.shape[axis] = floor_div(part.shape[axis], parts);
  for (int i = 0; i < parts; ++i) c.out(i) = part;
}

bool view_split(const Call& call, std::span<const TensorType> types) {
  const Tensor& x = call.inputs[0];
  if (call.attrs.as<AxisAttrs>().axis != 0 || !x.layout().dense) return false;
  const size_t bytes = static_cast<size_t>(types[0].shape.count()) * size_of(types[0].dtype);
  for (size_t i = 0; i < types.size(); ++i) call.outputs[i] = x.alias(types[i], i * bytes);
  return true;
}

void vjp_split(VjpContext& c) {
  std::vector<Tensor> parts;
  const Dim whole = c.in_type(0).shape[static_cast<size_t>(c.attrs_as<AxisAttrs>().axis)];
  const Dim part = c.out_type(0).shape[static_cast<size_t>(c.attrs_as<AxisAttrs>().axis)];
  const int64_t count = part == Dim(0) ? 1 : floor_div(whole, part).number();
  for (int i = 0; i < count; ++i) parts.push_back(family::cotangent(c, i));
  c.set(0, concatenate(parts, static_cast<int>(c.attrs_as<AxisAttrs>().axis)));
}

void decompose_split(const Call& call) {
  const Shape& shape = call.inputs[0].shape();
  const auto axis = static_cast<size_t>(call.attrs.as<AxisAttrs>().axis);
  const Dim part = floor_div(shape[axis], static_cast<int64_t>(call.outputs.size()));
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    Shape start(shape), limit = shape;
    for (Dim& d : start) d = 0;
    start[axis] = part * static_cast<int64_t>(i);
    limit[axis] = part * static_cast<int64_t>(i + 1);
    call.outputs[i] = slice_by(call.inputs[0], start, limit);
  }
}

std::vector<Sample> split_samples() {
  const auto sample = [](Shape shape, int64_t axis, int outputs) {
    return Sample{.inputs = {{f32, shape}}, .attrs = Attrs(AxisAttrs{axis}), .outputs = outputs};
  };
  return {sample({4, 3}, 0, 2), sample({4, 3}, 1, 3), sample({2, 6, 5}, 1, 2), sample({0, 3}, 0, 2), sample({6}, 0, 6)};
}

}  // namespace

constinit const Op ops::split = [] {
  Op op;
  op.name = name(OpId::split);
  op.index = static_cast<int>(OpId::split);
  op.doc = "equal parts along an axis";
  op.operands = "x";
  op.op_class = OpClass::View;
  op.attrs = &attr_type<AxisAttrs>();
  op.outputs = -1;
  op.infer = infer_split;
  op.view = view_split;
  op.vjp = vjp_split;
  op.decompose = decompose_split;
  op.batch = batch::leading<AxisAttrs>;
  op.cost = family::movement_cost;
  op.samples = split_samples;
  return op;
}();

std::vector<Tensor> unstack(Operand x, int axis) {
  const Location location = x.location;
  Tensor value = to_tensor(std::move(x));
  const int at = value.shape().normalize_axis(axis);
  const int64_t parts = value.dim(at);
  Shape shape = value.shape();
  shape.erase(static_cast<size_t>(at));
  if (parts == 0) return {};
  std::vector<Tensor> result = split({value, location}, parts, at);
  for (Tensor& part : result) part = reshape({std::move(part), location}, shape);
  return result;
}

}  // namespace hone
