// Sort, top_k and running reductions: lanes in parallel, each in sequence.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "hone/backend/cpu/movement.h"
#include "hone/base/parallel.h"
#include "hone/ops/combine.h"
#include "hone/ops/kernel.h"
#include "hone/ops/table.h"

namespace hone {
namespace {

// A shape seen from one axis: [outer, n, inner].
struct Lanes {
  int64_t outer = 1, n = 1, inner = 1;
  Lanes(const Shape& shape, int64_t axis) {
    for (int i = 0; i < shape.rank(); ++i) (i < axis ? outer : i == axis ? n : inner) *= shape[i].number();
  }
};

// Memory of a thread's own while it works, from the device's caches.
template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t n) : memory_(Tensor::empty({u8, {n * static_cast<int64_t>(sizeof(T))}})) {}
  T* begin() const { return static_cast<T*>(static_cast<void*>(memory_.mutable_bytes())); }

 private:
  Tensor memory_;
};

// ---- cumulative

template <class T, Combine kCombine>
void cumulative_lanes(const KernelCall& call, const Lanes& lanes, bool reverse) {
  constexpr int64_t kColumns = 64;  // lanes that run beside each other
  using C = ComputeOf<T>;
  const int64_t blocks = (lanes.inner + kColumns - 1) / kColumns;
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, lanes.n * std::min(kColumns, lanes.inner)));
  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t column = b % blocks * kColumns, width = std::min(kColumns, lanes.inner - column);
      const int64_t base = b / blocks * lanes.n * lanes.inner + column;
      C state[kColumns];
      for (int64_t i = 0; i < lanes.n; ++i) {
        const int64_t at = base + (reverse ? lanes.n - 1 - i : i) * lanes.inner;
        const T* x = call.in<T>(0) + at;
        T* out = call.out<T>() + at;
        for (int64_t j = 0; j < width; ++j) {
          state[j] = i == 0 ? widen(x[j]) : combine<kCombine>(state[j], widen(x[j]));
          out[j] = narrow<T>(state[j]);
        }
      }
    }
  };
  parallel_for(lanes.outer * blocks, grain, run, 1);
}

void cumulative(const KernelCall& call) {
  const auto& attrs = call.attrs.as<CumulativeAttrs>();
  const Lanes lanes(call.out_shape(), attrs.axis);
  visit_dtype(call.dtype(), [&](auto kind) {
    using T = decltype(kind);
    if constexpr (!std::is_same_v<T, bool>) {
      visit_combine(static_cast<Combine>(attrs.combine),
                    [&](auto how) { cumulative_lanes<T, decltype(how)::value>(call, lanes, attrs.reverse); });
    }
  });
}

// ---- sort

template <class C>
struct Before {
  bool descending;
  bool operator()(C a, C b) const {
    if (a != a || b != b) return a == a && b != b;  // NaN last
    return descending ? b < a : a < b;
  }
};

// As std::stable_sort, which takes its buffer from the heap; `spare` has room for as many.
template <class E, class Less>
void sort_stably(E* items, E* spare, int64_t n, const Less& less) {
  constexpr int64_t kRun = 16;
  for (int64_t begin = 0; begin < n; begin += kRun) {
    const int64_t end = std::min(n, begin + kRun);
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
      const int64_t middle = std::min(n, begin + width), end = std::min(n, begin + 2 * width);
      std::merge(from + begin, from + middle, from + middle, from + end, to + begin, less);
    }
    std::swap(from, to);
  }
  if (from != items) std::copy(from, from + n, items);
}

// The key alone.
template <class T>
void sort_keys(const KernelCall& call, const Lanes& lanes, bool descending, int64_t begin, int64_t end) {
  using C = ComputeOf<T>;
  const Scratch<C> keys(lanes.n), spare(lanes.n);
  for (int64_t lane = begin; lane < end; ++lane) {
    const int64_t base = lane / lanes.inner * lanes.n * lanes.inner + lane % lanes.inner;
    for (int64_t i = 0; i < lanes.n; ++i) keys.begin()[i] = widen(call.in<T>(0)[base + i * lanes.inner]);
    sort_stably(keys.begin(), spare.begin(), lanes.n, Before<C>{descending});
    for (int64_t i = 0; i < lanes.n; ++i) call.out<T>()[base + i * lanes.inner] = narrow<T>(keys.begin()[i]);
  }
}

template <class T>
void sort_all(const KernelCall& call, const Lanes& lanes, bool descending, int64_t begin, int64_t end) {
  using C = ComputeOf<T>;
  struct Entry {
    C key;
    uint32_t place;
  };
  const Scratch<Entry> entries(lanes.n), spare(lanes.n);
  for (int64_t lane = begin; lane < end; ++lane) {
    const int64_t base = lane / lanes.inner * lanes.n * lanes.inner + lane % lanes.inner;
    for (int64_t i = 0; i < lanes.n; ++i)
      entries.begin()[i] = {widen(call.in<T>(0)[base + i * lanes.inner]), static_cast<uint32_t>(i)};
    sort_stably(entries.begin(), spare.begin(), lanes.n,
                [before = Before<C>{descending}](const Entry& a, const Entry& b) { return before(a.key, b.key); });
    for (size_t k = 0; k < call.inputs.size(); ++k) {
      const size_t item = size_of(call.inputs[k].dtype());
      const auto* from = call.in<std::byte>(static_cast<int>(k));
      auto* to = call.out<std::byte>(static_cast<int>(k));
      for (int64_t i = 0; i < lanes.n; ++i) {
        const int64_t source = base + static_cast<int64_t>(entries.begin()[i].place) * lanes.inner;
        std::memcpy(to + static_cast<size_t>(base + i * lanes.inner) * item, from + static_cast<size_t>(source) * item,
                    item);
      }
    }
  }
}

const char* refuses_sort(const KernelQuery& query) {
  return query.outputs[0].shape[query.attrs.as<SortAttrs>().axis].number() > UINT32_MAX
             ? "axis of 2^32 elements or more"
             : nullptr;
}

void sort(const KernelCall& call) {
  const auto& attrs = call.attrs.as<SortAttrs>();
  const Lanes lanes(call.out_shape(), attrs.axis);
  if (call.out_shape().count() == 0) return;
  const int64_t grain = std::max<int64_t>(1, 4096 / lanes.n);
  parallel_for(
      lanes.outer * lanes.inner, grain,
      [&](int64_t begin, int64_t end) {
        visit_dtype(call.dtype(), [&](auto kind) {
          using T = decltype(kind);
          if (call.inputs.size() == 1)
            sort_keys<T>(call, lanes, attrs.descending, begin, end);
          else
            sort_all<T>(call, lanes, attrs.descending, begin, end);
        });
      },
      1);
}

// ---- top_k

template <class T>
void top_k_rows(const KernelCall& call, int64_t n, int64_t k, int64_t begin, int64_t end) {
  using C = ComputeOf<T>;
  const Scratch<int32_t> order(n);
  for (int64_t row = begin; row < end; ++row) {
    const T* x = call.in<T>(0) + row * n;
    std::iota(order.begin(), order.begin() + n, 0);
    std::partial_sort(order.begin(), order.begin() + k, order.begin() + n, [x](int32_t i, int32_t j) {
      const C a = widen(x[i]), b = widen(x[j]);
      if (a != a || b != b) return a != a && b != b ? i < j : a != a;
      return a == b ? i < j : b < a;
    });
    for (int64_t i = 0; i < k; ++i) {
      call.out<T>(0)[row * k + i] = x[order.begin()[i]];
      call.out<int32_t>(1)[row * k + i] = order.begin()[i];
    }
  }
}

void top_k(const KernelCall& call) {
  const int64_t n = call.in_shape(0).back().number(), k = call.attrs.as<TopKAttrs>().k;
  if (call.out_shape().count() == 0) return;
  parallel_for(
      call.in_shape(0).count() / n, std::max<int64_t>(1, 4096 / n),
      [&](int64_t begin, int64_t end) {
        visit_dtype(call.dtype(), [&](auto kind) { top_k_rows<decltype(kind)>(call, n, k, begin, end); });
      },
      1);
}

}  // namespace

void install_cpu_sorting() {
  add_kernels(ops::cumulative, {{.name = "cpu.cumulative", .run = cumulative, .in_place = true}});
  add_kernels(ops::sort, {{.name = "cpu.sort", .refuses = refuses_sort, .run = sort}});
  add_kernels(ops::top_k, {{.name = "cpu.top_k", .run = top_k}});
}

}  // namespace hone
