// Gather and scatter.
#include <algorithm>

#include "hone/backend/cpu/box.h"
#include "hone/backend/cpu/in_f32.h"
#include "hone/backend/cpu/movement.h"
#include "hone/math/index_works.h"
#include "hone/ops/kernel.h"
#include "hone/ops/table.h"
#include "hone/ops/views.h"

namespace hone {
namespace {

constexpr int64_t kGrainBytes = 64 << 10;

// Strides of the axes that are (or are not) listed.
Ints pick(const Ints& strides, const Ints& axes, bool listed) {
  Ints result;
  for (size_t i = 0; i < strides.size(); ++i) {
    if (axes.contains(static_cast<int64_t>(i)) == listed) result.push_back(strides[i]);
  }
  return result;
}

// Joins neighbouring axes that both sides step through without a gap.
void join(Ints& extents, Ints& a, Ints& b) {
  for (size_t i = extents.size(); i-- > 1;) {
    if (a[i - 1] != a[i] * extents[i] || b[i - 1] != b[i] * extents[i]) continue;
    extents[i - 1] *= extents[i];
    extents.erase(i);
    const auto drop = [i](Ints& strides) {
      strides[i - 1] = strides[i];
      strides.erase(i);
    };
    drop(a);
    if (&a != &b) drop(b);
  }
}

// Operand i in one piece: where it lies, or a copy.
WorkMemory dense_operand(Works& works, const KernelQuery& query, int32_t i) {
  const Tensor& x = query.inputs[static_cast<size_t>(i)];
  if (x.layout().dense) return {WorkMemory::Input, i};
  const WorkMemory copy{WorkMemory::Temporary, static_cast<int32_t>(works.temporaries.size())};
  works.temporaries.push_back(static_cast<int64_t>(x.bytes()));
  const Ints size = x.shape().numbers();
  works.works.push_back(
      box_work({size, dense_strides(x.shape()), strides_of(x)}, size_of(x.dtype()), {WorkMemory::Input, i}, copy));
  return copy;
}

Works gather_works(const KernelQuery& query) {
  Works works;
  const auto& attrs = query.attrs.as<GatherAttrs>();
  const Tensor &x = query.inputs[0], &indices = query.inputs[1];
  const Shape& out = query.outputs[0].shape;
  if (out.count() == 0) return works;
  const WorkMemory vectors = dense_operand(works, query, 1);
  const Ints from = strides_of(x), to = dense_strides(out);
  Ints grid = pick(out.numbers(), attrs.offset_dims, false), grid_to = pick(to, attrs.offset_dims, false);
  join(grid, grid_to, grid_to);
  const Box box{pick(attrs.slice_sizes.numbers(), attrs.collapsed_slice_dims, false), pick(to, attrs.offset_dims, true),
                pick(from, attrs.collapsed_slice_dims, false)};
  const auto item = static_cast<int64_t>(size_of(x.dtype()));
  static_assert(kMaxRank <= math::kIndexRank);
  math::GatherParams p{.box = box_loops(box, static_cast<size_t>(item)), .kind = int_kind(indices.dtype())};
  int64_t count = 1;
  for (size_t i = 0; i < grid.size(); ++i) {
    p.grid[i] = grid[i], p.grid_step[i] = grid_to[i] * item;
    count *= grid[i];
  }
  p.grid_rank = static_cast<int32_t>(grid.size());
  const Shape& shape = indices.shape();
  for (int i = static_cast<int>(attrs.index_vector_dim) + 1; i < shape.rank(); ++i) p.inner *= shape[i].number();
  if (attrs.index_vector_dim < shape.rank()) p.vectors = shape[attrs.index_vector_dim].number();
  for (const int64_t axis : attrs.start_index_map) {
    p.limit[p.components] = x.shape()[axis].number() - attrs.slice_sizes[axis].number();
    p.step[p.components++] = from[axis] * item;
  }
  Work work = Work::of(math::WorkId::Gather, p);
  work.memory = {{WorkMemory::Input, 0}, vectors, {WorkMemory::Output, 0}};
  work.count = count;
  work.grain = std::max<int64_t>(1, kGrainBytes / (p.box.outer * p.box.rows * p.box.columns * item + 16));
  works.works.push_back(std::move(work));
  return works;
}

math::ScatterParams scatter_params(const KernelQuery& query) {
  const auto& attrs = query.attrs.as<ScatterAttrs>();
  const Shape &shape = query.outputs[0].shape, &updates = query.inputs[2].shape(), &indices = query.inputs[1].shape();
  math::ScatterParams p{.kind = int_kind(query.inputs[1].dtype())};
  const Ints to = dense_strides(shape), from = dense_strides(updates);
  Ints grid = pick(updates.numbers(), attrs.update_window_dims, false),
       grid_from = pick(from, attrs.update_window_dims, false);
  Ints size = pick(updates.numbers(), attrs.update_window_dims, true),
       window_from = pick(from, attrs.update_window_dims, true),
       window_to = pick(to, attrs.inserted_window_dims, false);
  int64_t row = 1;
  p.components = static_cast<int32_t>(attrs.scatter_dims_to_operand_dims.size());
  for (size_t k = attrs.scatter_dims_to_operand_dims.size(); k-- > 0;) {
    const int64_t axis = attrs.scatter_dims_to_operand_dims[k];
    p.extent[k] = shape[axis].number(), p.step[k] = to[axis], p.row_step[k] = row, p.window_axis[k] = -1;
    row *= p.extent[k];
    if (attrs.inserted_window_dims.contains(axis)) continue;
    p.window_axis[k] = 0, p.blocks = 1;
    for (int64_t i = 0; i < axis; ++i) p.window_axis[k] += attrs.inserted_window_dims.contains(i) ? 0 : 1;
  }
  join(grid, grid_from, grid_from);
  if (!p.blocks) join(size, window_to, window_from);
  p.grid_rank = static_cast<int32_t>(grid.size()), p.window_rank = static_cast<int32_t>(size.size());
  p.count = 1;
  for (size_t i = 0; i < grid.size(); ++i) p.grid[i] = grid[i], p.grid_from[i] = grid_from[i], p.count *= grid[i];
  for (size_t i = 0; i < size.size(); ++i) p.size[i] = size[i], p.to[i] = window_to[i], p.from[i] = window_from[i];
  for (int i = static_cast<int>(attrs.index_vector_dim) + 1; i < indices.rank(); ++i) p.inner *= indices[i].number();
  if (attrs.index_vector_dim < indices.rank()) p.vectors = indices[attrs.index_vector_dim].number();
  return p;
}

math::WorkId scatter_function(int64_t combine, DType dtype) {
  using math::WorkId;
  if (static_cast<Combine>(combine) == Combine::Set) return typed_work(WorkId::ScatterSetF32, dtype);
  return combined_work(WorkId::ScatterSumF32, WorkId::ScatterProdF32, combine, dtype);
}

Works scatter_works(const KernelQuery& query) {
  Works works;
  const Tensor &x = query.inputs[0], &updates = query.inputs[2];
  const Shape& shape = query.outputs[0].shape;
  if (shape.count() == 0) return works;
  const auto item = static_cast<int64_t>(size_of(x.dtype()));
  const WorkMemory result{WorkMemory::Output, 0}, indices = dense_operand(works, query, 1);
  WorkMemory from = dense_operand(works, query, 2);
  if (from.kind == WorkMemory::Input && updates.type() == query.outputs[0]) {  // the result may take their place
    from = {WorkMemory::Temporary, static_cast<int32_t>(works.temporaries.size())};
    works.temporaries.push_back(static_cast<int64_t>(updates.bytes()));
    works.works.push_back(box_work({shape.numbers(), dense_strides(shape), dense_strides(shape)},
                                   static_cast<size_t>(item), {WorkMemory::Input, 2}, from));
  }
  Work copy = box_work({shape.numbers(), dense_strides(shape), strides_of(x)}, static_cast<size_t>(item),
                       {WorkMemory::Input, 0}, result);
  copy.function = math::WorkId::CopyElsewhere;
  works.works.push_back(std::move(copy));
  if (updates.size() == 0) return works;
  const math::ScatterParams p = scatter_params(query);
  Work work = Work::of(scatter_function(query.attrs.as<ScatterAttrs>().combine, x.dtype()), p);
  work.memory = {result, indices, from};
  // Threads share out target rows; each walks all vectors.
  const int64_t products = updates.size() + p.count * 4;
  work.count = 1;
  for (int32_t k = 0; k < p.components && !p.blocks; ++k) work.count *= p.extent[k];
  work.grain = products < 16384 ? work.count : std::max<int64_t>(1, work.count * 8192 / products);
  works.works.push_back(std::move(work));
  return works;
}

}  // namespace

void install_cpu_indexed() {
  Kernel gather = works_kernel<gather_works>("cpu.gather", nullptr);
  Kernel scatter = works_kernel<scatter_works>("cpu.scatter", nullptr);
  gather.reads_strides = scatter.reads_strides = scatter.in_place = true;
  add_kernels(ops::gather, {gather});
  add_kernels(ops::scatter, {scatter});
}

}  // namespace hone
