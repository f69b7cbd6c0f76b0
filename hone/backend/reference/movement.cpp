// Movement by definition: each result element is fetched from, or each operand element sent to, the position the op
// names.
#include <algorithm>

#include "hone/backend/reference/install.h"
#include "hone/backend/reference/movement.h"
#include "hone/backend/reference/walk.h"
#include "hone/ops/combine.h"
#include "hone/ops/table.h"

namespace hone {
namespace {

using namespace reference;  // NOLINT: helpers of this folder

// result[at] = x[source(at)]
template <class F>
void fetch(const KernelCall& call, F&& source) {
  int64_t to = 0;
  for_each_position(call.out_shape(), [&](const Ints& at) {
    copy_element(call.outputs[0], to++, call.inputs[0], offset_of(call.in_shape(0), source(at)));
  });
}

void transpose(const KernelCall& call) {
  const Ints& permutation = call.attrs.as<TransposeAttrs>().permutation;
  fetch(call, [&](const Ints& at) {
    Ints from(at.size(), 0);
    for (size_t i = 0; i < at.size(); ++i) from[permutation[i]] = at[i];
    return from;
  });
}

void slice(const KernelCall& call) {
  const auto& attrs = call.attrs.as<SliceAttrs>();
  fetch(call, [&](Ints at) {
    for (size_t i = 0; i < at.size(); ++i) at[i] = attrs.start[i].number() + at[i] * attrs.strides[i];
    return at;
  });
}

void reverse(const KernelCall& call) {
  fetch(call, [&](Ints at) {
    for (int64_t axis : call.attrs.as<AxesAttrs>().axes) at[axis] = call.out_shape()[axis].number() - 1 - at[axis];
    return at;
  });
}

void concatenate(const KernelCall& call) {
  const int64_t axis = call.attrs.as<AxisAttrs>().axis;
  int64_t start = 0;
  for (const Tensor& part : call.inputs) {
    int64_t from = 0;
    for_each_position(part.shape(), [&](Ints at) {
      at[axis] += start;
      copy_element(call.outputs[0], offset_of(call.out_shape(), at), part, from++);
    });
    start += part.shape()[axis].number();
  }
}

bool within(const Shape& shape, const Ints& at) {
  for (int i = 0; i < shape.rank(); ++i) {
    if (at[i] < 0 || at[i] >= shape[i].number()) return false;
  }
  return true;
}

void pad(const KernelCall& call) {
  const auto& attrs = call.attrs.as<PadAttrs>();
  for (int64_t i = 0; i < call.outputs[0].size(); ++i) copy_element(call.outputs[0], i, call.inputs[1], 0);
  int64_t from = 0;
  for_each_position(call.in_shape(0), [&](Ints at) {
    for (size_t i = 0; i < at.size(); ++i) at[i] = attrs.low[i] + at[i] * (attrs.interior[i] + 1);
    if (within(call.out_shape(), at))
      copy_element(call.outputs[0], offset_of(call.out_shape(), at), call.inputs[0], from);
    ++from;
  });
}

// Start indices (operands `first` and on), moved so that the block fits.
Ints clamped_start(const KernelCall& call, int first, const Shape& block) {
  Ints start;
  for (int i = 0; i < block.rank(); ++i) {
    const int64_t limit = call.in_shape(0)[i].number() - block[i].number();
    start.push_back(std::clamp<int64_t>(integer_at(call.inputs[static_cast<size_t>(first + i)], 0), 0, limit));
  }
  return start;
}

void dynamic_slice(const KernelCall& call) {
  const Ints start = clamped_start(call, 1, call.out_shape());
  fetch(call, [&](Ints at) {
    for (size_t i = 0; i < at.size(); ++i) at[i] += start[i];
    return at;
  });
}

void dynamic_update_slice(const KernelCall& call) {
  const Ints start = clamped_start(call, 2, call.in_shape(1));
  for (int64_t i = 0; i < call.outputs[0].size(); ++i) copy_element(call.outputs[0], i, call.inputs[0], i);
  int64_t from = 0;
  for_each_position(call.in_shape(1), [&](Ints at) {
    for (size_t i = 0; i < at.size(); ++i) at[i] += start[i];
    copy_element(call.outputs[0], offset_of(call.out_shape(), at), call.inputs[1], from++);
  });
}

// ---- gather and scatter

// A position of the grid of index vectors and one within a window, out of a position of both.
void split_position(const Ints& at, const Ints& window_dims, Ints& grid, Ints& window) {
  grid.clear(), window.clear();
  for (size_t i = 0; i < at.size(); ++i)
    (window_dims.contains(static_cast<int64_t>(i)) ? window : grid).push_back(at[i]);
}

// Component k of the index vector at a grid position.
int64_t index_component(const Tensor& indices, Ints grid, int64_t vector_dim, int64_t k) {
  if (vector_dim < indices.rank()) grid.insert(static_cast<size_t>(vector_dim), k);
  return integer_at(indices, offset_of(indices.shape(), grid));
}

// The window position with zeros at the axes that a window lacks.
Ints full_window(const Ints& window, const Ints& missing, int rank) {
  Ints full;
  size_t w = 0;
  for (int axis = 0; axis < rank; ++axis) full.push_back(missing.contains(axis) ? 0 : window[w++]);
  return full;
}

void gather(const KernelCall& call) {
  const auto& attrs = call.attrs.as<GatherAttrs>();
  const Shape& shape = call.in_shape(0);
  Ints grid, window;
  fetch(call, [&](const Ints& at) {
    split_position(at, attrs.offset_dims, grid, window);
    Ints from = full_window(window, attrs.collapsed_slice_dims, shape.rank());
    for (size_t k = 0; k < attrs.start_index_map.size(); ++k) {
      const int64_t axis = attrs.start_index_map[k], limit = shape[axis].number() - attrs.slice_sizes[axis].number();
      from[axis] += std::clamp<int64_t>(
          index_component(call.inputs[1], grid, attrs.index_vector_dim, static_cast<int64_t>(k)), 0, limit);
    }
    return from;
  });
}

void scatter(const KernelCall& call) {
  const auto& attrs = call.attrs.as<ScatterAttrs>();
  const Shape& shape = call.out_shape();
  for (int64_t i = 0; i < call.outputs[0].size(); ++i) copy_element(call.outputs[0], i, call.inputs[0], i);
  Ints grid, window;
  int64_t from = -1;
  visit_dtype(call.dtype(), [&](auto kind) {
    using T = decltype(kind);
    visit_combine(static_cast<Combine>(attrs.combine), [&](auto how) {
      for_each_position(call.in_shape(2), [&](const Ints& at) {
        ++from;
        split_position(at, attrs.update_window_dims, grid, window);
        Ints to = full_window(window, attrs.inserted_window_dims, shape.rank());
        for (size_t k = 0; k < attrs.scatter_dims_to_operand_dims.size(); ++k) {
          const int64_t axis = attrs.scatter_dims_to_operand_dims[k];
          const int64_t start = index_component(call.inputs[1], grid, attrs.index_vector_dim, static_cast<int64_t>(k));
          if (start < -to[axis] || start >= shape[axis].number() - to[axis]) return;
          to[axis] += start;
        }
        T& element = call.out<T>()[offset_of(shape, to)];
        element = narrow<T>(combine<decltype(how)::value>(widen(element), widen(call.in<T>(2)[from])));
      });
    });
  });
}

}  // namespace

void install_reference_movement() {
  add_kernels(ops::transpose, {{.name = "reference.transpose", .run = transpose}});
  add_kernels(ops::slice, {{.name = "reference.slice", .run = slice}});
  add_kernels(ops::reverse, {{.name = "reference.reverse", .run = reverse}});
  add_kernels(ops::concatenate, {{.name = "reference.concatenate", .run = concatenate}});
  add_kernels(ops::pad, {{.name = "reference.pad", .run = pad}});
  add_kernels(ops::dynamic_slice, {{.name = "reference.dynamic_slice", .run = dynamic_slice}});
  add_kernels(ops::dynamic_update_slice, {{.name = "reference.dynamic_update_slice", .run = dynamic_update_slice}});
  add_kernels(ops::gather, {{.name = "reference.gather", .run = gather}});
  add_kernels(ops::scatter, {{.name = "reference.scatter", .run = scatter}});
  install_reference_sorting();
  install_reference_creation();
}

}  // namespace hone
