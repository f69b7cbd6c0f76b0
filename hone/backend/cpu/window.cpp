// reduce_window and select_and_scatter over any window: loops over elements, in parallel over windows or samples.
// Pooling, the common case, has vector loops of its own (pooling.cpp).
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "hone/backend/cpu/in_f32.h"
#include "hone/backend/cpu/install.h"
#include "hone/base/parallel.h"
#include "hone/ops/kernel.h"
#include "hone/ops/table.h"
#include "hone/ops/window_walk.h"

namespace hone {
namespace {

constexpr int64_t kGrain = 8192;  // window elements that are worth a thread

int64_t window_size(const WindowAttrs& attrs) {
  int64_t size = 1;
  for (int64_t extent : attrs.window) size *= extent;
  return size;
}

template <class T>
T wrapping(T a, T b, bool product) {
  if constexpr (std::is_floating_point_v<T>) {
    return product ? a * b : a + b;
  } else {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<T>(product ? x * y : x + y);
  }
}
template <Combine kCombine, class T>
T join(T a, T b) {
  if constexpr (kCombine == Combine::Sum || kCombine == Combine::Prod) return wrapping(a, b, kCombine == Combine::Prod);
  constexpr bool kLargest = kCombine == Combine::Max;
  if (a != a || b != b) return a + b;
  if constexpr (std::is_floating_point_v<T>) {
    if (a == b) return std::signbit(a) == kLargest ? b : a;
  }
  return (a > b) == kLargest ? a : b;
}
template <Combine kCombine, class T>
T start() {
  using L = std::numeric_limits<T>;
  if constexpr (kCombine == Combine::Sum) return static_cast<T>(-0.0);
  if constexpr (kCombine == Combine::Prod) return T(1);
  if constexpr (kCombine == Combine::Max) return L::has_infinity ? static_cast<T>(-L::infinity()) : L::lowest();
  return L::has_infinity ? L::infinity() : L::max();
}

template <Combine kCombine, class T>
void reduce_windows(const KernelCall& call) {
  const auto& attrs = call.attrs.as<WindowAttrs>();
  const WindowWalk walk(attrs, call.in_shape(0), call.out_shape());
  const T* x = call.in<T>(0);
  T* out = call.out<T>();
  parallel_for(call.outputs[0].size(), std::max<int64_t>(1, kGrain / window_size(attrs)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   T acc = start<kCombine, T>();
                   bool any = false;
                   walk.for_each(i, [&](int64_t at) { acc = join<kCombine>(acc, x[at]), any = true; });
                   out[i] = any || kCombine != Combine::Sum ? acc : T(0);
                 }
               });
}

void run_reduce_window(const KernelCall& call) {
  if (is_half(call.dtype())) return run_in_f32(call, run_reduce_window);
  visit_dtype(call.dtype(), [&](auto kind) {
    using T = decltype(kind);
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      switch (static_cast<Combine>(call.attrs.as<WindowAttrs>().combine)) {
        case Combine::Sum:
          return reduce_windows<Combine::Sum, T>(call);
        case Combine::Prod:
          return reduce_windows<Combine::Prod, T>(call);
        case Combine::Max:
          return reduce_windows<Combine::Max, T>(call);
        default:
          return reduce_windows<Combine::Min, T>(call);
      }
    }
  });
}

// Windows of different samples touch different elements only if the window does not reach along axis 0.
bool samples_are_apart(const WindowAttrs& a) {
  return !a.window.empty() && a.window[0] == 1 && a.strides[0] == 1 && a.low[0] == 0 && a.base_dilation[0] == 1;
}

template <class T>
void select_and_scatter(const KernelCall& call) {
  const auto& attrs = call.attrs.as<WindowAttrs>();
  const WindowWalk walk(attrs, call.in_shape(0), call.in_shape(1));
  const bool largest = static_cast<Combine>(attrs.combine) == Combine::Max;
  const T *x = call.in<T>(0), *source = call.in<T>(1);
  T* out = call.out<T>();
  std::fill_n(out, call.outputs[0].size(), T(0));
  const auto scatter = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t best = -1;
      walk.for_each(i, [&](int64_t at) {
        if (best < 0 || (x[best] == x[best] && (x[at] != x[at] || (largest ? x[at] > x[best] : x[at] < x[best]))))
          best = at;
      });
      if (best >= 0) out[best] = wrapping(out[best], source[i], false);
    }
  };
  const int64_t windows = call.inputs[1].size();
  if (windows == 0 || !samples_are_apart(attrs)) return scatter(0, windows);
  const int64_t samples = call.in_shape(1)[0].number(), each = windows / samples;
  parallel_for(
      samples, std::max<int64_t>(1, kGrain / (each * window_size(attrs))),
      [&](int64_t begin, int64_t end) { scatter(begin * each, end * each); }, 1);
}

void run_select_and_scatter(const KernelCall& call) {
  if (is_half(call.dtype())) return run_in_f32(call, run_select_and_scatter);
  visit_dtype(call.dtype(), [&](auto kind) {
    using T = decltype(kind);
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) select_and_scatter<T>(call);
  });
}

}  // namespace

void install_cpu_windows() {
  add_kernels(ops::reduce_window, {{.name = "cpu.reduce_window", .run = run_reduce_window}});
  add_kernels(ops::select_and_scatter, {{.name = "cpu.select_and_scatter", .run = run_select_and_scatter}});
}

}  // namespace hone
