// Movement by indices that are read when it runs, and what counts places, as works.
#pragma once
#include "hone/math/box_copy.h"
#include "hone/math/convert.h"
#include "hone/math/reduce.h"
#include "hone/math/work.h"

namespace hone::math {

inline constexpr int kIndexRank = 16;

/// A block within an array: its start indices, clamped to [0, limit], step through the array by bytes.
struct BlockParams {
  BoxLoops box;
  int32_t rank = 0;
  IntKind kinds[kIndexRank] = {};
  int64_t limit[kIndexRank] = {}, step[kIndexRank] = {};
};
/// Index vectors j of `components` along an axis of the indices, with `inner` behind it: each names a block of x, which
/// goes to grid point j of the result. Steps in bytes.
struct GatherParams {
  BoxLoops box;
  IntKind kind = {};
  int32_t components = 0, grid_rank = 0;
  int64_t vectors = 1, inner = 1;  ///< components that lie together in the indices
  int64_t limit[kIndexRank] = {}, step[kIndexRank] = {};
  int64_t grid[kIndexRank] = {}, grid_step[kIndexRank] = {};
};
/// Windows of updates go to where index vectors (as GatherParams has them) say. Steps in elements. Axes of a vector lie
/// in the window (window_axis; what lies beyond the target is left out) or are a place of their own (-1).
struct ScatterParams {
  IntKind kind = {};
  int32_t components = 0, grid_rank = 0, window_rank = 0;
  int32_t blocks = 0;  ///< some axis lies in the window: windows may overlap in part
  int64_t count = 0, vectors = 1, inner = 1;
  int64_t grid[kIndexRank] = {}, grid_from[kIndexRank] = {};
  int64_t size[kIndexRank] = {}, to[kIndexRank] = {}, from[kIndexRank] = {};
  int64_t extent[kIndexRank] = {}, step[kIndexRank] = {}, row_step[kIndexRank] = {};
  int32_t window_axis[kIndexRank] = {};
};
/// An element, which fills the result: its bytes and its bits.
struct FillParams {
  int64_t item;
  uint64_t bits;
};
/// [outer, extent, inner].
struct AxisParams {
  int64_t extent, inner;
};

namespace HONE_LEVEL {

/// Integer i; what exceeds 63 bits saturates.
inline int64_t read_int(const std::byte* data, int64_t i, IntKind kind) {
  const auto as = [&](auto value) {
    __builtin_memcpy(&value, data + i * static_cast<int64_t>(sizeof value), sizeof value);
    return value;
  };
  switch (kind.bytes) {
    case 1:
      return kind.is_unsigned ? int64_t{as(uint8_t{})} : int64_t{as(int8_t{})};
    case 2:
      return kind.is_unsigned ? int64_t{as(uint16_t{})} : int64_t{as(int16_t{})};
    case 4:
      return kind.is_unsigned ? int64_t{as(uint32_t{})} : int64_t{as(int32_t{})};
    default: {
      const int64_t value = as(int64_t{});
      return kind.is_unsigned && value < 0 ? INT64_MAX : value;
    }
  }
}
inline int64_t clamp_index(int64_t i, int64_t limit) { return i < 0 ? 0 : i < limit ? i : limit; }

/// Bytes to the block that the operands from `first` on name.
inline int64_t block_offset(const BlockParams& p, const WorkArgs& args, int first) {
  int64_t offset = 0;
  for (int i = 0; i < p.rank; ++i)
    offset += clamp_index(read_int(args.memory[first + i], 0, p.kinds[i]), p.limit[i]) * p.step[i];
  return offset;
}
/// Items are rows of the block. Memory: array, block that it becomes, indices.
inline void block_from(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const BlockParams*>(args.params);
  copy_box(p.box, args.memory[1], args.memory[0] + block_offset(p, args, 2), {begin, end, 0, p.box.columns});
}
/// Items are rows of the block. Memory: block, array that it goes to, indices.
inline void block_to(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const BlockParams*>(args.params);
  copy_box(p.box, args.memory[1] + block_offset(p, args, 2), args.memory[0], {begin, end, 0, p.box.columns});
}
/// copy_box_rows, unless the target is the source.
inline void copy_elsewhere(const WorkArgs& args, int64_t begin, int64_t end) {
  if (args.memory[0] != args.memory[1]) copy_box_rows(args, begin, end);
}

/// Items are index vectors. Memory: x, indices, result.
inline void gather_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const GatherParams*>(args.params);
  for (int64_t j = begin; j < end; ++j) {
    int64_t from = 0, to = 0, rest = j;
    for (int64_t k = 0; k < p.components; ++k) {
      const int64_t at = (j / p.inner * p.vectors + k) * p.inner + j % p.inner;
      from += clamp_index(read_int(args.memory[1], at, p.kind), p.limit[k]) * p.step[k];
    }
    for (int axis = p.grid_rank; axis-- > 0; rest /= p.grid[axis]) to += rest % p.grid[axis] * p.grid_step[axis];
    if (p.box.inner == BoxLoops::Run && p.box.outer * p.box.rows == 1)
      box_detail::copy_run(args.memory[2] + to, args.memory[0] + from, p.box.columns * p.box.item);
    else
      copy_box(p.box, args.memory[2] + to, args.memory[0] + from, {0, p.box.outer * p.box.rows, 0, p.box.columns});
  }
}

struct SetOf {
  template <class V>
  static V apply(V, V b) {
    return b;
  }
};

namespace scatter_detail {

template <class Op, class T>
T combined(T old, T update) {
  using C = WorkingType<T>;
  return convert_lane<T>(Op::apply(Scalar<C>(convert_lane<C>(old)), Scalar<C>(convert_lane<C>(update))).value);
}
/// to[...] = combined(to[...], from[...]) over `size`, whose rank is p's.
template <class Op, class T>
void combine_window(const ScatterParams& p, const int64_t* size, T* to, const T* from) {
  const int last = p.window_rank - 1;
  const int64_t n = last < 0 ? 1 : size[last], to_step = last < 0 ? 1 : p.to[last],
                from_step = last < 0 ? 1 : p.from[last];
  int64_t at[kIndexRank] = {};
  for (int axis = 0; axis >= 0;) {
    if (to_step == 1 && from_step == 1) {
      for (int64_t i = 0; i < n; ++i) to[i] = combined<Op>(to[i], from[i]);
    } else {
      for (int64_t i = 0; i < n; ++i) to[i * to_step] = combined<Op>(to[i * to_step], from[i * from_step]);
    }
    for (axis = last - 1; axis >= 0; --axis) {
      to += p.to[axis], from += p.from[axis];
      if (++at[axis] < size[axis]) break;
      to -= size[axis] * p.to[axis], from -= size[axis] * p.from[axis];
      at[axis] = 0;
    }
  }
}

}  // namespace scatter_detail

/// Items are rows of the target (places of vectors), so that each element is updated in the order of the vectors; with
/// `blocks` there is one item. Memory: target, indices, updates.
template <class Op, class T>
void scatter_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const ScatterParams*>(args.params);
  for (int64_t j = 0; j < p.count; ++j) {
    int64_t size[kIndexRank], to = 0, from = 0, row = 0;
    for (int i = 0; i < p.window_rank; ++i) size[i] = p.size[i];
    bool inside = true;
    for (int64_t k = 0; k < p.components && inside; ++k) {
      const int64_t start = read_int(args.memory[1], (j / p.inner * p.vectors + k) * p.inner + j % p.inner, p.kind);
      const int32_t axis = p.window_axis[k];
      if (axis < 0) {
        inside = start >= 0 && start < p.extent[k];
        to += inside ? start * p.step[k] : 0;
        row += inside ? start * p.row_step[k] : 0;
        continue;
      }
      inside = start < p.extent[k] && start > -size[axis];
      if (!inside) break;
      const int64_t first = start < 0 ? -start : 0, room = p.extent[k] - start;
      from += first * p.from[axis];
      to += (start + first) * p.step[k];
      size[axis] = (size[axis] < room ? size[axis] : room) - first;
    }
    if (!inside || (!p.blocks && (row < begin || row >= end))) continue;
    int64_t rest = j;
    for (int axis = p.grid_rank; axis-- > 0; rest /= p.grid[axis]) from += rest % p.grid[axis] * p.grid_from[axis];
    scatter_detail::combine_window<Op>(p, size, work_out<T>(args, 0) + to, work_in<T>(args, 2) + from);
  }
}

/// Items are results: the place of the first NaN, else of the first largest (or smallest).
template <bool kLargest, class T>
void arg_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const AxisParams*>(args.params);
  for (int64_t i = begin; i < end; ++i) {
    const T* const x = work_in<T>(args, 0) + i / p.inner * p.extent * p.inner + i % p.inner;
    int64_t best = 0;
    T value = x[0];
    for (int64_t k = 1; k < p.extent && value == value; ++k) {
      const T other = x[k * p.inner];
      if (other != other || (kLargest ? other > value : other < value)) best = k, value = other;
    }
    work_out<int64_t>(args, 1)[i] = best;
  }
}

/// Items are elements.
inline void fill_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const FillParams*>(args.params);
  box_detail::with_item(p.item, [&]<class T>(T) {
    for (int64_t i = begin; i < end; ++i) work_out<T>(args, 0)[i] = static_cast<T>(p.bits);
  });
}

/// Items are runs of `inner` equal elements.
template <class T>
void iota_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const AxisParams*>(args.params);
  for (int64_t row = begin; row < end; ++row) {
    T* const to = work_out<T>(args, 0) + row * p.inner;
    for (int64_t i = 0; i < p.inner; ++i) to[i] = static_cast<T>(row % p.extent);
  }
}

}  // namespace HONE_LEVEL
}  // namespace hone::math
