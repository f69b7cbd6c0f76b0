#include "hone/ops/attention.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "hone/base/error.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/family.h"
#include "hone/ops/movement.h"
#include "hone/ops/promote.h"
#include "hone/ops/reduction.h"
#include "hone/ops/views.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Contractions between [b, t, h, d] and [b, h, t, s]; each keeps batch and head in front.
DotAttrs over_features() { return {{0, 2}, {0, 2}, {3}, {3}}; }  // [b,t,h,d] . [b,s,h,d] -> [b,h,t,s]
DotAttrs over_keys() { return {{0, 1}, {0, 2}, {3}, {1}}; }      // [b,h,t,s] . [b,s,h,d] -> [b,h,t,d]
DotAttrs over_queries() { return {{0, 1}, {0, 2}, {2}, {1}}; }   // [b,h,t,s] . [b,t,h,d] -> [b,h,s,d]

Tensor dot(const Tensor& a, const Tensor& b, const DotAttrs& attrs) {
  return call_op(ops::dot_general, attrs, {}, a, b);
}
Tensor heads_inside(const Tensor& x) { return transpose(x, {0, 2, 1, 3}); }

void check_operands(InferContext& c, int mask) {
  c.check_dtype();
  for (int i = 1; i < std::min(3, c.inputs()); ++i) {
    if (c.dtype(i) != c.dtype(0))
      c.fail("dtype mismatch", "q, k and v must have one dtype", "convert one operand: cast(x, dtype)");
  }
  const Shape &q = c.shape(0), &k = c.shape(1);
  if (q.rank() != 4 || k.rank() != 4)
    c.fail("rank mismatch", "expected: q [b, t, h, d] and k, v [b, s, h, d]",
           "reshape to [batch, time, heads, features]");
  if (!(k == c.shape(2))) c.fail("shape mismatch", "k and v must have one shape");
  if (!(q[0] == k[0]) || !(q[2] == k[2]) || !(q[3] == k[3])) {
    c.fail("shape mismatch", "q [b, t, h, d] and k [b, s, h, d] must agree in b, h and d",
           "check the order of axes: [batch, time, heads, features]");
  }
  if (c.inputs() <= mask) return;
  const Shape& m = c.shape(mask);
  const bool fits = m.rank() == 4 && (m[0] == q[0] || m[0] == Dim(1)) && (m[1] == q[2] || m[1] == Dim(1)) &&
                    m[2] == q[1] && m[3] == k[1];
  if (c.dtype(mask) != bool_ || !fits) {
    c.fail("mask mismatch",
           fmt::format("expected: bool [{} or 1, {} or 1, {}, {}]", to_string(q[0]), to_string(q[2]), to_string(q[1]),
                       to_string(k[1])),
           "true means attend; compare a number mask first: mask > 0");
  }
}

void infer_sdpa(InferContext& c) {
  check_operands(c, 3);
  const Shape& q = c.shape(0);
  c.out(0) = c.in(0);
  c.out(1) = {compute_type(c.dtype(0)), {q[0], q[2], q[1]}};
}

void infer_sdpa_grad(InferContext& c) {
  check_operands(c, 6);
  const Shape& q = c.shape(0);
  if (!(c.shape(3) == q) || !(c.shape(5) == q)) c.fail("shape mismatch", "out and ct must have q's shape");
  if (!(c.shape(4) == Shape{q[0], q[2], q[1]})) c.fail("shape mismatch", "logsumexp must be [b, h, t]");
  for (int i = 0; i < 3; ++i) c.out(i) = c.in(i);
}

// Scaled scores [b, h, t, s], -Inf where a query may not attend.
Tensor masked_scores(const Tensor& q, const Tensor& k, const Tensor* mask, const SdpaAttrs& attrs) {
  Tensor scores = dot(q, k, over_features()) * attrs.scale;
  const Shape shape = scores.shape();
  const auto hide = [&](const Tensor& allowed) {
    scores = where(broadcast_to(allowed, shape), scores, full(shape, -kInfinity, scores.dtype()));
  };
  if (mask) hide(*mask);
  if (attrs.causal) {
    const Shape plane = {shape[2], shape[3]};
    hide(iota(plane, 0) >= iota(plane, 1));
  }
  return scores;
}

// A finite stand-in for the maximum or logsumexp of queries that attend to nothing: their probabilities come out 0.
Tensor finite(const Tensor& x) { return where(x == -kInfinity, zeros_like(x), x); }

Tensor probabilities(const Tensor& q, const Tensor& k, const Tensor& logsumexp, const Tensor* mask,
                     const SdpaAttrs& attrs) {
  return exp(masked_scores(q, k, mask, attrs) - expand_dims(finite(logsumexp), -1));
}

void decompose_sdpa(const Call& call) {
  const auto& attrs = call.attrs.as<SdpaAttrs>();
  const Tensor scores =
      masked_scores(call.inputs[0], call.inputs[1], call.inputs.size() == 4 ? &call.inputs[3] : nullptr, attrs);
  const Tensor maximum = finite(max(scores, -1, true));
  const Tensor p = exp(scores - maximum);
  const Tensor total = sum(p, -1, true);
  const Tensor divisor = where(total == 0, ones_like(total), total);
  call.outputs[0] = heads_inside(dot(p / divisor, call.inputs[2], over_keys()));
  call.outputs[1] = squeeze(log(total) + maximum, {3});
}

struct Gradients {
  Tensor q, k;
};
Gradients through_scores(const Tensor& ds, const Tensor& q, const Tensor& k) {
  return {heads_inside(dot(ds, k, over_keys())), heads_inside(dot(ds, q, over_queries()))};
}

void decompose_sdpa_grad(const Call& call) {
  const auto& attrs = call.attrs.as<SdpaAttrs>();
  const Tensor &q = call.inputs[0], &k = call.inputs[1], &v = call.inputs[2], &out = call.inputs[3],
               &ct = call.inputs[5];
  const Tensor p = probabilities(q, k, call.inputs[4], call.inputs.size() == 7 ? &call.inputs[6] : nullptr, attrs);
  const Tensor delta = heads_inside(sum(ct * out, -1, true));  // [b, h, t, 1]
  const Tensor ds = p * (dot(ct, v, over_features()) - delta) * attrs.scale;
  const Gradients g = through_scores(ds, q, k);
  call.outputs[0] = g.q;
  call.outputs[1] = g.k;
  call.outputs[2] = heads_inside(dot(p, ct, over_queries()));
}

void sdpa_vjp(VjpContext& c) {
  const auto& attrs = c.attrs_as<SdpaAttrs>();
  Tensor g[3];
  if (c.ct(0).defined()) {
    Tensor inputs[] = {c.in(0), c.in(1), c.in(2), c.out(0), c.out(1), c.ct(0), {}};
    if (c.inputs() == 4) inputs[6] = c.in(3);
    Call call{ops::sdpa_grad, c.attrs(), std::span(inputs, c.inputs() == 4 ? 7 : 6), g, {}};
    dispatch(call);
  }
  if (c.ct(1).defined()) {  // logsumexp was used by itself: its derivative for the scores is the probability
    const Tensor p = probabilities(c.in(0), c.in(1), c.out(1), c.inputs() == 4 ? &c.in(3) : nullptr, attrs);
    const Gradients more = through_scores(p * expand_dims(c.ct(1), -1) * attrs.scale, c.in(0), c.in(1));
    g[0] = g[0].defined() ? g[0] + more.q : more.q;
    g[1] = g[1].defined() ? g[1] + more.k : more.k;
  }
  for (int i = 0; i < 3; ++i) {
    if (c.need(i) && g[i].defined()) c.set(i, g[i]);
  }
}

// A mask that all examples and their batches share stays as it is.
template <int kMask>
bool batch_attention(BatchContext& c) {
  TensorList inputs;
  for (int i = 0; i < std::min(kMask, c.inputs()); ++i) inputs.push_back(batch::folded_operand(c, i));
  if (c.inputs() > kMask) {
    Shape shape = c.in_type(kMask).shape;
    if (!c.mapped(kMask) && shape[0] == Dim(1)) {
      inputs.push_back(c.in(kMask));
    } else {
      shape[0] = c.in_type(0).shape[0];
      Shape all = shape;
      all.insert(0, c.size());
      shape[0] = shape[0] * c.size();
      inputs.push_back(reshape(broadcast_to(c.stacked(kMask), all), shape));
    }
  }
  batch::call_folded(c, c.call().attrs, {inputs.data(), inputs.size()});
  return true;
}

std::vector<Sample> sdpa_samples() {
  const auto sample = [](Shape q, Shape k, SdpaAttrs attrs, bool masked) {
    Sample s{.inputs = {{f32, q}, {f32, k}, {f32, k}}, .attrs = Attrs(attrs), .low = -1, .high = 1};
    if (masked) s.inputs.push_back({bool_, {1, q[2], q[1], k[1]}});
    return s;
  };
  return {sample({2, 3, 2, 4}, {2, 5, 2, 4}, {0.5, false}, false),
          sample({1, 6, 1, 3}, {1, 6, 1, 3}, {0.7, true}, false),
          sample({1, 5, 2, 4}, {1, 4, 2, 4}, {0.5, false}, true), sample({1, 1, 1, 1}, {1, 1, 1, 1}, {1, false}, false),
          sample({1, 33, 1, 16}, {1, 17, 1, 16}, {0.25, true}, true)};
}

std::vector<Sample> sdpa_grad_samples() {
  std::vector<Sample> samples = sdpa_samples();
  for (Sample& s : samples) {
    const TensorType q = s.inputs[0];
    const std::vector<TensorType> rest = {q, {f32, {q.shape[0], q.shape[2], q.shape[1]}}, q};
    s.inputs.insert(s.inputs.begin() + 3, rest.begin(), rest.end());
    s.differentiable =
        false;  // out and logsumexp of a sample are not those of its q, k, v; attention's second derivative is tested
  }
  return samples;
}

// Per product of query and key: `matrices` products of d terms, and the exponential.
Cost cost_of(double matrices, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  Cost cost = family::movement_cost({}, inputs, outputs);
  const Shape& q = inputs[0]->shape;
  const double pairs = static_cast<double>(q[0].number()) * static_cast<double>(q[1].number()) *
                       static_cast<double>(q[2].number()) * static_cast<double>(inputs[1]->shape[1].number());
  cost.flops = pairs * (2 * matrices * static_cast<double>(q[3].number()) + 12);
  return cost;
}

constexpr Op make(OpId id, std::string_view doc, std::string_view operands, int inputs, int outputs) {
  Op op;
  op.name = name(id);
  op.index = static_cast<int>(id);
  op.doc = doc;
  op.operands = operands;
  op.op_class = OpClass::Composite;
  op.precision = PrecisionClass::Low;
  op.numerics = NumericsClass::Accumulating;
  op.attrs = &attr_type<SdpaAttrs>();
  op.min_inputs = inputs;
  op.max_inputs = inputs + 1;
  op.outputs = outputs;
  op.dtypes = kFloats;
  return op;
}

constexpr Op make_sdpa() {
  Op op = make(OpId::sdpa, "attention: {softmax(scale q k^T) v, logsumexp of the scaled scores [b, h, t]}",
               "q k v mask", 3, 2);
  op.infer = infer_sdpa;
  op.vjp = sdpa_vjp;
  op.reads = {.in = 15, .out = 3};
  op.decompose = decompose_sdpa;
  op.batch = batch_attention<3>;
  op.cost = [](AttrRef, std::span<const TensorType* const> in, std::span<const TensorType> out) {
    return cost_of(2, in, out);
  };
  op.samples = sdpa_samples;
  return op;
}

constexpr Op make_sdpa_grad() {
  Op op = make(OpId::sdpa_grad, "gradients of attention for q, k and v", "q k v out logsumexp ct mask", 6, 3);
  op.infer = infer_sdpa_grad;
  op.decompose = decompose_sdpa_grad;
  op.batch = batch_attention<6>;
  op.cost = [](AttrRef, std::span<const TensorType* const> in, std::span<const TensorType> out) {
    return cost_of(5, in, out);
  };
  op.samples = sdpa_grad_samples;
  return op;
}

}  // namespace

namespace ops {
constinit const Op sdpa = make_sdpa();
constinit const Op sdpa_grad = make_sdpa_grad();
}  // namespace ops

Tensor scaled_dot_product_attention(Operand q, Operand k, Operand v, const AttentionOptions& options) {
  const Location location = q.location;
  const Operand* all[] = {&q, &k, &v};
  DType dtype = promoted(all);
  if (!is_floating(dtype)) dtype = f32;
  Tensor inputs[] = {to_tensor(std::move(q), dtype), to_tensor(std::move(k), dtype), to_tensor(std::move(v), dtype),
                     options.mask};
  const int features =
      inputs[0].rank() == 4 && inputs[0].shape()[3].is_number() ? static_cast<int>(inputs[0].dim(3)) : 0;
  if (!options.scale && features == 0 && inputs[0].rank() == 4) {
    throw Error(Code::kInvalidArgument, {.what = "scaled_dot_product_attention needs a scale",
                                         .location = LocationScope::resolve(location),
                                         .details = {"q: " + to_string(inputs[0].type())},
                                         .fix = "give {.scale = ...} where d is 0 or not known"});
  }
  const SdpaAttrs attrs{.scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(std::max(features, 1)))),
                        .causal = options.causal};
  Tensor outputs[2];
  Call call{ops::sdpa, attrs, std::span(inputs, options.mask.defined() ? 4 : 3), outputs, location};
  dispatch(call);
  return outputs[0];
}

}  // namespace hone
