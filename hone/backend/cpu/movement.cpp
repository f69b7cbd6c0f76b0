// Movement as copies of boxes.
#include <algorithm>
#include <cstring>

#include "hone/backend/cpu/box.h"
#include "hone/backend/cpu/in_f32.h"
#include "hone/backend/cpu/install.h"
#include "hone/backend/cpu/movement.h"
#include "hone/base/function_ref.h"
#include "hone/compiler/works.h"
#include "hone/math/index_works.h"
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

// A box that is copied: `to` and `from` are bytes from the beginning of the result and of the operand.
struct Move {
  int operand;
  int64_t to, from;
  Box box;
};
using MoveSink = FunctionRef<void(const Move&)>;  // one after another
struct MoveQuery {
  AttrRef attrs;
  std::span<const Tensor> inputs;
  const Shape& out;
  int64_t item;
};

void transpose(const MoveQuery& q, MoveSink move) {
  const Ints from = strides_of(q.inputs[0]);
  Box box{q.out.numbers(), dense_strides(q.out), {}};
  for (int64_t axis : q.attrs.as<TransposeAttrs>().permutation) box.from.push_back(from[axis]);
  move({0, 0, 0, box});
}

void slice(const MoveQuery& q, MoveSink move) {
  const auto& attrs = q.attrs.as<SliceAttrs>();
  const Ints from = strides_of(q.inputs[0]);
  Box box{q.out.numbers(), dense_strides(q.out), from};
  for (size_t i = 0; i < from.size(); ++i) box.from[i] *= attrs.strides[i];
  move({0, 0, dot(attrs.start.numbers(), from) * q.item, box});
}

void reverse(const MoveQuery& q, MoveSink move) {
  if (q.out.count() == 0) return;
  Box box{q.out.numbers(), dense_strides(q.out), strides_of(q.inputs[0])};
  int64_t offset = 0;
  for (int64_t axis : q.attrs.as<AxesAttrs>().axes) {
    offset += (box.size[axis] - 1) * box.from[axis];
    box.from[axis] = -box.from[axis];
  }
  move({0, 0, offset * q.item, box});
}

void concatenate(const MoveQuery& q, MoveSink move) {
  const int64_t axis = q.attrs.as<AxisAttrs>().axis;
  const Ints to = dense_strides(q.out);
  int64_t at = 0;
  for (size_t i = 0; i < q.inputs.size(); ++i) {
    const Tensor& part = q.inputs[i];
    move({static_cast<int>(i), at, 0, {part.shape().numbers(), to, strides_of(part)}});
    at += part.shape()[axis].number() * to[axis] * q.item;
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

void pad(const MoveQuery& q, MoveSink move) {
  const auto& attrs = q.attrs.as<PadAttrs>();
  const Ints from = strides_of(q.inputs[0]), to = dense_strides(q.out), n = q.inputs[0].shape().numbers();
  Box core{{}, to, from};
  Ints place;
  int64_t to_offset = 0, from_offset = 0;
  bool apart = false;
  for (size_t i = 0; i < to.size(); ++i) {
    const int64_t step = attrs.interior[i] + 1;
    const Inside range = inside(n[i], q.out[i].number(), attrs.low[i], step);
    core.size.push_back(range.last - range.first);
    place.push_back(range.place);
    core.to[i] *= step;
    to_offset += range.place * to[i];
    from_offset += range.first * from[i];
    apart = apart || (step > 1 && core.size[i] > 1);
  }
  const auto fill = [&](int64_t corner, const Ints& size) {
    if (!size.contains(0)) move({1, corner * q.item, 0, {size, to, Ints(size.size(), 0)}});
  };
  if (apart || core.size.contains(0)) {
    fill(0, q.out.numbers());
  } else {  // only the margins: outer axes within the core, inner ones whole
    Ints size = q.out.numbers();
    int64_t corner = 0;
    for (size_t i = 0; i < to.size(); ++i) {
      const int64_t low = place[i], extent = size[i], high = extent - low - core.size[i];
      size[i] = low;
      fill(corner, size);
      size[i] = high;
      fill(corner + (extent - high) * to[i], size);
      size[i] = core.size[i];
      corner += low * to[i];
    }
  }
  if (!core.size.contains(0)) move({0, to_offset * q.item, from_offset * q.item, core});
}

template <void (*kMoves)(const MoveQuery&, MoveSink)>
void run_moves(const KernelCall& call) {
  const int64_t item = item_of(call);
  kMoves({call.attrs, call.inputs, call.out_shape(), item}, [&](const Move& move) {
    copy_box(call.out<std::byte>() + move.to, call.in<std::byte>(move.operand) + move.from, move.box,
             static_cast<size_t>(item));
  });
}

template <void (*kMoves)(const MoveQuery&, MoveSink)>
Works works_of_moves(const KernelQuery& query) {
  Works works;
  const TensorType& out = query.outputs[0];
  const auto item = static_cast<int64_t>(size_of(out.dtype));
  kMoves({query.attrs, query.inputs, out.shape, item}, [&](const Move& move) {
    works.works.push_back(box_work(move.box, static_cast<size_t>(item), {WorkMemory::Input, move.operand, move.from},
                                   {WorkMemory::Output, 0, move.to}));
  });
  return works;
}

template <void (*kMoves)(const MoveQuery&, MoveSink)>
Kernel move_kernel(const char* name) {
  return {.name = name, .run = run_moves<kMoves>, .works = works_of_moves<kMoves>, .reads_strides = true};
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

// The block `block` of an array of this shape and strides, by start indices from operand `first` on.
math::BlockParams block_params(const KernelQuery& query, size_t first, const Shape& shape, const Shape& block,
                               const Ints& strides, const Box& box) {
  static_assert(kMaxRank <= math::kIndexRank);
  const size_t item = size_of(query.outputs[0].dtype);
  math::BlockParams p{.box = box_loops(box, item), .rank = static_cast<int32_t>(shape.rank())};
  for (int i = 0; i < shape.rank(); ++i) {
    p.kinds[i] = int_kind(query.inputs[first + static_cast<size_t>(i)].dtype());
    p.limit[i] = shape[i].number() - block[i].number();
    p.step[i] = strides[static_cast<size_t>(i)] * static_cast<int64_t>(item);
  }
  return p;
}
void add_block(Works& works, math::WorkId id, const math::BlockParams& p, size_t first, WorkMemory from,
               WorkMemory to) {
  Work work = Work::of(id, p);
  work.memory = {from, to};
  for (int i = 0; i < p.rank; ++i)
    work.memory.push_back({WorkMemory::Input, static_cast<int32_t>(first) + static_cast<int32_t>(i)});
  work.count = p.box.outer * p.box.rows;
  work.grain = std::max<int64_t>(1, (128 << 10) / std::max<int64_t>(p.box.columns * p.box.item, 1));
  works.works.push_back(std::move(work));
}

Works dynamic_slice_works(const KernelQuery& query) {
  Works works;
  const Shape& out = query.outputs[0].shape;
  if (out.count() == 0) return works;
  const Ints from = strides_of(query.inputs[0]);
  const Box box{out.numbers(), dense_strides(out), from};
  add_block(works, math::WorkId::BlockFrom, block_params(query, 1, query.inputs[0].shape(), out, from, box), 1,
            {WorkMemory::Input, 0}, {WorkMemory::Output, 0});
  return works;
}

Works dynamic_update_slice_works(const KernelQuery& query) {
  Works works;
  const Tensor &x = query.inputs[0], &update = query.inputs[1];
  const Shape& shape = query.outputs[0].shape;
  if (shape.count() == 0) return works;
  // Elsewhere: the result may lie where x does, or where an update does that replaces all.
  const bool all = update.shape() == shape;
  const Tensor& copied = all ? update : x;
  const Ints to = dense_strides(shape);
  Work copy = box_work({shape.numbers(), to, strides_of(copied)}, size_of(x.dtype()), {WorkMemory::Input, all ? 1 : 0},
                       {WorkMemory::Output, 0});
  copy.function = math::WorkId::CopyElsewhere;
  works.works.push_back(std::move(copy));
  if (all || update.size() == 0) return works;
  const Box box{update.shape().numbers(), to, strides_of(update)};
  add_block(works, math::WorkId::BlockTo, block_params(query, 2, shape, update.shape(), to, box), 2,
            {WorkMemory::Input, 1}, {WorkMemory::Output, 0});
  return works;
}

}  // namespace

void install_cpu_movement() {
  add_kernels(ops::transpose, {move_kernel<transpose>("cpu.transpose")});
  add_kernels(ops::slice, {move_kernel<slice>("cpu.slice")});
  add_kernels(ops::reverse, {move_kernel<reverse>("cpu.reverse")});
  add_kernels(ops::concatenate, {move_kernel<concatenate>("cpu.concatenate")});
  add_kernels(ops::pad, {move_kernel<pad>("cpu.pad")});
  add_kernels(
      ops::dynamic_slice,
      {{.name = "cpu.dynamic_slice", .run = dynamic_slice, .works = dynamic_slice_works, .reads_strides = true}});
  add_kernels(ops::dynamic_update_slice, {{.name = "cpu.dynamic_update_slice",
                                           .run = dynamic_update_slice,
                                           .works = dynamic_update_slice_works,
                                           .reads_strides = true,
                                           .in_place = true}});
  install_cpu_indexed();
  install_cpu_sorting();
  install_cpu_creation();
}

}  // namespace hone
