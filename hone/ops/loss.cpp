// Losses, dropout and embedding.
#include <fmt/format.h>

#include "hone/base/error.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/family.h"
#include "hone/ops/movement.h"
#include "hone/ops/nn.h"
#include "hone/ops/promote.h"
#include "hone/ops/reduction.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

using family::define;

void check_logits(InferContext& c) {
  c.check_dtype();
  if (c.shape(0).rank() != 2)
    c.fail("rank mismatch", "logits must be [n, classes]", "flatten leading axes: reshape(logits, {-1, classes})");
  if (!is_integer(c.dtype(1)))
    c.fail("dtype mismatch", "labels must be integers",
           "cast(labels, i32), or use the categorical loss for one-hot labels");
  if (!(c.shape(1) == Shape{c.shape(0)[0]}))
    c.fail("shape mismatch", "labels must have one entry for each row of logits");
}
void infer_cross_entropy(InferContext& c) {
  check_logits(c);
  c.out(0) = c.out(1) = {compute_type(c.dtype(0)), {c.shape(0)[0]}};
}
// logits, labels, logsumexp, ct
void infer_cross_entropy_grad(InferContext& c) {
  check_logits(c);
  const TensorType wanted{compute_type(c.dtype(0)), {c.shape(0)[0]}};
  for (int i = 2; i < 4; ++i) {
    if (!(c.in(i) == wanted)) c.fail("shape mismatch", "logsumexp and ct must be " + to_string(wanted));
  }
  c.out() = c.in(0);
}

/// True at the label's place of each row.
Tensor at_label(const Tensor& labels, const Tensor& logits) {
  const Tensor classes = iota(logits.shape(), 1, i64);
  return classes == expand_dims(cast(labels, i64), 1);
}
Tensor in_range(const Tensor& labels, const Tensor& logits) {
  const Tensor wide = cast(labels, i64);
  return (wide >= 0) & (wide < element_count(logits, {1}, i64));
}

void decompose_cross_entropy(const Call& call) {
  const Tensor &logits = call.inputs[0], &labels = call.inputs[1];
  const Tensor largest = stop_gradient(max(logits, 1, true));
  const Tensor total = log(sum(exp(logits - largest), 1)) + squeeze(largest, {1});
  const Tensor picked = sum(where(at_label(labels, logits), logits, 0), 1);
  call.outputs[0] = where(in_range(labels, logits), total - picked, __builtin_nan(""));
  call.outputs[1] = total;
}
void decompose_cross_entropy_grad(const Call& call) {
  const Tensor &logits = call.inputs[0], &labels = call.inputs[1], &total = call.inputs[2], &ct = call.inputs[3];
  const Tensor slope = exp(logits - expand_dims(total, 1)) - cast(at_label(labels, logits), logits.dtype());
  const Tensor valid = broadcast_to(expand_dims(in_range(labels, logits), 1), logits.shape());
  call.outputs[0] = where(valid, slope * expand_dims(ct, 1), __builtin_nan(""));
}

void cross_entropy_vjp(VjpContext& c) {
  const Tensor& logits = c.in(0);
  Tensor gradient;
  if (c.ct().defined()) gradient = call_op(ops::cross_entropy_grad, {}, {}, logits, c.in(1), c.out(1), c.ct());
  if (c.ct(1).defined()) {
    const Tensor part =
        cast(exp(cast(logits, c.ct(1).dtype()) - expand_dims(c.out(1), 1)) * expand_dims(c.ct(1), 1), logits.dtype());
    gradient = gradient.defined() ? gradient + part : part;
  }
  if (gradient.defined()) c.set(0, gradient);
}

Cost cross_entropy_cost(AttrRef attrs, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  Cost cost = family::movement_cost(attrs, inputs, outputs);
  cost.flops = 15 * static_cast<double>(inputs[0]->shape.count());
  return cost;
}

template <bool kGradient>
std::vector<Sample> cross_entropy_samples() {
  std::vector<Sample> samples;
  const auto add = [&](int64_t rows, int64_t classes, DType labels) {
    std::vector<TensorType> inputs{{f32, {rows, classes}}, {labels, {rows}}};
    if (kGradient) inputs.insert(inputs.end(), {{f32, {rows}}, {f32, {rows}}});
    samples.push_back({.inputs = inputs, .low = 0, .high = 2});
  };
  for (int64_t classes : {3, 7, 8, 9, 10, 16, 17, 65}) add(4, classes, i32);
  add(5, 10, u8), add(5, 10, i64), add(0, 10, i32);
  return samples;
}

// --- dropout ---

void infer_dropout(InferContext& c) {
  c.check_dtype();
  const double rate = c.attrs<DropoutAttrs>().rate;
  if (!(rate >= 0 && rate < 1)) c.fail("bad rate", fmt::format("rate {} must be in [0, 1)", rate));
  if (c.dtype(1) != u64 || !(c.shape(1) == Shape{2}))
    c.fail("bad state", "the state must be u64[2]", "make one: random::state(seed)");
  c.out() = c.in(0);
}
void decompose_dropout(const Call& call) {
  const double rate = call.attrs.as<DropoutAttrs>().rate;
  const Tensor& x = call.inputs[0];
  const Tensor bits = random::bits(call.inputs[1], x.shape()).second;
  const auto threshold = static_cast<int64_t>(rate * 0x1p32);
  call.outputs[0] = where(bits >= full({}, threshold, u32), x * (1 / (1 - rate)), 0);
}
std::vector<Sample> dropout_samples() {
  std::vector<Sample> samples;
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{5}, Shape{8}, Shape{17}, Shape{3, 11}}) {
    for (double rate : {0.0, 0.5})
      samples.push_back(
          {.inputs = {{f32, shape}, {u64, {2}}}, .attrs = Attrs(DropoutAttrs{rate}), .low = 0.5, .high = 3});
  }
  return samples;
}

// --- embedding ---

void infer_embedding(InferContext& c) {
  c.check_dtype();
  if (c.shape(0).rank() < 1) c.fail("rank mismatch", "the table must be [rows, ...]");
  if (!is_integer(c.dtype(1))) c.fail("dtype mismatch", "ids must be integers", "cast(ids, i32)");
  if (c.shape(0)[0] == Dim(0)) c.fail("no rows", "the table has no rows, so no id can be looked up");
  Shape out = c.shape(1);
  for (int i = 1; i < c.shape(0).rank(); ++i) out.push_back(c.shape(0)[i]);
  c.out() = {c.dtype(0), out};
}
void embedding_vjp(VjpContext& c) {
  const TensorType& table = c.in_type(0);
  const Tensor none = zeros(table.shape, table.dtype), rows = element_count(none, {0}, i64);
  const Tensor ids = cast(c.in(1), i64), positive = where(ids < 0, ids + rows, ids);
  c.set(0, scatter_add(none, clamp(0, positive, rows - 1), c.ct()));
}
std::vector<Sample> embedding_samples() {
  std::vector<Sample> samples;
  for (int64_t width : {1, 3, 8, 17})
    samples.push_back({.inputs = {{f32, {4, width}}, {i32, {2, 3}}}, .low = 0, .high = 3});
  samples.push_back({.inputs = {{f32, {4, 2, 2}}, {i64, {5}}}, .low = 0, .high = 3});
  samples.push_back({.inputs = {{f32, {4, 3}}, {i32, {0}}}, .low = 0, .high = 3});
  samples.push_back({.inputs = {{f32, {4, 3}}, {i32, {}}}, .low = -4, .high = 9});  // from the end, and clamped
  return samples;
}

}  // namespace

namespace ops {

constinit const Op cross_entropy =
    define(OpId::cross_entropy, OpClass::Composite,
           {.doc = "logsumexp(row) - row[label]; also gives the logsumexp; NaN for a label out of range",
            .operands = "logits labels",
            .precision = PrecisionClass::Full,
            .numerics = NumericsClass::Approximate,
            .min_inputs = 2,
            .max_inputs = 2,
            .outputs = 2,
            .infer = infer_cross_entropy,
            .vjp = cross_entropy_vjp,
            .reads = {.in = 3, .out = 2},
            .decompose = decompose_cross_entropy,
            .batch = batch::folded<>,
            .cost = cross_entropy_cost,
            .samples = cross_entropy_samples<false>,
            .dtypes = kFloats});
constinit const Op cross_entropy_grad = define(OpId::cross_entropy_grad, OpClass::Composite,
                                               {.doc = "(softmax(logits) - one_hot(label)) ct from the logsumexp",
                                                .operands = "logits labels logsumexp ct",
                                                .precision = PrecisionClass::Full,
                                                .numerics = NumericsClass::Approximate,
                                                .min_inputs = 4,
                                                .max_inputs = 4,
                                                .infer = infer_cross_entropy_grad,
                                                .decompose = decompose_cross_entropy_grad,
                                                .batch = batch::folded<>,
                                                .cost = cross_entropy_cost,
                                                .samples = cross_entropy_samples<true>,
                                                .dtypes = kFloats});
constinit const Op dropout =
    define(OpId::dropout, OpClass::Composite,
           {.doc = "zeroes elements with probability `rate`, scales the others; the mask follows from state and index",
            .operands = "x state",
            .attrs = &attr_type<DropoutAttrs>(),
            .min_inputs = 2,
            .max_inputs = 2,
            .infer = infer_dropout,
            .vjp = [](VjpContext& c) { c.set(0, call_op(ops::dropout, c.attrs(), {}, c.ct(), c.in(1))); },
            .reads = {.in = 2},
            .decompose = decompose_dropout,
            .samples = dropout_samples,
            .dtypes = kFloats});
constinit const Op embedding =
    define(OpId::embedding, OpClass::Composite,
           {.doc = "rows of a table; ids out of range are clamped",
            .operands = "table ids",
            .min_inputs = 2,
            .max_inputs = 2,
            .infer = infer_embedding,
            .vjp = embedding_vjp,
            .reads = {.in = 2},
            .decompose = [](const Call& call) { call.outputs[0] = hone::take(call.inputs[0], call.inputs[1], 0); },
            .batch = batch::leading<void, 2>,
            .samples = embedding_samples});

}  // namespace ops

Tensor sparse_softmax_cross_entropy(Operand logits, Operand labels) {
  const Location location = logits.location;
  Tensor inputs[] = {to_tensor(std::move(logits)), to_tensor(std::move(labels))}, outputs[2];
  Call call{ops::cross_entropy, {}, inputs, outputs, location};
  dispatch(call);
  return outputs[0];
}

Tensor dropout(Operand x, const Tensor& state, double rate) {
  const Location location = x.location;
  return call_op(ops::dropout, DropoutAttrs{rate}, location, to_tensor(std::move(x)), state);
}

Tensor embedding(Operand table, Operand ids) {
  const Location location = table.location;
  return call_op(ops::embedding, {}, location, to_tensor(std::move(table)), to_tensor(std::move(ids)));
}

}  // namespace hone
