// Running reductions, sort and top_k by definition.
#include <algorithm>
#include <numeric>

#include "hone/backend/reference/movement.h"
#include "hone/backend/reference/walk.h"
#include "hone/ops/combine.h"
#include "hone/ops/table.h"

namespace hone {
namespace {

using namespace reference;  // NOLINT: helpers of this folder

// Calls f(offset of the first element, distance of the elements) for each line along an axis.
template <class F>
void for_each_line(const Shape& shape, int64_t axis, F&& f) {
  Shape starts = shape;
  starts[axis] = 1;
  for_each_position(starts, [&](const Ints& at) { f(offset_of(shape, at), dense_strides(shape)[axis]); });
}

void cumulative(const KernelCall& call) {
  const auto& attrs = call.attrs.as<CumulativeAttrs>();
  const int64_t n = call.out_shape()[attrs.axis].number();
  visit_dtype(call.dtype(), [&](auto kind) {
    using T = decltype(kind);
    visit_combine(static_cast<Combine>(attrs.combine), [&](auto how) {
      for_each_line(call.out_shape(), attrs.axis, [&](int64_t base, int64_t step) {
        ComputeOf<T> state{};
        for (int64_t i = 0; i < n; ++i) {
          const int64_t at = base + (attrs.reverse ? n - 1 - i : i) * step;
          const ComputeOf<T> x = widen(call.in<T>(0)[at]);
          state = i == 0 ? x : combine<decltype(how)::value>(state, x);
          call.out<T>()[at] = narrow<T>(state);
        }
      });
    });
  });
}

void sort(const KernelCall& call) {
  const auto& attrs = call.attrs.as<SortAttrs>();
  const int64_t n = call.out_shape()[attrs.axis].number();
  std::vector<int64_t> order(static_cast<size_t>(n));
  for_each_line(call.out_shape(), attrs.axis, [&](int64_t base, int64_t step) {
    std::iota(order.begin(), order.end(), int64_t{0});
    visit_dtype(call.dtype(), [&](auto kind) {
      const auto* key = call.in<decltype(kind)>(0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
        const auto a = widen(key[base + i * step]), b = widen(key[base + j * step]);
        if (a != a || b != b) return a == a && b != b;
        return attrs.descending ? b < a : a < b;
      });
    });
    for (size_t k = 0; k < call.inputs.size(); ++k) {
      for (int64_t i = 0; i < n; ++i) {
        copy_element(call.outputs[k], base + i * step, call.inputs[k], base + order[static_cast<size_t>(i)] * step);
      }
    }
  });
}

void top_k(const KernelCall& call) {
  const int64_t n = call.in_shape(0).back().number(), k = call.attrs.as<TopKAttrs>().k;
  std::vector<int64_t> order(static_cast<size_t>(n));
  const int64_t rows = n == 0 ? 0 : call.inputs[0].size() / n;
  for (int64_t row = 0; row < rows; ++row) {
    std::iota(order.begin(), order.end(), row * n);
    visit_dtype(call.dtype(), [&](auto kind) {
      const auto* x = call.in<decltype(kind)>(0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
        const auto a = widen(x[i]), b = widen(x[j]);
        if (a != a || b != b) return a != a && b == b;
        return b < a;
      });
    });
    for (int64_t i = 0; i < k; ++i) {
      copy_element(call.outputs[0], row * k + i, call.inputs[0], order[static_cast<size_t>(i)]);
      call.out<int32_t>(1)[row * k + i] = static_cast<int32_t>(order[static_cast<size_t>(i)] - row * n);
    }
  }
}

}  // namespace

void install_reference_sorting() {
  add_kernels(ops::cumulative, {{.name = "reference.cumulative", .run = cumulative}});
  add_kernels(ops::sort, {{.name = "reference.sort", .run = sort}});
  add_kernels(ops::top_k, {{.name = "reference.top_k", .run = top_k}});
}

}  // namespace hone
