// Gather and scatter.
#include <algorithm>
#include <cstring>

#include "hone/backend/cpu/box.h"
#include "hone/backend/cpu/in_f32.h"
#include "hone/backend/cpu/movement.h"
#include "hone/base/parallel.h"
#include "hone/math/index_works.h"
#include "hone/ops/combine.h"
#include "hone/ops/kernel.h"
#include "hone/ops/table.h"
#include "hone/ops/views.h"

namespace hone {
namespace {

constexpr int64_t kGrainBytes = 64 << 10;

template <class T>
T read(const std::byte* data, int64_t i) {
  T value;
  std::memcpy(&value, data + i * static_cast<int64_t>(sizeof(T)), sizeof value);
  return value;
}

// The index operand as vectors of components, whatever its type and the place of its vector axis.
class IndexVectors {
 public:
  IndexVectors(const Tensor& indices, int64_t vector_dim)
      : dense_(indices.dense()), data_(dense_.mutable_bytes()), dtype_(indices.dtype()) {
    const Shape& shape = indices.shape();
    for (int i = 0; i < shape.rank(); ++i) {
      if (i < vector_dim) count_ *= shape[i].number();
      if (i > vector_dim) inner_ *= shape[i].number();
    }
    components_ = vector_dim < shape.rank() ? shape[vector_dim].number() : 1;
    count_ *= inner_;
  }
  int64_t count() const { return count_; }
  /// Component k of vector j; what exceeds 63 bits saturates.
  int64_t at(int64_t j, int64_t k) const {
    const int64_t i = inner_ == 1 ? j * components_ + k : (j / inner_ * components_ + k) * inner_ + j % inner_;
    switch (dtype_) {
      case i32:
        return read<int32_t>(data_, i);
      case i64:
        return read<int64_t>(data_, i);
      default:
        return visit_dtype(dtype_, [&](auto kind) -> int64_t {
          if constexpr (std::is_integral_v<decltype(kind)>) {
            if constexpr (std::is_same_v<decltype(kind), uint64_t>)
              return static_cast<int64_t>(std::min<uint64_t>(read<uint64_t>(data_, i), INT64_MAX));
            else
              return static_cast<int64_t>(read<decltype(kind)>(data_, i));
          } else {
            return 0;
          }
        });
    }
  }

 private:
  Tensor dense_;
  const std::byte* data_;
  DType dtype_;
  int64_t count_ = 1, inner_ = 1, components_ = 1;
};

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

// Element offset of grid point j, given extents and strides of the grid's axes.
int64_t grid_offset(int64_t j, const Ints& extents, const Ints& strides) {
  int64_t offset = 0;
  for (size_t i = extents.size(); i-- > 0;) {
    offset += j % extents[i] * strides[i];
    j /= extents[i];
  }
  return offset;
}

void gather(const KernelCall& call) {
  const auto& attrs = call.attrs.as<GatherAttrs>();
  const Shape &shape = call.in_shape(0), &out = call.out_shape();
  if (out.count() == 0) return;
  const IndexVectors indices(call.inputs[1], attrs.index_vector_dim);
  const Ints from = strides_of(call.inputs[0]), to = dense_strides(out);
  Ints grid = pick(out.numbers(), attrs.offset_dims, false), grid_to = pick(to, attrs.offset_dims, false);
  join(grid, grid_to, grid_to);
  const Box box{pick(attrs.slice_sizes.numbers(), attrs.collapsed_slice_dims, false), pick(to, attrs.offset_dims, true),
                pick(from, attrs.collapsed_slice_dims, false)};
  const auto item = static_cast<int64_t>(size_of(call.dtype()));
  const BoxCopy copy(box, static_cast<size_t>(item));
  Ints limits, steps;
  for (int64_t axis : attrs.start_index_map) {
    limits.push_back(shape[axis].number() - attrs.slice_sizes[axis].number());
    steps.push_back(from[axis]);
  }
  const int64_t grain = std::max<int64_t>(1, kGrainBytes / (copy.bytes() + 16));
  parallel_for(
      indices.count(), grain,
      [&](int64_t begin, int64_t end) {
        for (int64_t j = begin; j < end; ++j) {
          int64_t offset = 0;
          for (size_t k = 0; k < limits.size(); ++k) {
            offset += std::clamp<int64_t>(indices.at(j, static_cast<int64_t>(k)), 0, limits[k]) * steps[k];
          }
          copy.run(call.out<std::byte>() + grid_offset(j, grid, grid_to) * item, call.in<std::byte>(0) + offset * item);
        }
      },
      1);
}

Works gather_works(const KernelQuery& query) {
  Works works;
  const auto& attrs = query.attrs.as<GatherAttrs>();
  const Tensor &x = query.inputs[0], &indices = query.inputs[1];
  const Shape& out = query.outputs[0].shape;
  if (out.count() == 0) return works;
  WorkMemory vectors{WorkMemory::Input, 1};
  if (!indices.layout().dense) {
    works = copy_works(indices);
    works.temporaries.push_back(static_cast<int64_t>(indices.bytes()));
    works.works[0].memory = {vectors, {WorkMemory::Temporary, 0}};
    vectors = {WorkMemory::Temporary, 0};
  }
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

// Scatter: the same walk for every type and combination.
class Scatter {
 public:
  explicit Scatter(const KernelCall& call)
      : call_(call), attrs_(call.attrs.as<ScatterAttrs>()), indices_(call.inputs[1], attrs_.index_vector_dim) {
    const Shape &shape = call.out_shape(), &updates = call.in_shape(2);
    const Ints to = dense_strides(shape), from = strides_of(call.inputs[2]);
    grid_ = pick(updates.numbers(), attrs_.update_window_dims, false);
    grid_from_ = pick(from, attrs_.update_window_dims, false);
    window_.size = pick(updates.numbers(), attrs_.update_window_dims, true);
    window_.from = pick(from, attrs_.update_window_dims, true);
    window_.to = pick(to, attrs_.inserted_window_dims, false);
    int64_t row = 1;
    for (size_t k = attrs_.scatter_dims_to_operand_dims.size(); k-- > 0;) {
      const int64_t axis = attrs_.scatter_dims_to_operand_dims[k];
      Component component{shape[axis].number(), to[axis], -1, row};
      row *= component.extent;
      if (!attrs_.inserted_window_dims.contains(axis)) {
        component.window_axis = 0;
        for (int64_t i = 0; i < axis; ++i) component.window_axis += attrs_.inserted_window_dims.contains(i) ? 0 : 1;
        blocks_ = true;
      }
      components_.push_back(component);
    }
    std::reverse(components_.begin(), components_.end());
    rows_ = row;
    join(grid_, grid_from_, grid_from_);
    if (!blocks_) join(window_.size, window_.to, window_.from);
  }

  // apply(target, updates, box): one window. Threads share out target rows, so that each element is updated in index
  // order; blocks that may overlap are done by one.
  template <class F>
  void run(F&& apply) const {
    if (call_.in_shape(2).count() == 0) return;
    int64_t window = 1;
    for (int64_t n : window_.size) window *= n;
    const int64_t work = indices_.count() * (window + 4);
    if (blocks_ || work < 16384) return walk(0, rows_, apply);
    parallel_for(
        rows_, std::max<int64_t>(1, rows_ * 8192 / work), [&](int64_t begin, int64_t end) { walk(begin, end, apply); },
        1);
  }

 private:
  struct Component {
    int64_t extent, step;
    int window_axis;  // -1: inserted
    int64_t row_step;
  };

  template <class F>
  void walk(int64_t first_row, int64_t last_row, F&& apply) const {
    const auto item = static_cast<int64_t>(size_of(call_.dtype()));
    for (int64_t j = 0; j < indices_.count(); ++j) {
      Box box = window_;
      int64_t offset = 0, row = 0, from = grid_offset(j, grid_, grid_from_);
      bool inside = true;
      for (size_t k = 0; k < components_.size(); ++k) {
        const Component& component = components_[k];
        const int64_t start = indices_.at(j, static_cast<int64_t>(k));
        if (component.window_axis < 0) {
          inside = start >= 0 && start < component.extent;
          if (!inside) break;
          offset += start * component.step;
          row += start * component.row_step;
          continue;
        }
        // The part of the window that lies within the target.
        const size_t axis = static_cast<size_t>(component.window_axis);
        if (start >= component.extent || start <= -box.size[axis]) {
          inside = false;
          break;
        }
        const int64_t first = std::max<int64_t>(0, -start), last = std::min(box.size[axis], component.extent - start);
        from += first * box.from[axis];
        offset += (start + first) * component.step;
        box.size[axis] = last - first;
      }
      if (!inside || (!blocks_ && (row < first_row || row >= last_row))) continue;
      apply(call_.out<std::byte>() + offset * item, call_.in<std::byte>(2) + from * item, box);
    }
  }

  const KernelCall& call_;
  const ScatterAttrs& attrs_;
  IndexVectors indices_;
  Ints grid_, grid_from_;
  Box window_;
  FixedVector<Component, kMaxRank> components_;
  int64_t rows_ = 1;
  bool blocks_ = false;
};

// Elements go by the same walk whatever they are: to[...] = combine(to[...], from[...]).
template <class T, Combine kCombine>
void apply(T* to, const T* from, const Box& box, size_t axis) {
  const int64_t n = axis < box.size.size() ? box.size[axis] : 1;
  const int64_t to_step = axis < box.size.size() ? box.to[axis] : 1,
                from_step = axis < box.size.size() ? box.from[axis] : 1;
  if (axis + 1 < box.size.size()) {
    for (int64_t i = 0; i < n; ++i) apply<T, kCombine>(to + i * to_step, from + i * from_step, box, axis + 1);
  } else if (to_step == 1 && from_step == 1) {
    for (int64_t i = 0; i < n; ++i) to[i] = narrow<T>(combine<kCombine>(widen(to[i]), widen(from[i])));
  } else {
    for (int64_t i = 0; i < n; ++i) {
      to[i * to_step] = narrow<T>(combine<kCombine>(widen(to[i * to_step]), widen(from[i * from_step])));
    }
  }
}

void run_scatter(const KernelCall& call) {
  const Scatter scatter(call);
  visit_dtype(call.dtype(), [&](auto kind) {
    using T = decltype(kind);
    visit_combine(static_cast<Combine>(call.attrs.as<ScatterAttrs>().combine), [&](auto how) {
      scatter.run([](std::byte* to, const std::byte* from, const Box& box) {
        apply<T, decltype(how)::value>(static_cast<T*>(static_cast<void*>(to)),
                                       static_cast<const T*>(static_cast<const void*>(from)), box, 0);
      });
    });
  });
}

void scatter(const KernelCall& call) {
  const Tensor &x = call.inputs[0], &updates = call.inputs[2];
  std::byte* out = call.out<std::byte>();
  if (out == call.in<std::byte>(2) &&
      out != call.in<std::byte>(0)) {  // in place of the updates, which are still needed
    const Tensor copy = Tensor::empty(updates.type());
    std::memcpy(copy.mutable_bytes(), out, updates.bytes());
    const Tensor inputs[] = {x, call.inputs[1], copy};
    return scatter({call.op, call.attrs, inputs, call.outputs});
  }
  if (out != call.in<std::byte>(0)) {
    copy_box(out, call.in<std::byte>(0), {x.shape().numbers(), dense_strides(x.shape()), strides_of(x)},
             size_of(x.dtype()));
  }
  run_scatter(call);
}

}  // namespace

void install_cpu_indexed() {
  add_kernels(ops::gather, {{.name = "cpu.gather", .run = gather, .works = gather_works, .reads_strides = true}});
  add_kernels(ops::scatter, {{.name = "cpu.scatter", .run = scatter, .reads_strides = true, .in_place = true}});
}

}  // namespace hone
