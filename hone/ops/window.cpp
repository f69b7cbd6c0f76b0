// reduce_window and select_and_scatter: primitives over windows (StableHLO).
#include <fmt/format.h>

#include "hone/base/error.h"
#include "hone/base/small_vector.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/family.h"
#include "hone/ops/movement.h"
#include "hone/ops/promote.h"
#include "hone/ops/reduction.h"
#include "hone/ops/window_bound.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

using family::define;

Combine combine_of(const WindowAttrs& attrs) { return static_cast<Combine>(attrs.combine); }

/// Shape of the grid of windows; fails on attributes that do not fit.
Shape window_grid(InferContext& c) {
  const auto& a = c.attrs<WindowAttrs>();
  const Shape& x = c.shape(0);
  const size_t rank = x.size();
  if (a.window.size() != rank || a.strides.size() != rank || a.low.size() != rank || a.high.size() != rank ||
      a.base_dilation.size() != rank || a.window_dilation.size() != rank) {
    c.fail("bad window",
           fmt::format("window, strides, low, high and dilations need one entry for each of the {} axes", rank));
  }
  Shape grid;
  for (size_t i = 0; i < rank; ++i) {
    if (a.window[i] < 1 || a.strides[i] < 1 || a.base_dilation[i] < 1 || a.window_dilation[i] < 1) {
      c.fail("bad window", fmt::format("axis {}: window {}, stride {}, dilations {} and {} must be at least 1", i,
                                       a.window[i], a.strides[i], a.base_dilation[i], a.window_dilation[i]));
    }
    for (int64_t size : {a.window[i], a.strides[i], a.low[i], a.high[i], a.base_dilation[i], a.window_dilation[i]}) {
      if (size < -kMaxWindow || size > kMaxWindow)
        c.fail("bad window", fmt::format("axis {}: {} is beyond 2^30", i, size));
    }
    const Dim dilated = x[i] == Dim(0) ? Dim(0) : (x[i] - 1) * a.base_dilation[i] + 1;
    const Dim room = dilated + a.low[i] + a.high[i] - ((a.window[i] - 1) * a.window_dilation[i] + 1);
    grid.push_back(max(floor_div(room, a.strides[i]) + 1, Dim(0)));
  }
  return grid;
}

void infer_reduce_window(InferContext& c) {
  c.check_dtype();
  const Combine combine = combine_of(c.attrs<WindowAttrs>());
  if (combine < Combine::Sum || combine > Combine::Min)
    c.fail("bad combine", "reduce_window takes Sum, Prod, Max or Min");
  c.out() = {c.dtype(0), window_grid(c)};
}

void infer_select_and_scatter(InferContext& c) {
  c.check_dtype();
  const Combine combine = combine_of(c.attrs<WindowAttrs>());
  if (combine != Combine::Max && combine != Combine::Min) c.fail("bad combine", "select_and_scatter takes Max or Min");
  if (c.dtype(1) != c.dtype(0))
    c.fail("dtype mismatch", "x and source must have one dtype", "convert one: cast(source, x.dtype())");
  const Shape grid = window_grid(c);
  if (!(c.shape(1) == grid))
    c.fail("shape mismatch", fmt::format("the source needs one element for each window: {}", to_string(grid)));
  c.out() = c.in(0);
}

Ints ones_of(size_t n) { return Ints(n, 1); }

/// The elements at each place of the window, first place first: f(slice of x on the grid, place).
template <class F>
void for_each_place(const Tensor& x, const WindowAttrs& a, const Shape& grid, Operand fill, F f) {
  Ints interior;
  for (int64_t d : a.base_dilation) interior.push_back(d - 1);
  const Tensor padded = pad(x, a.low, a.high, std::move(fill), interior);
  Ints place(a.window.size(), 0);
  for (;;) {
    Shape start, limit;
    for (size_t i = 0; i < place.size(); ++i) {
      const Dim from = place[i] * a.window_dilation[i];
      start.push_back(from);
      limit.push_back(from + (grid[i] - 1) * a.strides[i] + 1);
    }
    f(slice_by(padded, start, limit, a.strides), place);
    int axis = static_cast<int>(place.size()) - 1;
    while (axis >= 0 && ++place[axis] == a.window[axis]) place[axis--] = 0;
    if (axis < 0) return;
  }
}

/// Sum of ct over the windows that cover an element.
Tensor sum_window_gradient(const Tensor& ct, const Shape& x, const WindowAttrs& a) {
  WindowAttrs back = a;
  back.combine = static_cast<int64_t>(Combine::Sum);
  back.strides = a.base_dilation;
  back.base_dilation = a.strides;
  for (size_t i = 0; i < a.window.size(); ++i) {
    const int64_t reach = (a.window[i] - 1) * a.window_dilation[i];
    const int64_t dilated = x[i].number() == 0 ? 0 : (x[i].number() - 1) * a.base_dilation[i] + 1;
    const int64_t grid = ct.shape()[i].number();
    back.low[i] = reach - a.low[i];
    back.high[i] = dilated + reach - back.low[i] - (grid == 0 ? 0 : (grid - 1) * a.strides[i] + 1);
  }
  return reduce_window(ct, back);
}

void reduce_window_vjp(VjpContext& c) {
  const auto& a = c.attrs_as<WindowAttrs>();
  switch (combine_of(a)) {
    case Combine::Sum:
      return c.set(0, sum_window_gradient(c.ct(), c.in_type(0).shape, a));
    case Combine::Prod: {  // the product of the window's other elements, place by place
      const Tensor& x = c.in(0);
      const Shape& grid = c.out_type().shape;
      Tensor gradient = zeros_like(x);
      for_each_place(x, a, grid, 1, [&](const Tensor&, const Ints& place) {
        Tensor others = ones_like(c.ct());
        for_each_place(x, a, grid, 1, [&](const Tensor& factor, const Ints& other) {
          if (!(other == place)) others = others * factor;
        });
        WindowAttrs single = a;  // the window's one place, as a window of size 1
        single.window = ones_of(a.window.size());
        for (size_t i = 0; i < place.size(); ++i) {
          single.low[i] = a.low[i] - place[i] * a.window_dilation[i];
          single.high[i] = a.high[i] - (a.window[i] - 1 - place[i]) * a.window_dilation[i];
        }
        gradient = gradient + sum_window_gradient(c.ct() * others, x.shape(), single);
      });
      return c.set(0, gradient);
    }
    default:
      return c.set(0, select_and_scatter(c.in(0), c.ct(), a));
  }
}

// The cotangent's elements at the selected places: walks the window, keeps the first best.
void select_and_scatter_vjp(VjpContext& c) {
  if (!c.need(1)) return;
  const auto& a = c.attrs_as<WindowAttrs>();
  const Shape& grid = c.in_type(1).shape;
  const bool largest = combine_of(a) == Combine::Max;
  const double worst = largest ? -__builtin_inf() : __builtin_inf();
  // Padding must not be chosen over an element, even one of -Inf: `inside` marks elements.
  Tensor best, chosen, found;
  SmallVector<Tensor, 9> values, inside;
  const Tensor ones = ones_like(c.in(0));
  for_each_place(c.in(0), a, grid, worst, [&](const Tensor& value, const Ints&) { values.push_back(value); });
  for_each_place(ones, a, grid, 0, [&](const Tensor& mark, const Ints&) { inside.push_back(mark > 0); });
  size_t at = 0;
  for_each_place(c.ct(), a, grid, 0, [&](const Tensor& ct, const Ints&) {
    const Tensor &value = values[at], &mark = inside[at];
    if (at++ == 0) {
      best = value, found = mark, chosen = where(mark, ct, zeros_like(ct));
      return;
    }
    const Tensor better = (largest ? value > best : value < best) | (is_nan(value) & ~is_nan(best)) | ~found;
    const Tensor take = mark & better;
    best = where(take, value, best);
    chosen = where(take, ct, chosen);
    found = found | mark;
  });
  c.set(1, chosen);
}

Cost window_cost(AttrRef attrs, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  Cost cost = family::movement_cost(attrs, inputs, outputs);
  const auto& a = attrs.as<WindowAttrs>();
  const Shape& grid = inputs.size() == 2 ? inputs[1]->shape : outputs[0].shape;
  cost.flops = static_cast<double>(grid.count());
  for (int64_t extent : a.window) cost.flops *= static_cast<double>(extent);
  return cost;
}

WindowAttrs window(Combine combine, Ints size, Ints strides = {}, Ints low = {}, Ints high = {}, Ints base = {},
                   Ints dilation = {}) {
  const size_t n = size.size();
  const auto filled = [n](Ints list, int64_t value) { return list.empty() ? Ints(n, value) : list; };
  return {size,
          filled(strides, 1),
          filled(low, 0),
          filled(high, 0),
          filled(base, 1),
          filled(dilation, 1),
          static_cast<int64_t>(combine)};
}

std::vector<Sample> window_samples() {
  std::vector<Sample> samples;
  const auto add = [&](Shape shape, const WindowAttrs& attrs) {
    samples.push_back({.inputs = {{f32, shape}}, .attrs = Attrs(attrs)});
  };
  for (Combine combine : {Combine::Sum, Combine::Prod, Combine::Max, Combine::Min}) {
    add({7}, window(combine, {3}));
    add({7}, window(combine, {3}, {2}, {1}, {1}));
    add({5, 6}, window(combine, {2, 2}, {2, 2}));
    add({5, 6}, window(combine, {2, 3}, {1, 2}, {1, 0}, {0, 2}, {}, {2, 1}));
    add({4, 3}, window(combine, {3, 2}, {2, 1}, {1, 1}, {2, 0}, {2, 2}, {1, 2}));
    if (combine == Combine::Max || combine == Combine::Min)
      samples.back().differentiable = false;  // empty windows: Inf
    add({5}, window(combine, {2}, {1}, {-1}, {-1}));
    add({2}, window(combine, {3}));
    add({}, window(combine, {}));
  }
  return samples;
}
std::vector<Sample> select_samples() {
  std::vector<Sample> samples;
  const auto add = [&](Shape shape, Shape grid, const WindowAttrs& attrs) {
    samples.push_back({.inputs = {{f32, shape}, {f32, grid}}, .attrs = Attrs(attrs)});
  };
  for (Combine combine : {Combine::Max, Combine::Min}) {
    add({7}, {5}, window(combine, {3}));
    add({5, 6}, {2, 3}, window(combine, {2, 2}, {2, 2}));
    add({5, 6}, {3, 3}, window(combine, {3, 3}, {2, 2}, {1, 1}, {1, 1}));
    add({2}, {0}, window(combine, {3}));
  }
  // A gradient for x exists nowhere but at ties.
  return samples;
}

}  // namespace

namespace ops {

constinit const Op reduce_window = define(OpId::reduce_window, OpClass::Reduction,
                                          {.doc = "combines the elements of each window (StableHLO)",
                                           .operands = "x",
                                           .precision = PrecisionClass::Full,
                                           .attrs = &attr_type<WindowAttrs>(),
                                           .infer = infer_reduce_window,
                                           .vjp = reduce_window_vjp,
                                           .reads = {.in = 1},
                                           .batch = batch::leading<WindowAttrs>,
                                           .cost = window_cost,
                                           .samples = window_samples,
                                           .dtypes = kNumbers});
constinit const Op select_and_scatter =
    define(OpId::select_and_scatter, OpClass::Reduction,
           {.doc = "adds source where each window has its largest or smallest element (StableHLO)",
            .operands = "x source",
            .precision = PrecisionClass::Full,
            .attrs = &attr_type<WindowAttrs>(),
            .min_inputs = 2,
            .max_inputs = 2,
            .infer = infer_select_and_scatter,
            .vjp = select_and_scatter_vjp,
            .reads = {.in = 1},
            .batch = batch::leading<WindowAttrs>,
            .cost = window_cost,
            .samples = select_samples,
            .dtypes = kNumbers});

}  // namespace ops

Tensor reduce_window(Operand x, const WindowAttrs& attrs) {
  const Location location = x.location;
  return call_op(ops::reduce_window, attrs, location, to_tensor(std::move(x)));
}
Tensor select_and_scatter(Operand x, Operand source, const WindowAttrs& attrs) {
  const Location location = x.location;
  Tensor value = to_tensor(std::move(x));
  const DType dtype = value.dtype();
  return call_op(ops::select_and_scatter, attrs, location, std::move(value), to_tensor(std::move(source), dtype));
}

}  // namespace hone
