#include "hone/ops/convolution.h"

#include <fmt/format.h>

#include "hone/base/error.h"
#include "hone/ops/conv_rules.h"
#include "hone/ops/family.h"
#include "hone/ops/movement.h"
#include "hone/ops/promote.h"
#include "hone/ops/window_bound.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

void check_window_lists(InferContext& c, const ConvAttrs& attrs, size_t axes) {
  for (const Ints* list : {&attrs.strides, &attrs.low, &attrs.high, &attrs.base_dilation, &attrs.window_dilation}) {
    if (list->size() != axes)
      c.fail("invalid attributes", fmt::format("each list needs {} entries, one a spatial axis", axes));
  }
  for (size_t i = 0; i < axes; ++i) {
    if (attrs.strides[i] < 1 || attrs.base_dilation[i] < 1 || attrs.window_dilation[i] < 1) {
      c.fail("invalid attributes", fmt::format("strides and dilations must be >= 1 (spatial axis {})", i));
    }
    for (const Ints* list : {&attrs.strides, &attrs.low, &attrs.high, &attrs.base_dilation, &attrs.window_dilation}) {
      if ((*list)[i] < -kMaxWindow || (*list)[i] > kMaxWindow)
        c.fail("invalid attributes", fmt::format("{} is beyond 2^30 (spatial axis {})", (*list)[i], i));
    }
  }
}

// Extent of a result axis.
Dim slide(InferContext& c, Dim input, Dim window, const ConvAttrs& attrs, size_t i) {
  const Dim spread = input == Dim(0) ? Dim(0) : (input - 1) * attrs.base_dilation[i] + 1;
  const Dim padded = spread + attrs.low[i] + attrs.high[i];
  const Dim reach = (window - 1) * attrs.window_dilation[i] + 1;
  if (padded.is_number() && reach.is_number() && padded.number() < reach.number()) {
    c.fail("shape mismatch",
           fmt::format("the kernel spans {} along spatial axis {}, the padded input has only {}", reach.number(), i,
                       padded.number()),
           "use padding \"same\", a smaller kernel, or fewer strides before this layer");
  }
  return floor_div(padded - reach, attrs.strides[i]) + 1;
}

// Shape of the convolution of x with a kernel; all checks.
Shape convolved(InferContext& c, const ConvAttrs& attrs, const Shape& x, const Shape& kernel) {
  c.check_dtype();
  for (int i = 1; i < c.inputs(); ++i) {
    if (c.dtype(i) != c.dtype(0)) {
      c.fail("dtype mismatch", fmt::format("expected: {}, got: {}", name(c.dtype(0)), name(c.dtype(i))),
             "convert one operand: cast(x, dtype)");
    }
  }
  if (x.rank() < 3 || x.rank() > 5 || kernel.rank() != x.rank()) {
    c.fail("rank mismatch",
           fmt::format("expected: x [n, spatial..., channels] and a kernel of the same rank, 3 to 5; got: {} and {}",
                       to_string(x), to_string(kernel)),
           x.rank() == 3 && kernel.rank() == 4 ? "images need a batch axis: expand_dims(x, 0), and a channel axis"
                                               : "reshape the operands");
  }
  const auto axes = static_cast<size_t>(x.rank() - 2);
  check_window_lists(c, attrs, axes);
  const Dim channels = x[axes + 1], per_group = kernel[axes], out = kernel[axes + 1];
  if (attrs.groups < 1 || !(per_group * attrs.groups == channels)) {
    c.fail("shape mismatch",
           fmt::format("channels differ: x has {}, the kernel takes {} in each of {} group(s)", to_string(channels),
                       to_string(per_group), attrs.groups),
           attrs.groups <= 1
               ? fmt::format("build the kernel as [spatial..., {}, out]", to_string(channels))
               : fmt::format("build the kernel as [spatial..., {} / {}, out]", to_string(channels), attrs.groups));
  }
  if (out.is_number() && out.number() % attrs.groups != 0) {
    c.fail("shape mismatch", fmt::format("{} output channels do not split into {} groups", out.number(), attrs.groups),
           "make the kernel's last axis a multiple of groups");
  }
  Shape shape = {x[0]};
  for (size_t i = 0; i < axes; ++i) shape.push_back(slide(c, x[i + 1], kernel[i], attrs, i));
  shape.push_back(out);
  return shape;
}

}  // namespace

void infer_convolution(InferContext& c, const ConvAttrs& attrs) {
  const Shape shape = convolved(c, attrs, c.shape(0), c.shape(1));
  if (c.inputs() >= 3 && !(c.shape(2) == Shape{shape.dim(-1)})) {
    c.fail("shape mismatch", fmt::format("bias must be [{}], one value an output channel", to_string(shape.dim(-1))),
           "reshape the bias to one axis");
  }
  c.out() = {c.dtype(0), shape};
}

namespace {

void infer_convolution(InferContext& c) { hone::infer_convolution(c, c.attrs<ConvAttrs>()); }

void check_cotangent(InferContext& c, const Shape& wanted, const Shape& ct) {
  if (wanted == ct) return;
  c.fail("shape mismatch", fmt::format("the convolution gives {}, ct is {}", to_string(wanted), to_string(ct)),
         "pass the attributes of the convolution and its operand's shape in attrs.shape");
}

void infer_input_grad(InferContext& c) {
  const Shape& input = c.attrs<ConvAttrs>().shape;
  check_cotangent(c, convolved(c, c.attrs<ConvAttrs>(), input, c.shape(1)), c.shape(0));
  c.out() = {c.dtype(0), input};
}

void infer_kernel_grad(InferContext& c) {
  const Shape& kernel = c.attrs<ConvAttrs>().shape;
  check_cotangent(c, convolved(c, c.attrs<ConvAttrs>(), c.shape(0), kernel), c.shape(1));
  c.out() = {c.dtype(0), kernel};
}

ConvAttrs with_shape(ConvAttrs attrs, const Shape& shape) {
  attrs.shape = shape;
  return attrs;
}

// The three are each other's derivatives: each is linear in both operands.
// The input's gradient comes last: then x is free before it takes memory.
void convolution_vjp(VjpContext& c) {
  const auto& attrs = c.attrs_as<ConvAttrs>();
  if (c.need(1))
    c.set(1, call_op(ops::convolution_kernel_grad, with_shape(attrs, c.in_type(1).shape), {}, c.in(0), c.ct()));
  if (c.inputs() == 3 && c.need(2)) {
    Ints axes;
    for (int64_t axis = 0; axis + 1 < c.in_type(0).shape.rank(); ++axis) axes.push_back(axis);
    c.set(2, call_op(ops::reduce_sum, AxesAttrs{axes}, {}, c.ct()));
  }
  if (c.need(0))
    c.set(0, call_op(ops::convolution_input_grad, with_shape(attrs, c.in_type(0).shape), {}, c.ct(), c.in(1)));
}

void input_grad_vjp(VjpContext& c) {
  const auto& attrs = c.attrs_as<ConvAttrs>();
  if (c.need(0)) c.set(0, call_op(ops::convolution, with_shape(attrs, {}), {}, c.ct(), c.in(1)));
  if (c.need(1))
    c.set(1, call_op(ops::convolution_kernel_grad, with_shape(attrs, c.in_type(1).shape), {}, c.ct(), c.in(0)));
}

void kernel_grad_vjp(VjpContext& c) {
  const auto& attrs = c.attrs_as<ConvAttrs>();
  if (c.need(0))
    c.set(0, call_op(ops::convolution_input_grad, with_shape(attrs, c.in_type(0).shape), {}, c.in(1), c.ct()));
  if (c.need(1)) c.set(1, call_op(ops::convolution, with_shape(attrs, {}), {}, c.in(0), c.ct()));
}

struct ConvCase {
  Shape x, kernel, result;
  ConvAttrs attrs;
};

std::vector<ConvCase> conv_cases() {
  return {{{2, 5, 6, 3}, {3, 3, 3, 4}, {2, 5, 6, 4}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, {}}},
          {{1, 7, 6, 2}, {3, 2, 2, 3}, {1, 4, 3, 3}, {{2, 2}, {1, 0}, {1, 1}, {1, 1}, {1, 1}, 1, {}}},
          {{1, 6, 6, 2}, {2, 2, 2, 2}, {1, 4, 3, 2}, {{1, 2}, {0, 1}, {0, 0}, {1, 1}, {2, 2}, 1, {}}},
          {{1, 3, 3, 2}, {3, 3, 2, 2}, {1, 5, 5, 2}, {{1, 1}, {1, 1}, {1, 1}, {2, 2}, {1, 1}, 1, {}}},
          {{2, 4, 4, 4}, {3, 3, 1, 8}, {2, 2, 2, 8}, {{1, 1}, {0, 0}, {0, 0}, {1, 1}, {1, 1}, 4, {}}},
          {{1, 4, 4, 4}, {1, 1, 2, 6}, {1, 4, 4, 6}, {{1, 1}, {0, 0}, {0, 0}, {1, 1}, {1, 1}, 2, {}}},
          {{2, 9, 3}, {4, 3, 2}, {2, 4, 2}, {{2}, {1}, {1}, {1}, {1}, 1, {}}},
          {{1, 4, 3, 4, 2},
           {2, 2, 2, 2, 3},
           {1, 3, 2, 3, 3},
           {{1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}, {1, 1, 1}, 1, {}}},
          {{0, 4, 4, 2}, {3, 3, 2, 2}, {0, 2, 2, 2}, {{1, 1}, {0, 0}, {0, 0}, {1, 1}, {1, 1}, 1, {}}}};
}

std::vector<Sample> convolution_samples() {
  std::vector<Sample> samples;
  for (const ConvCase& c : conv_cases()) {
    samples.push_back({.inputs = {{f32, c.x}, {f32, c.kernel}}, .attrs = Attrs(c.attrs), .low = -1, .high = 1});
    samples.push_back({.inputs = {{f32, c.x}, {f32, c.kernel}, {f32, {c.kernel.dim(-1)}}},
                       .attrs = Attrs(c.attrs),
                       .low = -1,
                       .high = 1});
  }
  return samples;
}

std::vector<Sample> input_grad_samples() {
  std::vector<Sample> samples;
  for (const ConvCase& c : conv_cases()) {
    samples.push_back(
        {.inputs = {{f32, c.result}, {f32, c.kernel}}, .attrs = Attrs(with_shape(c.attrs, c.x)), .low = -1, .high = 1});
  }
  return samples;
}

std::vector<Sample> kernel_grad_samples() {
  std::vector<Sample> samples;
  for (const ConvCase& c : conv_cases()) {
    samples.push_back(
        {.inputs = {{f32, c.x}, {f32, c.result}}, .attrs = Attrs(with_shape(c.attrs, c.kernel)), .low = -1, .high = 1});
  }
  return samples;
}

// Two operations for each element of the convolution's result and each kernel element it meets.
Cost window_cost(const Shape& result, const Shape& kernel, std::span<const TensorType* const> inputs,
                 std::span<const TensorType> outputs) {
  Cost cost = family::movement_cost({}, inputs, outputs);
  cost.flops = 2 * static_cast<double>(result.count()) * static_cast<double>(kernel.count()) /
               static_cast<double>(std::max<int64_t>(kernel.dim(-1).number(), 1));
  return cost;
}
Cost convolution_cost(AttrRef, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  Cost cost = window_cost(outputs[0].shape, inputs[1]->shape, inputs, outputs);
  if (inputs.size() == 3) cost.flops += static_cast<double>(outputs[0].shape.count());
  return cost;
}
Cost input_grad_cost(AttrRef, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  return window_cost(inputs[0]->shape, inputs[1]->shape, inputs, outputs);
}
Cost kernel_grad_cost(AttrRef, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  return window_cost(inputs[1]->shape, outputs[0].shape, inputs, outputs);
}

constexpr Op library(OpId id, std::string_view doc, std::string_view operands, int max_inputs) {
  Op op;
  op.name = name(id);
  op.index = static_cast<int>(id);
  op.doc = doc;
  op.operands = operands;
  op.op_class = OpClass::Library;
  op.precision = PrecisionClass::Low;
  op.numerics = NumericsClass::Accumulating;
  op.min_inputs = 2;
  op.max_inputs = max_inputs;
  op.attrs = &attr_type<ConvAttrs>();
  op.reads = {.in = 3};
  op.dtypes = kNumbers;
  return op;
}

constexpr Op make_convolution() {
  Op op = library(OpId::convolution, "slides a kernel over [n, spatial..., c]; bias inside the library call",
                  "x kernel bias", 3);
  op.infer = infer_convolution;
  op.vjp = convolution_vjp;
  op.batch = batch::convolution;
  op.cost = convolution_cost;
  op.samples = convolution_samples;
  return op;
}
constexpr Op make_input_grad() {
  Op op = library(OpId::convolution_input_grad, "gradient of convolution for its input", "ct kernel", 2);
  op.infer = infer_input_grad;
  op.vjp = input_grad_vjp;
  op.batch = batch::convolution_input_grad;
  op.cost = input_grad_cost;
  op.samples = input_grad_samples;
  return op;
}
constexpr Op make_kernel_grad() {
  Op op = library(OpId::convolution_kernel_grad, "gradient of convolution for its kernel", "x ct", 2);
  op.infer = infer_kernel_grad;
  op.vjp = kernel_grad_vjp;
  op.batch = batch::convolution_kernel_grad;
  op.cost = kernel_grad_cost;
  op.samples = kernel_grad_samples;
  return op;
}

// --- separable_conv: x, depthwise [spatial..., c, m], pointwise [1..., c m, out], bias ---

ConvAttrs pointwise_attrs(size_t axes) {
  const Ints ones(axes, 1), zeros(axes, 0);
  return {.strides = ones,
          .low = zeros,
          .high = zeros,
          .base_dilation = ones,
          .window_dilation = ones,
          .groups = 1,
          .shape = {}};
}

Shape grouped_kernel(const Shape& depthwise) {  // [..., c, m] -> [..., 1, c m]
  Shape shape = depthwise;
  const auto last = static_cast<size_t>(depthwise.rank() - 1);
  shape[last] = depthwise[last - 1] * depthwise[last];
  shape[last - 1] = 1;
  return shape;
}

void infer_separable(InferContext& c) {
  if (c.shape(1).rank() < 3 || c.shape(2).rank() != c.shape(1).rank()) {
    c.fail("rank mismatch",
           "expected: depthwise [spatial..., c, multiplier] and pointwise [1..., c * multiplier, out]");
  }
  const Shape depthwise = grouped_kernel(c.shape(1));
  const Shape middle = convolved(c, c.attrs<ConvAttrs>(), c.shape(0), depthwise), &pointwise = c.shape(2);
  for (int i = 0; i + 2 < pointwise.rank(); ++i) {
    if (!(pointwise[static_cast<size_t>(i)] == Dim(1)))
      c.fail("shape mismatch", "the pointwise kernel must have spatial size 1");
  }
  if (!(pointwise.dim(-2) == middle.dim(-1))) {
    c.fail("shape mismatch",
           fmt::format("channels differ: the depthwise step gives {}, the pointwise kernel takes {}",
                       to_string(middle.dim(-1)), to_string(pointwise.dim(-2))),
           fmt::format("build the pointwise kernel as [1..., {}, out]", to_string(middle.dim(-1))));
  }
  if (c.inputs() == 4 && !(c.shape(3) == Shape{pointwise.dim(-1)}))
    c.fail("shape mismatch", "bias must have one value an output channel");
  Shape shape = middle;
  shape[static_cast<size_t>(shape.rank() - 1)] = pointwise.dim(-1);
  c.out() = {c.dtype(0), shape};
}

void decompose_separable(const Call& call) {
  const Tensor &x = call.inputs[0], &depthwise = call.inputs[1];
  const auto axes = static_cast<size_t>(x.rank() - 2);
  const Tensor middle =
      call_op(ops::convolution, call.attrs, {}, x, reshape(depthwise, grouped_kernel(depthwise.shape())));
  const ConvAttrs pointwise = pointwise_attrs(axes);
  call.outputs[0] = call.inputs.size() == 4
                        ? call_op(ops::convolution, pointwise, {}, middle, call.inputs[2], call.inputs[3])
                        : call_op(ops::convolution, pointwise, {}, middle, call.inputs[2]);
}

std::vector<Sample> separable_samples() {
  const ConvAttrs same{{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 3, {}},
      strided{{2, 2}, {0, 0}, {1, 1}, {1, 1}, {1, 1}, 3, {}};
  return {{.inputs = {{f32, {2, 5, 4, 3}}, {f32, {3, 3, 3, 1}}, {f32, {1, 1, 3, 4}}},
           .attrs = Attrs(same),
           .low = -1,
           .high = 1},
          {.inputs = {{f32, {1, 6, 6, 3}}, {f32, {3, 3, 3, 2}}, {f32, {1, 1, 6, 4}}, {f32, {4}}},
           .attrs = Attrs(strided),
           .low = -1,
           .high = 1}};
}

Cost separable_cost(AttrRef, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  Cost cost = family::movement_cost({}, inputs, outputs);
  const Shape &depthwise = inputs[1]->shape, &pointwise = inputs[2]->shape;
  const double positions = static_cast<double>(outputs[0].shape.count()) /
                           static_cast<double>(std::max<int64_t>(pointwise.dim(-1).number(), 1));
  cost.flops = 2 * positions * static_cast<double>(depthwise.count() + pointwise.count());
  return cost;
}

constexpr Op make_separable() {
  Op op = library(OpId::separable_conv, "a convolution of each channel by itself, then one of size 1 over channels",
                  "x depthwise pointwise bias", 4);
  op.op_class = OpClass::Composite;
  op.reads = {};
  op.min_inputs = 3;
  op.infer = infer_separable;
  op.decompose = decompose_separable;
  op.cost = separable_cost;
  op.samples = separable_samples;
  return op;
}

}  // namespace

namespace ops {
constinit const Op convolution = make_convolution();
constinit const Op convolution_input_grad = make_input_grad();
constinit const Op convolution_kernel_grad = make_kernel_grad();
constinit const Op separable_conv = make_separable();
}  // namespace ops

namespace {

struct Operands {
  Tensor x, kernel, bias;
  Location location;
};

Operands promote_all(Operand&& x, Operand&& kernel, const Tensor& bias) {
  const Location location = x.location;
  Operand b(bias, location);
  const Operand* all[] = {&x, &kernel, &b};
  const DType dtype = promoted(all);
  return {to_tensor(std::move(x), dtype), to_tensor(std::move(kernel), dtype),
          bias.defined() ? to_tensor(std::move(b), dtype) : Tensor(), location};
}

[[noreturn]] void fail_rank(const char* op, const Operands& o, int axes) {
  constexpr const char* kAxes[] = {"length", "height, width", "depth, height, width"};
  throw Error(
      Code::kInvalidArgument,
      {.what = fmt::format("rank mismatch in {}", op),
       .location = LocationScope::resolve(o.location),
       .details = {fmt::format("x: {}   kernel: {}", to_string(o.x.type()), to_string(o.kernel.type())),
                   fmt::format("expected: x [n, {0}, channels] and a kernel of rank {1}, got: ranks {2} and {3}",
                               kAxes[axes - 1], axes + 2, o.x.rank(), o.kernel.rank())},
       .fix = o.x.rank() == axes + 1 ? "add a batch axis: expand_dims(x, 0), or a channel axis: expand_dims(x, -1)"
                                     : "reshape the operands"});
}

void check_ranks(const char* op, const Operands& o, int axes) {
  if (o.x.rank() != axes + 2 || o.kernel.rank() != axes + 2) fail_rank(op, o, axes);
}

// Attributes for an input of these spatial extents; padding may depend on them.
ConvAttrs resolve(const ConvOptions& options, const Shape& input, const Shape& kernel, int axes) {
  ConvAttrs attrs;
  attrs.strides = options.strides.expand(axes, "strides");
  attrs.window_dilation = options.dilation.expand(axes, "dilation");
  attrs.base_dilation = Ints(static_cast<size_t>(axes), 1);
  attrs.groups = options.groups;
  Ints window;
  for (size_t i = 0; i < static_cast<size_t>(axes); ++i)
    window.push_back((kernel[i].number() - 1) * attrs.window_dilation[i] + 1);
  options.padding.resolve(std::span(input.begin() + 1, static_cast<size_t>(axes)), window, attrs.strides, attrs.low,
                          attrs.high);
  return attrs;
}

Tensor call_convolution(Operands&& o, const ConvAttrs& attrs) {
  if (o.bias.defined())
    return call_op(ops::convolution, attrs, o.location, std::move(o.x), std::move(o.kernel), std::move(o.bias));
  return call_op(ops::convolution, attrs, o.location, std::move(o.x), std::move(o.kernel));
}

Tensor conv(const char* op, int axes, Operand&& x, Operand&& kernel, const ConvOptions& options) {
  Operands o = promote_all(std::move(x), std::move(kernel), options.bias);
  check_ranks(op, o, axes);
  const LocationScope scope(o.location);
  const ConvAttrs attrs = resolve(options, o.x.shape(), o.kernel.shape(), axes);
  return call_convolution(std::move(o), attrs);
}

Tensor conv_transpose(const char* op, int axes, Operand&& x, Operand&& kernel, const ConvOptions& options) {
  Operands o = promote_all(std::move(x), std::move(kernel), options.bias);
  check_ranks(op, o, axes);
  const LocationScope scope(o.location);
  const Ints strides = options.strides.expand(axes, "strides"), dilation = options.dilation.expand(axes, "dilation");
  Shape result = {o.x.shape()[0]};
  for (size_t i = 0; i < static_cast<size_t>(axes); ++i) {
    const Dim scaled = o.x.shape()[i + 1] * strides[i], window = (o.kernel.shape()[i] - 1) * dilation[i] + 1;
    result.push_back(options.padding.same() ? scaled : scaled + max(window - strides[i], 0));
  }
  result.push_back(o.kernel.shape().dim(-2) * options.groups);
  ConvAttrs attrs = resolve(options, result, o.kernel.shape(), axes);
  for (size_t i = 0; i < static_cast<size_t>(axes) && !options.padding.same(); ++i) {
    const Dim window = (o.kernel.shape()[i] - 1) * dilation[i] + 1;
    if (attrs.low[i] || attrs.high[i])
      result[i + 1] = (o.x.shape()[i + 1] - 1) * strides[i] + window - attrs.low[i] - attrs.high[i];
  }
  attrs.shape = result;
  Tensor y = call_op(ops::convolution_input_grad, attrs, o.location, std::move(o.x), std::move(o.kernel));
  if (!o.bias.defined()) return y;
  Tensor bias = broadcast_to(std::move(o.bias), y.shape(), o.location);
  return call_op(ops::add, {}, o.location, std::move(y), std::move(bias));
}

}  // namespace

Tensor conv1d(Operand x, Operand kernel, const ConvOptions& options) {
  return conv("conv1d", 1, std::move(x), std::move(kernel), options);
}
Tensor conv2d(Operand x, Operand kernel, const ConvOptions& options) {
  return conv("conv2d", 2, std::move(x), std::move(kernel), options);
}
Tensor conv3d(Operand x, Operand kernel, const ConvOptions& options) {
  return conv("conv3d", 3, std::move(x), std::move(kernel), options);
}
Tensor conv1d_transpose(Operand x, Operand kernel, const ConvOptions& options) {
  return conv_transpose("conv1d_transpose", 1, std::move(x), std::move(kernel), options);
}
Tensor conv2d_transpose(Operand x, Operand kernel, const ConvOptions& options) {
  return conv_transpose("conv2d_transpose", 2, std::move(x), std::move(kernel), options);
}
Tensor conv3d_transpose(Operand x, Operand kernel, const ConvOptions& options) {
  return conv_transpose("conv3d_transpose", 3, std::move(x), std::move(kernel), options);
}

Tensor depthwise_conv2d(Operand x, Operand kernel, const ConvOptions& options) {
  Operands o = promote_all(std::move(x), std::move(kernel), options.bias);
  check_ranks("depthwise_conv2d", o, 2);
  const LocationScope scope(o.location);
  ConvAttrs attrs = resolve(options, o.x.shape(), o.kernel.shape(), 2);
  attrs.groups = o.x.dim(-1);
  const Shape grouped = grouped_kernel(o.kernel.shape());
  o.kernel = reshape(Operand(std::move(o.kernel), o.location), grouped);
  return call_convolution(std::move(o), attrs);
}

Tensor separable_conv2d(Operand x, Operand depthwise, Operand pointwise, const ConvOptions& options) {
  const Location location = x.location;
  Operand bias(options.bias, location);
  const Operand* all[] = {&x, &depthwise, &pointwise, &bias};
  const DType dtype = promoted(all);
  Operands o{to_tensor(std::move(x), dtype), to_tensor(std::move(depthwise), dtype), {}, location};
  check_ranks("separable_conv2d", o, 2);
  const LocationScope scope(location);
  ConvAttrs attrs = resolve(options, o.x.shape(), o.kernel.shape(), 2);
  attrs.groups = o.x.dim(-1);
  Tensor inputs[] = {std::move(o.x), std::move(o.kernel), to_tensor(std::move(pointwise), dtype), {}};
  if (options.bias.defined()) inputs[3] = to_tensor(std::move(bias), dtype);
  return dispatch(ops::separable_conv, attrs, std::span(inputs, options.bias.defined() ? 4 : 3), location);
}

Tensor convolution(Operand x, Operand kernel, const ConvAttrs& attrs, const Tensor& bias) {
  return call_convolution(promote_all(std::move(x), std::move(kernel), bias), attrs);
}
Tensor convolution_input_grad(Operand ct, Operand kernel, const ConvAttrs& attrs) {
  Operands o = promote_all(std::move(ct), std::move(kernel), {});
  return call_op(ops::convolution_input_grad, attrs, o.location, std::move(o.x), std::move(o.kernel));
}
Tensor convolution_kernel_grad(Operand x, Operand ct, const ConvAttrs& attrs) {
  Operands o = promote_all(std::move(x), std::move(ct), {});
  return call_op(ops::convolution_kernel_grad, attrs, o.location, std::move(o.x), std::move(o.kernel));
}

}  // namespace hone
