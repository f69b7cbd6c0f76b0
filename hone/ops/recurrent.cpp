// Recurrent layers: their cells, one step each, and the LSTM over a sequence.
#include <fmt/format.h>

#include <algorithm>

#include "hone/ops/contraction.h"
#include "hone/ops/control_types.h"
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
// gates, c, ct_h, ct_c
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
  const Tensor &gates = call.inputs[0], &c = call.inputs[1], &ct_h = call.inputs[2], &ct_c = call.inputs[3];
  const Tensor i = sigmoid(part(gates, c, 0)), f = sigmoid(part(gates, c, 1)), g = tanh(part(gates, c, 2)),
               o = sigmoid(part(gates, c, 3));
  const Tensor t = tanh(f * c + i * g), d = ct_c + ct_h * o * (1 - t * t);
  const Tensor di = d * g * (i * (1 - i)), df = d * c * (f * (1 - f)), dg = d * i * (1 - g * g),
               d_o = ct_h * t * (o * (1 - o));
  call.outputs[0] = concatenate({di, df, dg, d_o}, 1);
  call.outputs[1] = d * f;
}
/// Gradients for gates and c.
std::pair<Tensor, Tensor> lstm_gradients(const Tensor& gates, const Tensor& c, const Tensor& ct_h, const Tensor& ct_c) {
  Tensor inputs[] = {gates, c, ct_h, ct_c}, outputs[2];
  Call call{ops::lstm_cell_grad, {}, inputs, outputs, {}};
  dispatch(call);
  return {outputs[0], outputs[1]};
}
void lstm_vjp(VjpContext& c) {
  const auto [gates, state] = lstm_gradients(c.in(0), c.in(1), family::cotangent(c, 0), family::cotangent(c, 1));
  c.set(0, gates), c.set(1, state);
}

// --- the LSTM over a sequence ---

// Operands: gates [t, n, 4 units], recurrent [units, 4 units], h and c [n, units], mask [t, n]. Results, those of the
// scan: h and c after the last step, h after each; for the gradient the full gates, h and c before each step.
enum Sequence : int { kGates, kRecurrent, kH, kC, kMask };
constexpr const char* kSequenceNames[] = {"gates", "recurrent", "h", "c", "mask"};
enum SequenceResult : int { kLastH, kLastC, kHidden, kFullGates, kBeforeH, kBeforeC };

void infer_sequence(InferContext& c) {
  c.check_dtype();
  const auto expect = [&](int i, const Shape& shape) {
    if (!(c.shape(i) == shape))
      c.fail("shape mismatch", fmt::format("{} must be {}", kSequenceNames[i], to_string(shape)));
    if (c.dtype(i) != (i == kMask ? bool_ : c.dtype(kGates)))
      c.fail("dtype mismatch", i == kMask ? "the mask is of bool" : "all operands but the mask must have one dtype",
             "convert: cast(x, dtype)");
  };
  const Shape& gates = c.shape(kGates);
  if (gates.rank() != 3 || c.shape(kH).rank() != 2)
    c.fail("wrong rank", "gates are [time, batch, 4 units], the state is [batch, units]");
  const Dim time = gates[0], batch = gates[1], units = c.shape(kH)[1];
  expect(kGates, {time, batch, units * 4});
  expect(kRecurrent, {units, units * 4});
  expect(kH, {batch, units});
  expect(kC, {batch, units});
  if (c.inputs() > kMask) expect(kMask, {time, batch});
  const DType dtype = c.dtype(kGates);
  c.out(kLastH) = c.out(kLastC) = c.in(kH);
  c.out(kHidden) = c.out(kBeforeH) = c.out(kBeforeC) = {dtype, {time, batch, units}};
  c.out(kFullGates) = c.in(kGates);
}

void decompose_sequence(const Call& call) {
  const bool masked = call.inputs.size() > kMask;
  std::vector<Tensor> operands = {call.inputs[kH], call.inputs[kC], call.inputs[kGates]};
  if (masked) operands.push_back(call.inputs[kMask]);
  operands.push_back(call.inputs[kRecurrent]);
  const auto step = [&](std::span<const Tensor> values) -> std::vector<Tensor> {
    const Tensor &h = values[0], &c = values[1], gates = values[2] + matmul(h, values.back());
    auto [next_h, next_c] = lstm_cell(gates, c);
    if (masked) {
      const Tensor mask = expand_dims(values[3], -1);
      next_h = where(mask, next_h, h), next_c = where(mask, next_c, c);
    }
    return {next_h, next_c, next_h, gates, h, c};
  };
  std::ranges::move(
      control::run_scan({.body = {}, .length = {call.inputs[kGates].shape()[0]}, .carries = 2, .xs = masked ? 2 : 1},
                        operands, step, call.location),
      call.outputs.begin());
}

// Back through the steps with the gradients of the state, then all of the recurrent weight's in one product.
void sequence_vjp(VjpContext& c) {
  const bool masked = c.inputs() > kMask;
  std::vector<Tensor> operands = {family::cotangent(c, kLastH), family::cotangent(c, kLastC), c.out(kFullGates),
                                  c.out(kBeforeC)};
  if (masked) operands.push_back(c.in(kMask));
  for (const int each : {kHidden, kFullGates, kBeforeH, kBeforeC}) {
    if (c.ct(each).defined()) operands.push_back(c.ct(each));
  }
  operands.push_back(transpose(c.in(kRecurrent)));
  const auto step = [&](std::span<const Tensor> values) -> std::vector<Tensor> {
    Tensor ct_h = values[0], ct_c = values[1];
    auto next = values.begin() + 4;
    const Tensor mask = masked ? expand_dims(*next++, -1) : Tensor();
    const auto add = [&](int result, Tensor& sum) {
      if (c.ct(result).defined()) sum = sum + *next++;
    };
    add(kHidden, ct_h);
    auto [gates, before_c] = lstm_gradients(values[2], values[3], ct_h, ct_c);
    if (masked) gates = where(mask, gates, 0), before_c = where(mask, before_c, ct_c);
    add(kFullGates, gates);
    Tensor before_h = matmul(gates, values.back());
    if (masked) before_h = before_h + where(mask, 0, ct_h);
    add(kBeforeH, before_h);
    add(kBeforeC, before_c);
    return {before_h, before_c, gates};
  };
  const auto rows = static_cast<int64_t>(operands.size()) - 3;
  const std::vector<Tensor> results =
      control::run_scan({.body = {}, .length = {c.in_type(kGates).shape[0]}, .carries = 2, .xs = rows, .reverse = true},
                        operands, step, LocationScope::resolve({}));
  c.set(kH, results[0]), c.set(kC, results[1]), c.set(kGates, results[2]);
  if (c.need(kRecurrent)) c.set(kRecurrent, dot_general(c.out(kBeforeH), results[2], DotAttrs{{}, {}, {0, 1}, {0, 1}}));
}

Cost sequence_cost(AttrRef attrs, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  Cost cost = family::movement_cost(attrs, inputs, outputs);
  const auto units = static_cast<double>(inputs[kH]->shape[1].number());
  cost.flops = (2 * units + 15) * static_cast<double>(inputs[kGates]->shape.count());
  return cost;
}

std::vector<Sample> sequence_samples() {
  std::vector<Sample> samples;
  for (const int64_t time : {0, 1, 4}) {
    for (const auto& [batch, units] : {std::pair<int64_t, int64_t>{2, 3}, {1, 8}, {0, 2}}) {
      const TensorType state{f32, {batch, units}};
      std::vector<TensorType> inputs = {{f32, {time, batch, 4 * units}}, {f32, {units, 4 * units}}, state, state};
      samples.push_back({.inputs = inputs, .low = -1, .high = 1});
      inputs.push_back({bool_, {time, batch}});
      samples.push_back({.inputs = inputs, .low = -1, .high = 1});
    }
  }
  return samples;
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

constinit const Op lstm =
    define(OpId::lstm, OpClass::Composite,
           {.doc = "an LSTM over the rows of gates [time, batch, 4 units]: last h, c, h of each",
            .operands = "gates recurrent h c mask",
            .numerics = NumericsClass::Accumulating,
            .min_inputs = 4,
            .max_inputs = 5,
            .outputs = 6,
            .infer = infer_sequence,
            .vjp = sequence_vjp,
            .reads = {.in = 1U << kRecurrent | 1U << kMask, .out = 1U << kFullGates | 1U << kBeforeH | 1U << kBeforeC},
            .decompose = decompose_sequence,
            .cost = sequence_cost,
            .samples = sequence_samples,
            .dtypes = kFloats});
constinit const Op lstm_cell = define(OpId::lstm_cell, OpClass::Composite,
                                      {.doc = "one LSTM step from gates (input, forget, cell, output): h', c'",
                                       .operands = "gates c",
                                       .numerics = NumericsClass::Approximate,
                                       .min_inputs = 2,
                                       .max_inputs = 2,
                                       .outputs = 2,
                                       .infer = infer_lstm,
                                       .vjp = lstm_vjp,
                                       .reads = {.in = 3},
                                       .decompose = decompose_lstm,
                                       .batch = batch::folded<>,
                                       .cost = cell_cost,
                                       .samples = cell_samples<1, 4, 1>,
                                       .dtypes = kFloats});
constinit const Op lstm_cell_grad = define(OpId::lstm_cell_grad, OpClass::Composite,
                                           {.doc = "gradients of lstm_cell for gates and c",
                                            .operands = "gates c ct_h ct_c",
                                            .numerics = NumericsClass::Approximate,
                                            .min_inputs = 4,
                                            .max_inputs = 4,
                                            .outputs = 2,
                                            .infer = infer_lstm_grad,
                                            .decompose = decompose_lstm_grad,
                                            .batch = batch::folded<>,
                                            .cost = cell_cost,
                                            .samples = cell_samples<1, 4, 3>,
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

LstmResult lstm(Operand gates, Operand recurrent, Operand h, Operand c, const Tensor& mask) {
  const Location location = gates.location;
  std::vector<Tensor> inputs = {to_tensor(std::move(gates)), to_tensor(std::move(recurrent)), to_tensor(std::move(h)),
                                to_tensor(std::move(c))};
  if (mask.defined()) inputs.push_back(mask);
  Tensor outputs[6];
  Call call{ops::lstm, {}, inputs, outputs, location};
  dispatch(call);
  return {outputs[kHidden], outputs[kLastH], outputs[kLastC]};
}

Tensor gru_cell(Operand x_gates, Operand h_gates, Operand h) {
  const Location location = x_gates.location;
  return call_op(ops::gru_cell, {}, location, to_tensor(std::move(x_gates)), to_tensor(std::move(h_gates)),
                 to_tensor(std::move(h)));
}

}  // namespace hone
