// Pooling over the spatial axes of [n, spatial..., c].
#include <fmt/format.h>

#include "hone/base/error.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/family.h"
#include "hone/ops/movement.h"
#include "hone/ops/nn.h"
#include "hone/ops/promote.h"
#include "hone/ops/reduction.h"
#include "hone/ops/window_bound.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

using family::define;

Shape pooled(InferContext& c, const Shape& x) {
  c.check_dtype();
  const auto& a = c.attrs<PoolAttrs>();
  const int spatial = x.rank() - 2;
  if (spatial < 1 || spatial > 3) c.fail("rank mismatch", "x must be [n, spatial..., c] with 1 to 3 spatial axes");
  const auto n = static_cast<size_t>(spatial);
  if (a.window.size() != n || a.strides.size() != n || a.low.size() != n || a.high.size() != n) {
    c.fail("bad window",
           fmt::format("window, strides and padding need one entry for each of the {} spatial axes", spatial));
  }
  Shape out{x[0]};
  for (size_t i = 0; i < n; ++i) {
    if (a.window[i] < 1 || a.strides[i] < 1)
      c.fail("bad window", fmt::format("window {} and stride {} must be at least 1", a.window[i], a.strides[i]));
    if (a.low[i] < 0 || a.high[i] < 0 || a.low[i] >= a.window[i] || a.high[i] >= a.window[i]) {
      c.fail(
          "bad padding",
          fmt::format("padding {} and {} of spatial axis {} must be in [0, {}), so that every window holds an element",
                      a.low[i], a.high[i], i, a.window[i]));
    }
    if (a.window[i] > kMaxWindow || a.strides[i] > kMaxWindow)
      c.fail("bad window", fmt::format("window {} or stride {} is beyond 2^30", a.window[i], a.strides[i]));
    const Dim room = x[i + 1] + a.low[i] + a.high[i] - a.window[i];
    if (room.is_number() && room.number() < 0) {
      c.fail(
          "window too large",
          fmt::format("a window of {} does not fit spatial axis {} of extent {}", a.window[i], i, to_string(x[i + 1])),
          "use padding \"same\" or a smaller window");
    }
    out.push_back(floor_div(room, a.strides[i]) + 1);
  }
  out.push_back(x.dim(-1));
  return out;
}

void infer_pool(InferContext& c) { c.out() = {c.dtype(0), pooled(c, c.shape(0))}; }
// x, ct
void infer_max_pool_grad(InferContext& c) {
  const Shape grid = pooled(c, c.shape(0));
  if (c.dtype(1) != c.dtype(0) || !(c.shape(1) == grid))
    c.fail("shape mismatch", "ct must be " + to_string(TensorType{c.dtype(0), grid}));
  c.out() = c.in(0);
}
// ct
void infer_avg_pool_grad(InferContext& c) {
  const Shape& x = c.attrs<PoolAttrs>().shape;
  const Shape grid = pooled(c, x);
  if (!(c.shape(0) == grid)) c.fail("shape mismatch", "ct must have the shape " + to_string(grid));
  c.out() = {c.dtype(0), x};
}

WindowAttrs window_over(const PoolAttrs& a, Combine combine) {
  WindowAttrs w;
  w.window = a.window, w.strides = a.strides, w.low = a.low, w.high = a.high;
  for (auto [list, value] : {std::pair{&w.window, 1}, {&w.strides, 1}, {&w.low, 0}, {&w.high, 0}})
    list->insert(0, value), list->push_back(value);
  w.base_dilation = w.window_dilation = Ints(w.window.size(), 1);
  w.combine = static_cast<int64_t>(combine);
  return w;
}

/// How many elements each window holds, [1, spatial..., 1], or one number.
Tensor window_counts(const PoolAttrs& a, const Shape& x, DType dtype) {
  int64_t full_count = 1;
  bool padded = false;
  for (size_t i = 0; i < a.window.size(); ++i)
    full_count *= a.window[i], padded = padded || a.low[i] != 0 || a.high[i] != 0;
  if (!padded || a.count_padding) return full({}, full_count, dtype);
  Shape one = x;
  one[0] = 1, one[one.size() - 1] = 1;
  return reduce_window(ones(one, dtype), window_over(a, Combine::Sum));
}

void decompose_max_pool(const Call& call) {
  call.outputs[0] = reduce_window(call.inputs[0], window_over(call.attrs.as<PoolAttrs>(), Combine::Max));
}
void decompose_max_pool_grad(const Call& call) {
  call.outputs[0] =
      select_and_scatter(call.inputs[0], call.inputs[1], window_over(call.attrs.as<PoolAttrs>(), Combine::Max));
}
void decompose_avg_pool(const Call& call) {
  const auto& a = call.attrs.as<PoolAttrs>();
  const Tensor& x = call.inputs[0];
  call.outputs[0] = reduce_window(x, window_over(a, Combine::Sum)) / window_counts(a, x.shape(), x.dtype());
}
void decompose_avg_pool_grad(const Call& call) {
  const auto& a = call.attrs.as<PoolAttrs>();
  const Tensor share = call.inputs[0] / window_counts(a, a.shape, call.inputs[0].dtype());
  WindowAttrs w = window_over(a, Combine::Sum);
  std::swap(w.base_dilation, w.strides);
  for (int i = 0; i < a.shape.rank(); ++i) {
    const int64_t reach = w.window[i] - 1, grid = share.shape()[i].number();
    w.low[i] = reach - w.low[i];
    w.high[i] = a.shape[i].number() + reach - w.low[i] - (grid == 0 ? 0 : (grid - 1) * w.base_dilation[i] + 1);
  }
  call.outputs[0] = reduce_window(share, w);
}

Cost pool_cost(AttrRef attrs, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  Cost cost = family::movement_cost(attrs, inputs, outputs);
  cost.flops = static_cast<double>(std::min(inputs.back()->shape.count(), outputs[0].shape.count()));
  for (int64_t extent : attrs.as<PoolAttrs>().window) cost.flops *= static_cast<double>(extent);
  return cost;
}

enum class Operands { X, XCt, Ct };
template <Operands kOperands, bool kCountPadding = false>
std::vector<Sample> pool_samples() {
  std::vector<Sample> samples;
  const auto add = [&](Shape x, Shape y, Ints window, Ints strides, Ints low, Ints high) {
    PoolAttrs attrs{window, strides, low, high, kCountPadding && samples.size() % 2 == 1, {}};
    std::vector<TensorType> inputs{{f32, x}};
    if (kOperands == Operands::XCt) inputs.push_back({f32, y});
    if (kOperands == Operands::Ct) inputs[0].shape = y, attrs.shape = x;
    samples.push_back({.inputs = inputs, .attrs = Attrs(attrs)});
  };
  for (int64_t c : {1, 3, 6, 8, 9, 16, 17}) add({1, 4, 4, c}, {1, 2, 2, c}, {2, 2}, {2, 2}, {0, 0}, {0, 0});
  add({2, 5, 5, 2}, {2, 3, 3, 2}, {3, 3}, {2, 2}, {1, 1}, {1, 1});
  add({1, 5, 6, 3}, {1, 5, 6, 3}, {3, 2}, {1, 1}, {1, 0}, {1, 1});
  add({1, 7, 2}, {1, 3, 2}, {2}, {2}, {0}, {0});
  add({1, 3, 3, 3, 2}, {1, 2, 2, 2, 2}, {2, 2, 2}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0});
  add({1, 5, 5, 2}, {1, 2, 2, 2}, {2, 2}, {3, 3}, {0, 0}, {0, 0});  // gaps between windows
  add({0, 4, 4, 2}, {0, 2, 2, 2}, {2, 2}, {2, 2}, {0, 0}, {0, 0});
  return samples;
}

}  // namespace

namespace ops {

constinit const Op max_pool =
    define(OpId::max_pool, OpClass::Composite,
           {.doc = "largest element of each window; NaN propagates",
            .operands = "x",
            .attrs = &attr_type<PoolAttrs>(),
            .infer = infer_pool,
            .vjp = [](VjpContext& c) { c.set(0, call_op(ops::max_pool_grad, c.attrs(), {}, c.in(0), c.ct())); },
            .reads = {.in = 1},
            .decompose = decompose_max_pool,
            .batch = batch::folded<>,
            .cost = pool_cost,
            .samples = pool_samples<Operands::X>,
            .dtypes = kNumbers});
constinit const Op max_pool_grad =
    define(OpId::max_pool_grad, OpClass::Composite,
           {.doc = "adds ct where each window of x has its first NaN, else its first largest element",
            .operands = "x ct",
            .numerics = NumericsClass::Exact,
            .attrs = &attr_type<PoolAttrs>(),
            .min_inputs = 2,
            .max_inputs = 2,
            .infer = infer_max_pool_grad,
            .decompose = decompose_max_pool_grad,
            .batch = batch::folded<>,
            .cost = pool_cost,
            .samples = pool_samples<Operands::XCt>,
            .dtypes = kNumbers});
constinit const Op avg_pool = define(OpId::avg_pool, OpClass::Composite,
                                     {.doc = "mean of each window's elements",
                                      .operands = "x",
                                      .attrs = &attr_type<PoolAttrs>(),
                                      .infer = infer_pool,
                                      .vjp =
                                          [](VjpContext& c) {
                                            PoolAttrs attrs = c.attrs_as<PoolAttrs>();
                                            attrs.shape = c.in_type(0).shape;
                                            c.set(0, call_op(ops::avg_pool_grad, attrs, {}, c.ct()));
                                          },
                                      .decompose = decompose_avg_pool,
                                      .batch = batch::folded<>,
                                      .cost = pool_cost,
                                      .samples = pool_samples<Operands::X, true>,
                                      .dtypes = kFloats});
constinit const Op avg_pool_grad =
    define(OpId::avg_pool_grad, OpClass::Composite,
           {.doc = "gradient of avg_pool: spreads ct over each window",
            .operands = "ct",
            .attrs = &attr_type<PoolAttrs>(),
            .infer = infer_avg_pool_grad,
            .vjp = [](VjpContext& c) { c.set(0, call_op(ops::avg_pool, c.attrs(), {}, c.ct())); },
            .decompose = decompose_avg_pool_grad,
            .batch = batch::folded<PoolAttrs>,
            .cost = pool_cost,
            .samples = pool_samples<Operands::Ct, true>,
            .dtypes = kFloats});

}  // namespace ops

namespace {

Tensor pool(const Op& op, Operand& x, const Sizes& window, const PoolOptions& options) {
  const Location location = x.location;
  Tensor value = to_tensor(std::move(x));
  const LocationScope scope(LocationScope::resolve(location));
  const int spatial = value.rank() - 2;
  if (spatial < 1 || spatial > 3) {
    throw Error(Code::kInvalidArgument, {.what = fmt::format("rank mismatch in {}", op.name),
                                         .location = LocationScope::resolve(location),
                                         .details = {"operand: " + to_string(value.type()),
                                                     "expected: [n, spatial..., c] with 1 to 3 spatial axes"},
                                         .fix = "add axes with reshape or expand_dims"});
  }
  PoolAttrs attrs;
  attrs.window = window.expand(spatial, "window");
  attrs.strides = options.strides ? options.strides->expand(spatial, "strides") : attrs.window;
  attrs.count_padding = options.count_padding;
  options.padding.resolve({value.shape().data() + 1, static_cast<size_t>(spatial)}, attrs.window, attrs.strides,
                          attrs.low, attrs.high);
  return call_op(op, attrs, location, std::move(value));
}

}  // namespace

Tensor max_pool(Operand x, const Sizes& window, const PoolOptions& options) {
  return pool(ops::max_pool, x, window, options);
}
Tensor avg_pool(Operand x, const Sizes& window, const PoolOptions& options) {
  return pool(ops::avg_pool, x, window, options);
}

}  // namespace hone
