// reduce_window and select_and_scatter over any window: math/window_works.h, in parallel over windows or samples.
// Pooling, the common case, has vector loops of its own (pooling.cpp).
#include <algorithm>

#include "hone/backend/cpu/fused.h"
#include "hone/backend/cpu/install.h"
#include "hone/math/window_works.h"
#include "hone/ops/attrs.h"

namespace hone {
namespace {

constexpr int64_t kGrain = 8192;  // window elements that are worth a thread

int64_t window_size(const WindowAttrs& attrs) {
  int64_t size = 1;
  for (int64_t extent : attrs.window) size *= extent;
  return size;
}

math::WindowParams params_of(const WindowAttrs& a, const Shape& x, const Shape& grid) {
  math::WindowParams p{.rank = static_cast<int32_t>(x.rank())};
  for (size_t i = 0; i < static_cast<size_t>(x.rank()); ++i) {
    p.axes[i] = {x[i].number(), grid[i].number(),   a.window[i],         a.strides[i],
                 a.low[i],      a.base_dilation[i], a.window_dilation[i]};
  }
  return p;
}

Works reduce_window_works(const KernelQuery& query) {
  const auto& attrs = query.attrs.as<WindowAttrs>();
  const Shape& grid = query.outputs[0].shape;
  return one_work(query,
                  combined_work(math::WorkId::ReduceWindowSumF32, math::WorkId::ReduceWindowProdF32, attrs.combine,
                                query.inputs[0].dtype()),
                  params_of(attrs, query.inputs[0].shape(), grid), grid.count(),
                  std::max<int64_t>(1, kGrain / std::max<int64_t>(window_size(attrs), 1)));
}

// Windows of different samples touch different elements only if the window does not reach along axis 0.
bool samples_are_apart(const WindowAttrs& a) {
  return !a.window.empty() && a.window[0] == 1 && a.strides[0] == 1 && a.low[0] == 0 && a.base_dilation[0] == 1;
}

Works select_and_scatter_works(const KernelQuery& query) {
  const auto& attrs = query.attrs.as<WindowAttrs>();
  const Shape &x = query.inputs[0].shape(), &grid = query.inputs[1].shape();
  const bool largest = static_cast<Combine>(attrs.combine) == Combine::Max;
  math::WindowParams p = params_of(attrs, x, grid);
  p.each = grid.count(), p.size = x.count();
  int64_t samples = 1;
  if (p.each > 0 && samples_are_apart(attrs) && grid[0] == x[0]) {
    samples = grid[0].number();
    p.each /= samples, p.size /= samples;
  }
  return one_work(
      query,
      wide_work(largest ? math::WorkId::SelectLargestF32 : math::WorkId::SelectSmallestF32, query.inputs[0].dtype()), p,
      x.count() == 0 ? 0 : samples, std::max<int64_t>(1, kGrain / std::max<int64_t>(p.each * window_size(attrs), 1)));
}

}  // namespace

void install_cpu_windows() {
  add_kernels(ops::reduce_window, {works_kernel<reduce_window_works>("cpu.reduce_window", nullptr)});
  add_kernels(ops::select_and_scatter, {fused_kernel<select_and_scatter_works>("cpu.select_and_scatter", nullptr)});
}

}  // namespace hone
