#include "hone/ops/contraction.h"

#include <fmt/format.h>

#include "hone/base/error.h"
#include "hone/ops/dot_axes.h"
#include "hone/ops/family.h"
#include "hone/ops/movement.h"
#include "hone/ops/promote.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

std::string list(const Ints& axes) { return fmt::format("[{}]", fmt::join(axes.begin(), axes.end(), ", ")); }

Cost contraction_cost(double terms, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  Cost cost = family::movement_cost({}, inputs, outputs);
  cost.flops = 2 * terms * static_cast<double>(outputs[0].shape.count());
  return cost;
}

void check_axes(InferContext& c, const char* what, const Shape& shape, const Ints& batch, const Ints& contract) {
  uint32_t seen = 0;
  for (const Ints* axes : {&batch, &contract}) {
    for (int64_t axis : *axes) {
      if (axis < 0 || axis >= shape.rank()) {
        c.fail("invalid axes", fmt::format("axis {} of {} is out of range", axis, what),
               "axes count from 0 to rank - 1");
      }
      if (seen >> axis & 1) c.fail("invalid axes", fmt::format("axis {} of {} is listed twice", axis, what));
      seen |= 1U << axis;
    }
  }
}

std::string contracting_fix(const InferContext& c, const DotAttrs& attrs, size_t i) {
  const Shape &x = c.shape(0), &w = c.shape(1);
  const auto wanted = x[static_cast<size_t>(attrs.lhs_contract[i])];
  if (w.rank() == 2 && attrs.rhs_contract.size() == 1 && attrs.rhs_batch.empty()) {
    return fmt::format("the layer before gives {} features; build w as {}", to_string(wanted),
                       attrs.rhs_contract[0] == 0 ? fmt::format("[{}, n]", to_string(wanted))
                                                  : fmt::format("[n, {}]", to_string(wanted)));
  }
  return "transpose or reshape one operand so that the sizes agree";
}

void check_pairs(InferContext& c, const DotAttrs& attrs, const char* what, const Ints& lhs, const Ints& rhs) {
  if (lhs.size() != rhs.size()) {
    c.fail("invalid axes", fmt::format("{} axes come in pairs: {} of x, {} of w", what, list(lhs), list(rhs)));
  }
  for (size_t i = 0; i < lhs.size(); ++i) {
    const Dim a = c.shape(0)[static_cast<size_t>(lhs[i])], b = c.shape(1)[static_cast<size_t>(rhs[i])];
    if (a == b) continue;
    c.fail("shape mismatch",
           fmt::format("{} sizes differ: x axis {} is {}, w axis {} is {}", what, lhs[i], to_string(a), rhs[i],
                       to_string(b)),
           &lhs == &attrs.lhs_contract ? contracting_fix(c, attrs, i)
                                       : "batch axes must have one size; broadcast one operand first");
  }
}

void check_dtypes(InferContext& c) {
  c.check_dtype();
  for (int i = 1; i < c.inputs(); ++i) {
    if (c.dtype(i) != c.dtype(0)) {
      c.fail("dtype mismatch", fmt::format("expected: {}, got: {}", name(c.dtype(0)), name(c.dtype(i))),
             "convert one operand: cast(x, dtype)");
    }
  }
}

void infer_dot(InferContext& c) {
  const auto& attrs = c.attrs<DotAttrs>();
  check_dtypes(c);
  check_axes(c, "x", c.shape(0), attrs.lhs_batch, attrs.lhs_contract);
  check_axes(c, "w", c.shape(1), attrs.rhs_batch, attrs.rhs_contract);
  check_pairs(c, attrs, "batch", attrs.lhs_batch, attrs.rhs_batch);
  check_pairs(c, attrs, "contracting", attrs.lhs_contract, attrs.rhs_contract);
  const Shape &x = c.shape(0), &w = c.shape(1);
  Shape shape;
  for (int64_t axis : attrs.lhs_batch) shape.push_back(x[static_cast<size_t>(axis)]);
  for (int64_t axis : free_axes(x.rank(), attrs.lhs_batch, attrs.lhs_contract))
    shape.push_back(x[static_cast<size_t>(axis)]);
  for (int64_t axis : free_axes(w.rank(), attrs.rhs_batch, attrs.rhs_contract))
    shape.push_back(w[static_cast<size_t>(axis)]);
  c.out() = {c.dtype(0), shape};
}

// A gradient of one operand is again a dot_general, whose result has its axes in some order: where each axis of the
// operand lies in it.
struct Backward {
  DotAttrs attrs;
  Ints permutation;
  bool identity() const {
    for (size_t i = 0; i < permutation.size(); ++i) {
      if (permutation[i] != static_cast<int64_t>(i)) return false;
    }
    return true;
  }
};

struct Side {
  Ints batch, contract, free;
  int64_t first_free_in_result;
};

Ints range(int64_t from, size_t count) {
  Ints axes;
  for (size_t i = 0; i < count; ++i) axes.push_back(from + static_cast<int64_t>(i));
  return axes;
}

// d(mine) = ct . other, summed over other's free axes. Result axes: batch, then mine's free (from ct), then the
// contracted ones in the order of other's axes; with `swapped` (other . ct) the last two groups change places.
Backward backward(const Side& mine, const Side& other, int rank, bool swapped) {
  Backward b;
  const Ints ct_batch = range(0, mine.batch.size()), ct_contract = range(other.first_free_in_result, other.free.size());
  Ints kept;  // other's contracting axes, ascending
  for (int64_t axis = 0; axis < kMaxRank; ++axis) {
    if (other.contract.contains(axis)) kept.push_back(axis);
  }
  b.attrs = swapped ? DotAttrs{other.batch, ct_batch, other.free, ct_contract}
                    : DotAttrs{ct_batch, other.batch, ct_contract, other.free};
  const auto batches = static_cast<int64_t>(mine.batch.size());
  const int64_t free_at = batches + (swapped ? static_cast<int64_t>(kept.size()) : 0);
  const int64_t kept_at = batches + (swapped ? 0 : static_cast<int64_t>(mine.free.size()));
  b.permutation = Ints(static_cast<size_t>(rank), 0);
  const auto at = [](int64_t i) { return static_cast<size_t>(i); };
  for (size_t i = 0; i < mine.batch.size(); ++i) b.permutation[at(mine.batch[i])] = static_cast<int64_t>(i);
  for (size_t i = 0; i < mine.free.size(); ++i) b.permutation[at(mine.free[i])] = free_at + static_cast<int64_t>(i);
  for (size_t i = 0; i < mine.contract.size(); ++i) {
    const auto where = std::find(kept.begin(), kept.end(), other.contract[i]) - kept.begin();
    b.permutation[at(mine.contract[i])] = kept_at + where;
  }
  return b;
}

Tensor gradient(const Tensor& ct, const Tensor& other_value, const Side& mine, const Side& other, int rank) {
  Backward b = backward(mine, other, rank, false);
  bool swapped = false;
  if (!b.identity()) {
    if (Backward alternative = backward(mine, other, rank, true); alternative.identity())
      b = alternative, swapped = true;
  }
  Tensor result = swapped ? call_op(ops::dot_general, b.attrs, {}, other_value, ct)
                          : call_op(ops::dot_general, b.attrs, {}, ct, other_value);
  return b.identity() ? result : transpose(result, b.permutation);
}

void dot_vjp(VjpContext& c) {
  const auto& attrs = c.attrs_as<DotAttrs>();
  const int lhs_rank = c.in_type(0).shape.rank(), rhs_rank = c.in_type(1).shape.rank();
  const auto batches = static_cast<int64_t>(attrs.lhs_batch.size());
  Side lhs{attrs.lhs_batch, attrs.lhs_contract, free_axes(lhs_rank, attrs.lhs_batch, attrs.lhs_contract), batches};
  Side rhs{attrs.rhs_batch, attrs.rhs_contract, free_axes(rhs_rank, attrs.rhs_batch, attrs.rhs_contract),
           batches + static_cast<int64_t>(lhs.free.size())};
  if (c.need(0)) c.set(0, gradient(c.ct(), c.in(1), lhs, rhs, lhs_rank));
  if (c.need(1)) c.set(1, gradient(c.ct(), c.in(0), rhs, lhs, rhs_rank));
}

// The axis is one more batch axis, or, where one operand has it, one more free axis.
bool batch_dot(BatchContext& c) {
  DotAttrs attrs = c.attrs_as<DotAttrs>();
  const auto batches = static_cast<int>(attrs.lhs_batch.size());
  int at = 0;  // where the result has it
  if (c.mapped(0)) batch::lead(attrs.lhs_batch), batch::lead(attrs.lhs_contract);
  if (c.mapped(1)) batch::lead(attrs.rhs_batch), batch::lead(attrs.rhs_contract);
  if (c.mapped(0) && c.mapped(1)) {
    attrs.lhs_batch.insert(0, 0);
    attrs.rhs_batch.insert(0, 0);
  } else {
    const int free = c.in_type(0).shape.rank() - batches - static_cast<int>(attrs.lhs_contract.size());
    at = batches + (c.mapped(0) ? 0 : free);
  }
  c.set(0, batch::moved(call_op(ops::dot_general, attrs, {}, c.in(0), c.in(1)), at, 0));
  return true;
}

bool batch_dense(BatchContext& c) {
  return batch::leading<void, 1>(c) || c.decompose([](const Call& call) {
    const Tensor &x = call.inputs[0], &w = call.inputs[1];
    const Tensor y = call_op(ops::dot_general, dense_as_dot(x.rank()), {}, x, w);
    call.outputs[0] = call.inputs.size() == 3 ? y + call.inputs[2] : y;
  });
}

std::vector<Sample> dot_samples() {
  const auto sample = [](Shape a, Shape b, DotAttrs attrs, DType dtype = f32) {
    return Sample{.inputs = {{dtype, a}, {dtype, b}}, .attrs = Attrs(attrs), .low = -1, .high = 1};
  };
  return {sample({3, 4}, {4, 5}, {{}, {}, {1}, {0}}),
          sample({4, 3}, {5, 4}, {{}, {}, {0}, {1}}),
          sample({17, 33}, {33, 9}, {{}, {}, {1}, {0}}),
          sample({2, 3, 4}, {2, 4, 5}, {{0}, {0}, {2}, {1}}),
          sample({2, 4, 3, 2}, {3, 5, 2, 4}, {{0, 2}, {2, 0}, {1}, {3}}),
          sample({2, 3, 4}, {4, 3, 5}, {{}, {}, {1, 2}, {1, 0}}),
          sample({4}, {4}, {{}, {}, {0}, {0}}),
          sample({3}, {2}, {{}, {}, {}, {}}),
          sample({0, 4}, {4, 5}, {{}, {}, {1}, {0}}),
          sample({3, 0}, {0, 5}, {{}, {}, {1}, {0}}),
          sample({1, 1}, {1, 1}, {{}, {}, {1}, {0}})};
}

Cost dot_cost(AttrRef attrs, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  return contraction_cost(static_cast<double>(extent(inputs[0]->shape, attrs.as<DotAttrs>().lhs_contract).number()),
                          inputs, outputs);
}

void infer_dense(InferContext& c) {
  check_dtypes(c);
  const Shape &x = c.shape(0), &w = c.shape(1);
  if (x.rank() < 1) c.fail("rank mismatch", "x needs at least one axis, the features", "reshape x to [1, features]");
  if (w.rank() != 2) c.fail("rank mismatch", "w must be [features, units]", "reshape w to two axes");
  if (!(x[static_cast<size_t>(x.rank() - 1)] == w[0])) {
    const std::string features = to_string(x.dim(-1));
    c.fail("shape mismatch",
           fmt::format("contracting sizes differ: x axis {} is {}, w axis 0 is {}", x.rank() - 1, features,
                       to_string(w[0])),
           fmt::format("the layer before gives {} features; build w as [{}, n]", features, features));
  }
  if (c.inputs() >= 3 && !(c.shape(2) == Shape{w[1]})) {
    c.fail("shape mismatch", fmt::format("bias must be [{}], one value a unit", to_string(w[1])),
           "reshape the bias to one axis");
  }
  Shape shape = x;
  shape[static_cast<size_t>(x.rank() - 1)] = w[1];
  c.out() = {c.dtype(0), shape};
}

// What parameters get comes first: then x is free before the larger gradient of the input takes memory.
void dense_vjp(VjpContext& c) {
  const int rank = c.in_type(0).shape.rank();
  const Ints leading = range(0, static_cast<size_t>(rank - 1));
  if (c.need(1)) c.set(1, call_op(ops::dot_general, DotAttrs{{}, {}, leading, leading}, {}, c.in(0), c.ct()));
  if (c.inputs() == 3 && c.need(2))
    c.set(2, leading.empty() ? c.ct() : call_op(ops::reduce_sum, AxesAttrs{leading}, {}, c.ct()));
  if (c.need(0)) c.set(0, call_op(ops::dot_general, DotAttrs{{}, {}, {rank - 1}, {1}}, {}, c.ct(), c.in(1)));
}

std::vector<Sample> dense_samples() {
  std::vector<Sample> samples;
  for (const Shape& x : {Shape{2, 3}, Shape{1, 3}, Shape{3}, Shape{2, 5, 3}, Shape{0, 3}, Shape{16, 3}}) {
    samples.push_back({.inputs = {{f32, x}, {f32, {3, 4}}}, .low = -1, .high = 1});
    samples.push_back({.inputs = {{f32, x}, {f32, {3, 4}}, {f32, {4}}}, .low = -1, .high = 1});
  }
  samples.push_back({.inputs = {{f32, {33, 65}}, {f32, {65, 17}}, {f32, {17}}}, .low = -1, .high = 1});
  return samples;
}

Cost dense_cost(AttrRef, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  Cost cost = contraction_cost(static_cast<double>(inputs[1]->shape[0].number()), inputs, outputs);
  if (inputs.size() == 3) cost.flops += static_cast<double>(outputs[0].shape.count());
  return cost;
}

constexpr Op contraction(OpId id, std::string_view doc, std::string_view operands, int min_inputs, int max_inputs) {
  Op op;
  op.name = name(id);
  op.index = static_cast<int>(id);
  op.doc = doc;
  op.operands = operands;
  op.op_class = OpClass::Library;
  op.precision = PrecisionClass::Low;
  op.numerics = NumericsClass::Accumulating;
  op.min_inputs = min_inputs;
  op.max_inputs = max_inputs;
  op.dtypes = kNumbers;
  return op;
}

constexpr Op make_dot_general() {
  Op op = contraction(OpId::dot_general, "sum of products over contracting axes; result: batch, free of x, free of w",
                      "x w", 2, 2);
  op.attrs = &attr_type<DotAttrs>();
  op.infer = infer_dot;
  op.vjp = dot_vjp;
  op.batch = batch_dot;
  op.reads = {.in = 3};
  op.cost = dot_cost;
  op.samples = dot_samples;
  return op;
}

constexpr Op make_dense() {
  Op op = contraction(OpId::dense, "x[..., k] w[k, n] + bias[n], the bias inside the library call", "x w bias", 2, 3);
  op.infer = infer_dense;
  op.vjp = dense_vjp;
  op.batch = batch_dense;
  op.reads = {.in = 3};
  op.cost = dense_cost;
  op.samples = dense_samples;
  return op;
}

}  // namespace

namespace ops {
constinit const Op dot_general = make_dot_general();
constinit const Op dense = make_dense();
}  // namespace ops

namespace {

struct Pair {
  Tensor a, b;
  Location location;
};

Pair promote_pair(Operand&& a, Operand&& b) {
  const Location location = a.is_scalar() ? b.location : a.location;
  const Operand* both[] = {&a, &b};
  const DType dtype = promoted(both);
  return {to_tensor(std::move(a), dtype), to_tensor(std::move(b), dtype), location};
}

[[noreturn]] void fail_pair(const char* op, const Tensor& a, const Tensor& b, Location location, std::string detail,
                            std::string fix) {
  throw Error(Code::kInvalidArgument,
              {.what = fmt::format("shape mismatch in {}", op),
               .location = LocationScope::resolve(location),
               .details = {fmt::format("a: {}   b: {}", to_string(a.type()), to_string(b.type())), std::move(detail)},
               .fix = std::move(fix)});
}

Shape batch_shape(const Tensor& x) {
  Shape batch;
  for (int i = 0; i + 2 < x.rank(); ++i) batch.push_back(x.shape()[static_cast<size_t>(i)]);
  return batch;
}

bool all_one(const Shape& shape) {
  for (Dim d : shape) {
    if (!(d == Dim(1))) return false;
  }
  return true;
}

Tensor with_batch(Tensor x, const Shape& batch, Location location) {
  Shape shape = batch;
  shape.push_back(x.shape().dim(-2));
  shape.push_back(x.shape().dim(-1));
  return broadcast_to(std::move(x), shape, location);
}

}  // namespace

Tensor dot_general(Operand a, Operand b, const DotAttrs& attrs) {
  Pair pair = promote_pair(std::move(a), std::move(b));
  return call_op(ops::dot_general, attrs, pair.location, std::move(pair.a), std::move(pair.b));
}

Tensor matmul(Operand a, Operand b, MatmulOptions options) {
  Pair pair = promote_pair(std::move(a), std::move(b));
  Tensor &x = pair.a, &w = pair.b;
  if (x.rank() == 0 || w.rank() == 0) {
    fail_pair("matmul", x, w, pair.location, "operands need at least one axis", "multiply by a scalar with a * b");
  }
  if (w.rank() > 2 && w.rank() <= std::max(x.rank(), 2) && all_one(batch_shape(w))) {
    w = reshape(w, {w.shape().dim(-2), w.shape().dim(-1)});
  }
  const bool batched = w.rank() > 2;
  if (batched && x.rank() > 1) {
    Shape batch;
    if (!broadcast_shapes(batch_shape(x), batch_shape(w), batch)) {
      fail_pair(
          "matmul", x, w, pair.location,
          fmt::format("leading axes {} and {} do not broadcast", to_string(batch_shape(x)), to_string(batch_shape(w))),
          "leading axes must be equal or 1, aligned from the right");
    }
    x = with_batch(std::move(x), batch, pair.location);
    w = with_batch(std::move(w), batch, pair.location);
  }
  const int64_t x_rank = x.rank(), w_rank = w.rank();
  DotAttrs attrs;
  attrs.lhs_contract = {x_rank > 1 && options.transpose_a ? x_rank - 2 : x_rank - 1};
  attrs.rhs_contract = {w_rank > 1 && !options.transpose_b ? w_rank - 2 : w_rank - 1};
  if (batched && x_rank > 1) attrs.lhs_batch = attrs.rhs_batch = range(0, static_cast<size_t>(w_rank - 2));
  return call_op(ops::dot_general, attrs, pair.location, std::move(x), std::move(w));
}

Tensor dense(Operand x, Operand w, const Tensor& bias) {
  if (!bias.defined()) {
    Pair pair = promote_pair(std::move(x), std::move(w));
    return call_op(ops::dense, {}, pair.location, std::move(pair.a), std::move(pair.b));
  }
  const Location location = x.location;
  Operand b(bias, location);
  const Operand* all[] = {&x, &w, &b};
  const DType dtype = promoted(all);
  return call_op(ops::dense, {}, location, to_tensor(std::move(x), dtype), to_tensor(std::move(w), dtype),
                 to_tensor(std::move(b), dtype));
}

Tensor tensordot(Operand a, Operand b, const Ints& a_axes, const Ints& b_axes) {
  Pair pair = promote_pair(std::move(a), std::move(b));
  DotAttrs attrs;
  for (int64_t axis : a_axes) attrs.lhs_contract.push_back(pair.a.shape().normalize_axis(axis));
  for (int64_t axis : b_axes) attrs.rhs_contract.push_back(pair.b.shape().normalize_axis(axis));
  return call_op(ops::dot_general, attrs, pair.location, std::move(pair.a), std::move(pair.b));
}

Tensor tensordot(Operand a, Operand b, int axes) {
  Pair pair = promote_pair(std::move(a), std::move(b));
  if (axes < 0 || axes > pair.a.rank() || axes > pair.b.rank()) {
    fail_pair("tensordot", pair.a, pair.b, pair.location, fmt::format("axes = {} exceeds the rank of an operand", axes),
              "sum over at most as many axes as both operands have");
  }
  const DotAttrs attrs{.lhs_batch = {},
                       .rhs_batch = {},
                       .lhs_contract = range(pair.a.rank() - axes, static_cast<size_t>(axes)),
                       .rhs_contract = range(0, static_cast<size_t>(axes))};
  return call_op(ops::dot_general, attrs, pair.location, std::move(pair.a), std::move(pair.b));
}

Tensor outer(Operand a, Operand b) {
  Pair pair = promote_pair(std::move(a), std::move(b));
  return call_op(ops::dot_general, DotAttrs{}, pair.location, flatten(Operand(std::move(pair.a), pair.location)),
                 flatten(Operand(std::move(pair.b), pair.location)));
}

}  // namespace hone
