// One step of recurrent layers.
#include <fmt/format.h>

#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/family.h"
#include "hone/ops/movement.h"
#include "hone/ops/nn.h"
#include "hone/ops/promote.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

using family::define;

/// Fails unless operand `gates` is [b, count * h] for the state operand [b, h].
void check_gates(InferContext& c, int gates, int state, int count) {
  const Shape &g = c.shape(gates), &s = c.shape(state);
  if (s.rank() != 2 || g.rank() != 2 || !(g[0] == s[0]) || !(g[1] == s[1] * Dim(count))) {
    c.fail("shape mismatch", fmt::format("gates must be [batch, {} units] for a state [batch, units]", count));
  }
}
void check_one_dtype(InferContext& c) {
  c.check_dtype();
  for (int i = 1; i < c.inputs(); ++i) {
    if (c.dtype(i) != c.dtype(0))
      c.fail("dtype mismatch", "all operands must have one dtype", "convert: cast(x, dtype)");
  }
}

void infer_lstm(InferContext& c) {
  check_one_dtype(c);
  check_gates(c, 0, 1, 4);
  c.out(0) = c.out(1) = c.in(1);
}
// gates, c, c', ct_h, ct_c
void infer_lstm_grad(InferContext& c) {
  check_one_dtype(c);
  check_gates(c, 0, 1, 4);
  family::check_same_types(c, 1);
  c.out(0) = c.in(0), c.out(1) = c.in(1);
}
// x_gates, h_gates, h
void infer_gru(InferContext& c) {
  check_one_dtype(c);
  check_gates(c, 0, 2, 3);
  check_gates(c, 1, 2, 3);
  c.out() = c.in(2);
}

/// Part `i` of the gates: columns [i h, (i + 1) h).
Tensor part(const Tensor& gates, const Tensor& state, int64_t i) {
  const Dim batch = state.shape()[0], units = state.shape()[1];
  return slice_by(gates, {0, units * i}, {batch, units * (i + 1)});
}

void decompose_lstm(const Call& call) {
  const Tensor &gates = call.inputs[0], &c = call.inputs[1];
  const Tensor i = sigmoid(part(gates, c, 0)), f = sigmoid(part(gates, c, 1)), g = tanh(part(gates, c, 2)),
               o = sigmoid(part(gates, c, 3));
  const Tensor next = f * c + i * g;
  call.outputs[0] = o * tanh(next);
  call.outputs[1] = next;
}
void decompose_lstm_grad(const Call& call) {
  const Tensor &gates = call.inputs[0], &c = call.inputs[1], &next = call.inputs[2], &ct_h = call.inputs[3],
               &ct_c = call.inputs[4];
  const Tensor i = sigmoid(part(gates, c, 0)), f = sigmoid(part(gates, c, 1)), g = tanh(part(gates, c, 2)),
               o = sigmoid(part(gates, c, 3));
  const Tensor t = tanh(next), d = ct_c + ct_h * o * (1 - t * t);
  const Tensor di = d * g * (i * (1 - i)), df = d * c * (f * (1 - f)), dg = d * i * (1 - g * g),
               d_o = ct_h * t * (o * (1 - o));
  call.outputs[0] = concatenate({di, df, dg, d_o}, 1);
  call.outputs[1] = d * f;
}
void lstm_vjp(VjpContext& c) {
  const Tensor none =
      c.ct(0).defined() && c.ct(1).defined() ? Tensor() : zeros(c.out_type(0).shape, c.out_type(0).dtype);
  Tensor inputs[] = {c.in(0), c.in(1), c.out(1), c.ct(0).defined() ? c.ct(0) : none,
                     c.ct(1).defined() ? c.ct(1) : none},
         outputs[2];
  Call call{ops::lstm_cell_grad, {}, inputs, outputs, {}};
  dispatch(call);
  c.set(0, outputs[0]), c.set(1, outputs[1]);
}

void decompose_gru(const Call& call) {
  const Tensor &x = call.inputs[0], &r = call.inputs[1], &h = call.inputs[2];
  const Tensor update = sigmoid(part(x, h, 0) + part(r, h, 0)), reset = sigmoid(part(x, h, 1) + part(r, h, 1));
  call.outputs[0] = update * h + (1 - update) * tanh(part(x, h, 2) + reset * part(r, h, 2));
}

Cost cell_cost(AttrRef attrs, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  Cost cost = family::movement_cost(attrs, inputs, outputs);
  cost.flops = 15 * static_cast<double>(inputs[0]->shape.count());
  return cost;
}

template <int kWide, int kParts, int kNarrow>
std::vector<Sample> cell_samples() {
  std::vector<Sample> samples;
  for (int64_t units : {1, 3, 7, 8, 9, 17}) {
    for (int64_t batch : {0, 2}) {
      std::vector<TensorType> inputs(kWide, {f32, {batch, kParts * units}});
      inputs.resize(kWide + kNarrow, {f32, {batch, units}});
      samples.push_back({.inputs = inputs});
    }
  }
  return samples;
}

}  // namespace

namespace ops {

constinit const Op lstm_cell = define(OpId::lstm_cell, OpClass::Composite,
                                      {.doc = "one LSTM step from gates (input, forget, cell, output): h', c'",
                                       .operands = "gates c",
                                       .numerics = NumericsClass::Approximate,
                                       .min_inputs = 2,
                                       .max_inputs = 2,
                                       .outputs = 2,
                                       .infer = infer_lstm,
                                       .vjp = lstm_vjp,
                                       .reads = {.in = 3, .out = 2},
                                       .decompose = decompose_lstm,
                                       .batch = batch::folded<>,
                                       .cost = cell_cost,
                                       .samples = cell_samples<1, 4, 1>,
                                       .dtypes = kFloats});
constinit const Op lstm_cell_grad = define(OpId::lstm_cell_grad, OpClass::Composite,
                                           {.doc = "gradients of lstm_cell for gates and c",
                                            .operands = "gates c next_c ct_h ct_c",
                                            .numerics = NumericsClass::Approximate,
                                            .min_inputs = 5,
                                            .max_inputs = 5,
                                            .outputs = 2,
                                            .infer = infer_lstm_grad,
                                            .decompose = decompose_lstm_grad,
                                            .batch = batch::folded<>,
                                            .cost = cell_cost,
                                            .samples = cell_samples<1, 4, 4>,
                                            .dtypes = kFloats});
constinit const Op gru_cell = define(OpId::gru_cell, OpClass::Composite,
                                     {.doc = "one GRU step, reset_after form (update, reset, candidate): h'",
                                      .operands = "x_gates h_gates h",
                                      .numerics = NumericsClass::Approximate,
                                      .min_inputs = 3,
                                      .max_inputs = 3,
                                      .infer = infer_gru,
                                      .decompose = decompose_gru,
                                      .batch = batch::folded<>,
                                      .cost = cell_cost,
                                      .samples = cell_samples<2, 3, 1>,
                                      .dtypes = kFloats});

}  // namespace ops

std::pair<Tensor, Tensor> lstm_cell(Operand gates, Operand c) {
  const Location location = gates.location;
  Tensor inputs[] = {to_tensor(std::move(gates)), to_tensor(std::move(c))}, outputs[2];
  Call call{ops::lstm_cell, {}, inputs, outputs, location};
  dispatch(call);
  return {outputs[0], outputs[1]};
}

Tensor gru_cell(Operand x_gates, Operand h_gates, Operand h) {
  const Location location = x_gates.location;
  return call_op(ops::gru_cell, {}, location, to_tensor(std::move(x_gates)), to_tensor(std::move(h_gates)),
                 to_tensor(std::move(h)));
}

}  // namespace hone
