// Sorting, the largest of a row, and running reductions as works.
#pragma once
#include "hone/math/convert.h"
#include "hone/math/index_works.h"
#include "hone/math/reduce.h"
#include "hone/math/work.h"

namespace hone::math {

/// [outer, extent, inner]: lanes along `extent`.
struct LaneParams {
  int64_t extent, inner;
  int32_t backwards;  ///< descending order; from the end
  int32_t item;       ///< bytes of an element, for functions without a type
};
inline constexpr int64_t kLaneColumns = 64;  ///< lanes that running reductions take at once

/// The first k of n in descending order.
struct TopKParams {
  int64_t n, k;
};
/// A key and where it was.
template <class C>
struct SortEntry {
  C key;
  uint32_t place;
};
inline constexpr int64_t kMostSortEntry = 16;  ///< bytes

namespace HONE_LEVEL {

namespace sort_detail {

/// NaN comes last.
template <class C>
struct Before {
  bool descending;
  bool operator()(C a, C b) const {
    if (a != a || b != b) return a == a && b != b;
    return descending ? b < a : a < b;
  }
  bool operator()(const SortEntry<C>& a, const SortEntry<C>& b) const { return (*this)(a.key, b.key); }
};

/// Stably; `spare` has room for as many.
template <class E, class Less>
void sort(E* items, E* spare, int64_t n, const Less& less) {
  constexpr int64_t kRun = 16;
  for (int64_t begin = 0; begin < n; begin += kRun) {
    const int64_t end = n < begin + kRun ? n : begin + kRun;
    for (int64_t i = begin + 1; i < end; ++i) {
      const E item = items[i];
      int64_t at = i;
      for (; at > begin && less(item, items[at - 1]); --at) items[at] = items[at - 1];
      items[at] = item;
    }
  }
  E *from = items, *to = spare;
  for (int64_t width = kRun; width < n; width *= 2) {
    for (int64_t begin = 0; begin < n; begin += 2 * width) {
      const int64_t middle = n < begin + width ? n : begin + width, end = n < middle + width ? n : middle + width;
      int64_t a = begin, b = middle, at = begin;
      while (a < middle && b < end) to[at++] = less(from[b], from[a]) ? from[b++] : from[a++];
      while (a < middle) to[at++] = from[a++];
      while (b < end) to[at++] = from[b++];
    }
    E* const next = from;
    from = to, to = next;
  }
  if (from == items) return;
  for (int64_t i = 0; i < n; ++i) items[i] = from[i];
}

inline int64_t lane_begin(const LaneParams& p, int64_t lane) {
  return lane / p.inner * p.extent * p.inner + lane % p.inner;
}

}  // namespace sort_detail

/// Items are lanes; scratch: two of them. Memory: keys, the same in order.
template <class T>
void sort_work(const WorkArgs& args, int64_t begin, int64_t end) {
  using C = WorkingType<T>;
  const auto& p = *static_cast<const LaneParams*>(args.params);
  C *const keys = static_cast<C*>(static_cast<void*>(args.scratch)), *const spare = keys + p.extent;
  for (int64_t lane = begin; lane < end; ++lane) {
    const int64_t base = sort_detail::lane_begin(p, lane);
    for (int64_t i = 0; i < p.extent; ++i) keys[i] = convert_lane<C>(work_in<T>(args, 0)[base + i * p.inner]);
    sort_detail::sort(keys, spare, p.extent, sort_detail::Before<C>{p.backwards != 0});
    for (int64_t i = 0; i < p.extent; ++i) work_out<T>(args, 1)[base + i * p.inner] = convert_lane<T>(keys[i]);
  }
}
/// Items are lanes; scratch: 2 * extent * kMostSortEntry. Memory: keys, uint32_t places along the axis in order.
template <class T>
void sort_order_work(const WorkArgs& args, int64_t begin, int64_t end) {
  using C = WorkingType<T>;
  using Entry = SortEntry<C>;
  static_assert(sizeof(Entry) <= kMostSortEntry);
  const auto& p = *static_cast<const LaneParams*>(args.params);
  Entry *const entries = static_cast<Entry*>(static_cast<void*>(args.scratch)), *const spare = entries + p.extent;
  for (int64_t lane = begin; lane < end; ++lane) {
    const int64_t base = sort_detail::lane_begin(p, lane);
    for (int64_t i = 0; i < p.extent; ++i)
      entries[i] = {convert_lane<C>(work_in<T>(args, 0)[base + i * p.inner]), static_cast<uint32_t>(i)};
    sort_detail::sort(entries, spare, p.extent, sort_detail::Before<C>{p.backwards != 0});
    for (int64_t i = 0; i < p.extent; ++i) work_out<uint32_t>(args, 1)[base + i * p.inner] = entries[i].place;
  }
}
/// Items are lanes. Memory: those places, an array, the array in their order.
inline void permute_work(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const LaneParams*>(args.params);
  box_detail::with_item(p.item, [&]<class T>(T) {
    for (int64_t lane = begin; lane < end; ++lane) {
      const int64_t base = sort_detail::lane_begin(p, lane);
      for (int64_t i = 0; i < p.extent; ++i) {
        const int64_t from = base + int64_t{work_in<uint32_t>(args, 0)[base + i * p.inner]} * p.inner;
        work_out<T>(args, 2)[base + i * p.inner] = work_in<T>(args, 1)[from];
      }
    }
  });
}

/// Items are rows; scratch: k int32_t. Memory: x, the k largest (NaN before all, the first of equals), their places.
template <class T>
void top_k_work(const WorkArgs& args, int64_t begin, int64_t end) {
  using C = WorkingType<T>;
  const auto& p = *static_cast<const TopKParams*>(args.params);
  int32_t* const heap = static_cast<int32_t*>(static_cast<void*>(args.scratch));  // on top the last of what is kept
  for (int64_t row = begin; row < end; ++row) {
    const T* const x = work_in<T>(args, 0) + row * p.n;
    const auto before = [x](int32_t i, int32_t j) {
      const C a = convert_lane<C>(x[i]), b = convert_lane<C>(x[j]);
      if (a != a || b != b) return a != a && b != b ? i < j : a != a;
      return a == b ? i < j : b < a;
    };
    const auto sink = [&](int64_t at, int64_t size) {
      const int32_t item = heap[at];
      for (int64_t child; (child = 2 * at + 1) < size; at = child) {
        if (child + 1 < size && before(heap[child], heap[child + 1])) ++child;
        if (!before(item, heap[child])) break;
        heap[at] = heap[child];
      }
      heap[at] = item;
    };
    for (int64_t i = 0; i < p.k; ++i) heap[i] = static_cast<int32_t>(i);
    for (int64_t i = p.k / 2; i-- > 0;) sink(i, p.k);
    for (int64_t i = p.k; i < p.n; ++i) {
      if (!before(static_cast<int32_t>(i), heap[0])) continue;
      heap[0] = static_cast<int32_t>(i);
      sink(0, p.k);
    }
    for (int64_t size = p.k; size-- > 1;) {
      const int32_t last = heap[0];
      heap[0] = heap[size], heap[size] = last;
      sink(0, size);
    }
    for (int64_t i = 0; i < p.k; ++i) {
      work_out<T>(args, 1)[row * p.k + i] = x[heap[i]];
      work_out<int32_t>(args, 2)[row * p.k + i] = heap[i];
    }
  }
}

/// Items are blocks of kLaneColumns of `inner`. Memory: x, its running reduction, which may be x.
template <class Op, class T>
void cumulative_work(const WorkArgs& args, int64_t begin, int64_t end) {
  using C = WorkingType<T>;
  const auto& p = *static_cast<const LaneParams*>(args.params);
  const int64_t blocks = (p.inner + kLaneColumns - 1) / kLaneColumns;
  for (int64_t b = begin; b < end; ++b) {
    const int64_t column = b % blocks * kLaneColumns, left = p.inner - column;
    const int64_t width = left < kLaneColumns ? left : kLaneColumns, base = b / blocks * p.extent * p.inner + column;
    C state[kLaneColumns];
    for (int64_t i = 0; i < p.extent; ++i) {
      const int64_t at = base + (p.backwards ? p.extent - 1 - i : i) * p.inner;
      const T* const x = work_in<T>(args, 0) + at;
      T* const out = work_out<T>(args, 1) + at;
      for (int64_t j = 0; j < width; ++j) {
        const C value = convert_lane<C>(x[j]);
        state[j] = i == 0 ? value : apply_one<Op>(state[j], value);
        out[j] = convert_lane<T>(state[j]);
      }
    }
  }
}

}  // namespace HONE_LEVEL
}  // namespace hone::math
