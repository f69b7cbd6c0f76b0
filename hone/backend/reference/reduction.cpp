// Reductions as plain loops, in the canonical order of docs/numerics.md.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "hone/backend/reference/install.h"
#include "hone/ops/kernel.h"
#include "hone/ops/reduce_steps.h"
#include "hone/ops/table.h"
#include "hone/ops/window_walk.h"
#include "hone/tensor/half.h"

namespace hone {
namespace {

template <class T>
constexpr bool kHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;
template <class T>
using Wide = std::conditional_t<kHalf<T>, float, T>;

template <class T>
Wide<T> load(T x) {
  if constexpr (kHalf<T>)
    return to_float(x);
  else
    return x;
}
template <class T>
T store(Wide<T> x) {
  if constexpr (std::is_same_v<T, Float16>)
    return to_float16(x);
  else if constexpr (std::is_same_v<T, BFloat16>)
    return to_bfloat16(x);
  else
    return x;
}

/// Integers wrap.
template <class T, class F>
T wrapped(T a, T b, F f) {
  if constexpr (std::is_floating_point_v<T>)
    return f(a, b);
  else
    return static_cast<T>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
}

struct Sum {
  template <class T>
  static T start() {
    return static_cast<T>(-0.0);
  }
  template <class T>
  static T join(T a, T b) {
    return wrapped(a, b, [](auto x, auto y) { return x + y; });
  }
};
struct Prod {
  template <class T>
  static T start() {
    return T(1);
  }
  template <class T>
  static T join(T a, T b) {
    return wrapped(a, b, [](auto x, auto y) { return x * y; });
  }
};
template <bool kLargest>
struct Extremum {
  template <class T>
  static T start() {
    using L = std::numeric_limits<T>;
    if constexpr (L::has_infinity)
      return kLargest ? static_cast<T>(-L::infinity()) : L::infinity();
    else
      return kLargest ? L::lowest() : L::max();
  }
  template <class T>
  static T join(T a, T b) {
    if (a != a || b != b) return a + b;
    if constexpr (std::is_floating_point_v<T>) {
      if (a == b) return std::signbit(a) == kLargest ? b : a;  // of two zeros +0 is the larger
    }
    return (a > b) == kLargest ? a : b;
  }
};
struct And {
  template <class T>
  static T start() {
    return static_cast<T>(-1);
  }
  template <class T>
  static T join(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  static T start() {
    return T(0);
  }
  template <class T>
  static T join(T a, T b) {
    return static_cast<T>(a | b);
  }
};

/// Neighbours first, an odd one is carried over.
template <class Op, class T>
T fold_neighbours(std::vector<T> parts) {
  while (parts.size() > 1) {
    std::vector<T> next;
    for (size_t i = 0; i + 1 < parts.size(); i += 2) next.push_back(Op::join(parts[i], parts[i + 1]));
    if (parts.size() % 2 == 1) next.push_back(parts.back());
    parts = std::move(next);
  }
  return parts[0];
}

template <class Op, class T>
T reduce_row(const T* x, int64_t n) {
  constexpr int kAccumulators = sizeof(T) == 8 ? 32 : 64;
  std::vector<T> blocks;
  for (int64_t begin = 0; begin < n; begin += 4096) {
    std::vector<T> acc(kAccumulators, Op::template start<T>());
    for (int64_t i = begin; i < std::min(n, begin + 4096); ++i) {
      const auto k = static_cast<size_t>(i % kAccumulators);
      acc[k] = Op::join(acc[k], x[i]);
    }
    for (size_t width = kAccumulators / 2; width >= 1; width /= 2) {
      for (size_t k = 0; k < width; ++k) acc[k] = Op::join(acc[k], acc[k + width]);
    }
    blocks.push_back(acc[0]);
  }
  return fold_neighbours<Op>(std::move(blocks));
}

template <class Op, class T>
T reduce_column(const T* x, int64_t rows, int64_t stride) {
  std::vector<T> blocks;
  for (int64_t begin = 0; begin < rows; begin += 64) {
    T acc = Op::template start<T>();
    for (int64_t r = begin; r < std::min(rows, begin + 64); ++r) acc = Op::join(acc, x[r * stride]);
    blocks.push_back(acc);
  }
  return fold_neighbours<Op>(std::move(blocks));
}

template <class Op>
void run_reduce(const KernelCall& call) {
  visit_dtype(call.dtype(), [&](auto kind) {
    using T = decltype(kind);
    using Element = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
    using A = Wide<Element>;
    if constexpr (!std::is_integral_v<Element> && (std::is_same_v<Op, And> || std::is_same_v<Op, Or>)) {
      return;  // refused by infer
    } else {
      const auto* x = call.in<Element>(0);
      std::vector<A> values;
      for (int64_t i = 0; i < call.inputs[0].size(); ++i) values.push_back(load(x[i]));
      for (const ReduceStep& step : reduce_steps(call.in_shape(0), call.attrs.as<AxesAttrs>().axes)) {
        std::vector<A> next;
        for (int64_t i = 0; i < step.outer * step.inner; ++i) {
          const A* from = values.data() + i / step.inner * step.extent * step.inner + i % step.inner;
          if (step.extent == 0)
            next.push_back(std::is_same_v<Op, Sum>                              ? A(0)
                           : std::is_same_v<T, bool> && std::is_same_v<Op, And> ? A(1)
                                                                                : Op::template start<A>());
          else
            next.push_back(step.inner == 1 ? reduce_row<Op>(from, step.extent)
                                           : reduce_column<Op>(from, step.extent, step.inner));
        }
        values = std::move(next);
      }
      auto* out = call.out<Element>();
      for (A value : values) *out++ = store<Element>(value);
    }
  });
}

/// True if `other` replaces `best`: the first NaN, else the first of equals stays.
template <class A>
bool better(A other, A best, bool largest) {
  if (best != best) return false;
  return other != other || (largest ? other > best : other < best);
}

template <bool kLargest>
void run_arg(const KernelCall& call) {
  const ReduceSteps steps = reduce_steps(call.in_shape(0), {call.attrs.as<AxisAttrs>().axis});
  visit_dtype(call.dtype(), [&](auto kind) {
    using T = decltype(kind);
    const T* x = call.in<T>(0);
    for (int64_t i = 0; i < call.outputs[0].size(); ++i) {
      const T* from = x + i / steps[0].inner * steps[0].extent * steps[0].inner + i % steps[0].inner;
      int64_t best = 0;
      for (int64_t r = 1; r < steps[0].extent; ++r) {
        if (better(load(from[r * steps[0].inner]), load(from[best * steps[0].inner]), kLargest)) best = r;
      }
      call.out<int64_t>()[i] = best;
    }
  });
}

template <class Op>
void reduce_windows(const KernelCall& call) {
  const WindowWalk walk(call.attrs.as<WindowAttrs>(), call.in_shape(0), call.out_shape());
  visit_dtype(call.dtype(), [&](auto kind) {
    using T = decltype(kind);
    if constexpr (!std::is_same_v<T, bool>) {
      using A = Wide<T>;
      const T* x = call.in<T>(0);
      for (int64_t i = 0; i < call.outputs[0].size(); ++i) {
        A acc = Op::template start<A>();
        bool any = false;
        walk.for_each(i, [&](int64_t at) { acc = Op::join(acc, load(x[at])), any = true; });
        if (!any && std::is_same_v<Op, Sum>) acc = A(0);
        call.out<T>()[i] = store<T>(acc);
      }
    }
  });
}

void run_reduce_window(const KernelCall& call) {
  switch (static_cast<Combine>(call.attrs.as<WindowAttrs>().combine)) {
    case Combine::Sum:
      return reduce_windows<Sum>(call);
    case Combine::Prod:
      return reduce_windows<Prod>(call);
    case Combine::Max:
      return reduce_windows<Extremum<true>>(call);
    default:
      return reduce_windows<Extremum<false>>(call);
  }
}

void run_select_and_scatter(const KernelCall& call) {
  const auto& attrs = call.attrs.as<WindowAttrs>();
  const WindowWalk walk(attrs, call.in_shape(0), call.in_shape(1));
  const bool largest = static_cast<Combine>(attrs.combine) == Combine::Max;
  visit_dtype(call.dtype(), [&](auto kind) {
    using T = decltype(kind);
    if constexpr (!std::is_same_v<T, bool>) {
      using A = Wide<T>;
      const T *x = call.in<T>(0), *source = call.in<T>(1);
      std::vector<A> sums(static_cast<size_t>(call.outputs[0].size()), A(0));
      for (int64_t i = 0; i < call.inputs[1].size(); ++i) {
        int64_t best = -1;
        walk.for_each(i, [&](int64_t at) {
          if (best < 0 || better(load(x[at]), load(x[best]), largest)) best = at;
        });
        if (best >= 0) sums[static_cast<size_t>(best)] = Sum::join(sums[static_cast<size_t>(best)], load(source[i]));
      }
      for (size_t i = 0; i < sums.size(); ++i) call.out<T>()[i] = store<T>(sums[i]);
    }
  });
}

}  // namespace

void install_reference_reductions() {
  add_kernels(ops::reduce_sum, {{.name = "reference.reduce", .run = run_reduce<Sum>}});
  add_kernels(ops::reduce_prod, {{.name = "reference.reduce", .run = run_reduce<Prod>}});
  add_kernels(ops::reduce_max, {{.name = "reference.reduce", .run = run_reduce<Extremum<true>>}});
  add_kernels(ops::reduce_min, {{.name = "reference.reduce", .run = run_reduce<Extremum<false>>}});
  add_kernels(ops::reduce_and, {{.name = "reference.reduce", .run = run_reduce<And>}});
  add_kernels(ops::reduce_or, {{.name = "reference.reduce", .run = run_reduce<Or>}});
  add_kernels(ops::argmax, {{.name = "reference.argmax", .run = run_arg<true>}});
  add_kernels(ops::argmin, {{.name = "reference.argmin", .run = run_arg<false>}});
}

void install_reference_windows() {
  add_kernels(ops::reduce_window, {{.name = "reference.reduce_window", .run = run_reduce_window}});
  add_kernels(ops::select_and_scatter, {{.name = "reference.select_and_scatter", .run = run_select_and_scatter}});
}

}  // namespace hone
