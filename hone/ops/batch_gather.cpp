// Batching rules of ops at run-time indices: where the indices are mapped, the number of the example becomes one more
// component of each index vector.
#include "hone/ops/batch.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/promote.h"
#include "hone/ops/views.h"
#include "hone/tensor/interpreter.h"

namespace hone::batch {
namespace {

// Index vectors in a type that holds every extent, with the example's number as component 0.
Tensor numbered(const BatchContext& c, int64_t vector_dim) {
  Tensor indices = c.in(1);
  if (size_of(indices.dtype()) < 4) indices = cast(indices, i32);
  const auto at = static_cast<size_t>(vector_dim) + 1;
  Shape shape = indices.shape();
  if (shape.size() == at) shape.push_back(1);
  indices = reshape(indices, shape);
  shape[at] = 1;
  return concatenate({iota(shape, 0, indices.dtype()), indices}, static_cast<int>(at));
}

void lead_with_zero(Ints& axes) {
  lead(axes);
  axes.insert(0, 0);
}

}  // namespace

bool gather(BatchContext& c) {
  GatherAttrs a = c.attrs_as<GatherAttrs>();
  Tensor indices = c.in(1);
  if (!c.mapped(1)) {  // slices take the axis whole
    lead_with_zero(a.offset_dims);
    lead(a.collapsed_slice_dims);
    lead(a.start_index_map);
    a.slice_sizes.insert(0, c.size());
  } else if (!c.mapped(0)) {
    lead(a.offset_dims);
    ++a.index_vector_dim;
  } else {
    indices = numbered(c, a.index_vector_dim++);
    lead(a.offset_dims);
    lead_with_zero(a.collapsed_slice_dims);
    lead_with_zero(a.start_index_map);
    a.slice_sizes.insert(0, 1);
  }
  c.set(0, call_op(ops::gather, a, {}, c.in(0), indices));
  return true;
}

bool scatter(BatchContext& c) {
  ScatterAttrs a = c.attrs_as<ScatterAttrs>();
  Tensor indices = c.in(1);
  if (!c.mapped(1)) {  // windows span the axis
    lead_with_zero(a.update_window_dims);
    lead(a.inserted_window_dims);
    lead(a.scatter_dims_to_operand_dims);
  } else {
    indices = numbered(c, a.index_vector_dim++);
    lead(a.update_window_dims);
    lead_with_zero(a.inserted_window_dims);
    lead_with_zero(a.scatter_dims_to_operand_dims);
  }
  c.set(0, call_op(ops::scatter, a, {}, c.stacked(0), indices, c.stacked(2)));
  return true;
}

namespace {

// The op itself, if no start index is mapped: the block reaches over all examples.
bool dynamic_block(BatchContext& c, AttrRef attrs, int first) {
  TensorList inputs;
  for (int i = 0; i < c.inputs(); ++i) {
    if (i >= first && c.mapped(i)) return false;
    if (i == first) inputs.push_back(full_like_scalar({}, c.in(i).dtype(), Operand(0)));
    inputs.push_back(i < first ? c.stacked(i) : c.in(i));
  }
  if (c.inputs() == first) inputs.push_back(full_like_scalar({}, i32, Operand(0)));
  call(c, attrs, {inputs.data(), inputs.size()});
  return true;
}

// The start indices as one vector, moved so that a block of these extents fits.
Tensor clamped_start(std::span<const Tensor> start, const Shape& x, const Shape& block) {
  TensorList parts;
  for (size_t i = 0; i < start.size(); ++i) {
    const Dim limit = x[i] - block[i];
    const Tensor index = size_of(start[i].dtype()) < 4 ? cast(start[i], i32) : start[i];
    const Tensor last =
        limit.is_number() ? full_like_scalar({}, i64, Operand(limit.number())) : extent(Shape{limit}, 0, {});
    parts.push_back(cast(clamp(0, index, cast(last, index.dtype())), i64));
  }
  return stack({parts.data(), parts.size()});
}

Ints all_axes(const Shape& shape) {
  Ints axes;
  for (int i = 0; i < shape.rank(); ++i) axes.push_back(i);
  return axes;
}

}  // namespace

bool dynamic_slice(BatchContext& c) {
  return dynamic_block(c, lead(c.attrs_as<ShapeAttrs>(), c.size()), 1) || c.decompose([](const Call& call) {
    const Shape& sizes = call.attrs.as<ShapeAttrs>().shape;
    const Ints axes = all_axes(sizes);
    const Tensor start = clamped_start(call.inputs.subspan(1), call.inputs[0].shape(), sizes);
    call.outputs[0] = call_op(ops::gather, GatherAttrs{axes, {}, axes, 0, sizes}, {}, call.inputs[0], start);
  });
}

bool dynamic_update_slice(BatchContext& c) {
  return dynamic_block(c, {}, 2) || c.decompose([](const Call& call) {
    const Tensor &x = call.inputs[0], &update = call.inputs[1];
    const Ints axes = all_axes(x.shape());
    const Tensor start = clamped_start(call.inputs.subspan(2), x.shape(), update.shape());
    const ScatterAttrs attrs{axes, {}, axes, 0, static_cast<int64_t>(Combine::Set)};
    call.outputs[0] = call_op(ops::scatter, attrs, {}, x, start, update);
  });
}

}  // namespace hone::batch
