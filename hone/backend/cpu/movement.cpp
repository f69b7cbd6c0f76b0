// Movement as copies of boxes.
#include <algorithm>
#include <cstring>

#include "hone/backend/cpu/box.h"
#include "hone/backend/cpu/install.h"
#include "hone/backend/cpu/movement.h"
#include "hone/ops/attrs.h"
#include "hone/ops/kernel.h"
#include "hone/ops/table.h"
#include "hone/ops/views.h"

namespace hone {
namespace {

int64_t item_of(const KernelCall& call) { return static_cast<int64_t>(size_of(call.outputs[0].dtype())); }

int64_t dot(const Ints& a, const Ints& b) {
  int64_t sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void transpose(const KernelCall& call) {
  const Ints from = strides_of(call.inputs[0]);
  Box box{call.out_shape().numbers(), dense_strides(call.out_shape()), {}};
  for (int64_t axis : call.attrs.as<TransposeAttrs>().permutation) box.from.push_back(from[axis]);
  copy_box(call.out<std::byte>(), call.in<std::byte>(0), box, static_cast<size_t>(item_of(call)));
}

void slice(const KernelCall& call) {
  const auto& attrs = call.attrs.as<SliceAttrs>();
  const Ints from = strides_of(call.inputs[0]);
  Box box{call.out_shape().numbers(), dense_strides(call.out_shape()), from};
  for (size_t i = 0; i < from.size(); ++i) box.from[i] *= attrs.strides[i];
  copy_box(call.out<std::byte>(), call.in<std::byte>(0) + dot(attrs.start.numbers(), from) * item_of(call), box,
           static_cast<size_t>(item_of(call)));
}

void reverse(const KernelCall& call) {
  const Shape& shape = call.out_shape();
  if (shape.count() == 0) return;
  Box box{shape.numbers(), dense_strides(shape), strides_of(call.inputs[0])};
  int64_t offset = 0;
  for (int64_t axis : call.attrs.as<AxesAttrs>().axes) {
    offset += (box.size[axis] - 1) * box.from[axis];
    box.from[axis] = -box.from[axis];
  }
  copy_box(call.out<std::byte>(), call.in<std::byte>(0) + offset * item_of(call), box,
           static_cast<size_t>(item_of(call)));
}

void concatenate(const KernelCall& call) {
  const int64_t axis = call.attrs.as<AxisAttrs>().axis;
  const Ints to = dense_strides(call.out_shape());
  std::byte* at = call.out<std::byte>();
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Tensor& part = call.inputs[i];
    copy_box(at, call.in<std::byte>(static_cast<int>(i)), {part.shape().numbers(), to, strides_of(part)},
             static_cast<size_t>(item_of(call)));
    at += part.shape()[axis].number() * to[axis] * item_of(call);
  }
}

// Along one axis: elements [first, last) of x lie within the result, the first of them at `place`.
struct Inside {
  int64_t first, last, place;
};
Inside inside(int64_t n, int64_t extent, int64_t low, int64_t step) {
  const int64_t first = low >= 0 ? 0 : (-low + step - 1) / step;
  const int64_t last = std::min(n, extent - low <= 0 ? 0 : (extent - low + step - 1) / step);
  return {first, std::max(first, last), low + first * step};
}

void pad(const KernelCall& call) {
  const auto& attrs = call.attrs.as<PadAttrs>();
  const auto item = static_cast<size_t>(item_of(call));
  const Ints from = strides_of(call.inputs[0]), to = dense_strides(call.out_shape()), n = call.in_shape(0).numbers();
  const std::byte* value = call.in<std::byte>(1);
  Box core{{}, to, from};
  Ints place;
  int64_t to_offset = 0, from_offset = 0;
  bool apart = false;
  for (size_t i = 0; i < to.size(); ++i) {
    const int64_t step = attrs.interior[i] + 1;
    const Inside range = inside(n[i], call.out_shape()[i].number(), attrs.low[i], step);
    core.size.push_back(range.last - range.first);
    place.push_back(range.place);
    core.to[i] *= step;
    to_offset += range.place * to[i];
    from_offset += range.first * from[i];
    apart = apart || (step > 1 && core.size[i] > 1);
  }
  std::byte* out = call.out<std::byte>();
  if (apart || core.size.contains(0)) {
    fill_box(out, value, call.out_shape().numbers(), to, item);
  } else {  // only the margins: outer axes within the core, inner ones whole
    Ints size = call.out_shape().numbers();
    int64_t corner = 0;
    for (size_t i = 0; i < to.size(); ++i) {
      const int64_t low = place[i], extent = size[i], high = extent - low - core.size[i];
      size[i] = low;
      fill_box(out + corner * static_cast<int64_t>(item), value, size, to, item);
      size[i] = high;
      fill_box(out + (corner + (extent - high) * to[i]) * static_cast<int64_t>(item), value, size, to, item);
      size[i] = core.size[i];
      corner += low * to[i];
    }
  }
  if (core.size.contains(0)) return;
  copy_box(out + to_offset * static_cast<int64_t>(item),
           call.in<std::byte>(0) + from_offset * static_cast<int64_t>(item), core, item);
}

// Element offset of a block whose start indices are operands `first` and on.
int64_t block_offset(const KernelCall& call, int first, const Shape& shape, const Shape& block, const Ints& strides) {
  int64_t offset = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    const int64_t start = call.inputs[static_cast<size_t>(first + i)].item<int64_t>(),
                  limit = shape[i].number() - block[i].number();
    const bool beyond = start < 0 && call.dtype(first + i) == u64;  // 2^63 and more
    offset += (beyond ? limit : std::clamp<int64_t>(start, 0, limit)) * strides[i];
  }
  return offset;
}

void dynamic_slice(const KernelCall& call) {
  const Ints from = strides_of(call.inputs[0]);
  const int64_t offset = block_offset(call, 1, call.in_shape(0), call.out_shape(), from);
  copy_box(call.out<std::byte>(), call.in<std::byte>(0) + offset * item_of(call),
           {call.out_shape().numbers(), dense_strides(call.out_shape()), from}, static_cast<size_t>(item_of(call)));
}

void dynamic_update_slice(const KernelCall& call) {
  const auto item = static_cast<size_t>(item_of(call));
  const Shape &shape = call.out_shape(), &block = call.in_shape(1);
  const Ints to = dense_strides(shape);
  std::byte* out = call.out<std::byte>();
  if (out == call.in<std::byte>(1)) return;  // in place of an update that replaces all
  if (out != call.in<std::byte>(0))
    copy_box(out, call.in<std::byte>(0), {shape.numbers(), to, strides_of(call.inputs[0])}, item);
  const int64_t offset = block_offset(call, 2, shape, block, to);
  copy_box(out + offset * static_cast<int64_t>(item), call.in<std::byte>(1),
           {block.numbers(), to, strides_of(call.inputs[1])}, item);
}

}  // namespace

void install_cpu_movement() {
  add_kernels(ops::transpose, {{.name = "cpu.transpose", .run = transpose, .reads_strides = true}});
  add_kernels(ops::slice, {{.name = "cpu.slice", .run = slice, .reads_strides = true}});
  add_kernels(ops::reverse, {{.name = "cpu.reverse", .run = reverse, .reads_strides = true}});
  add_kernels(ops::concatenate, {{.name = "cpu.concatenate", .run = concatenate, .reads_strides = true}});
  add_kernels(ops::pad, {{.name = "cpu.pad", .run = pad, .reads_strides = true}});
  add_kernels(ops::dynamic_slice, {{.name = "cpu.dynamic_slice", .run = dynamic_slice, .reads_strides = true}});
  add_kernels(
      ops::dynamic_update_slice,
      {{.name = "cpu.dynamic_update_slice", .run = dynamic_update_slice, .reads_strides = true, .in_place = true}});
  install_cpu_indexed();
  install_cpu_sorting();
  install_cpu_creation();
}

}  // namespace hone
