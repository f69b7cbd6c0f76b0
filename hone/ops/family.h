// Family constructors: what most ops share, so that a definition says only what is its own.
#pragma once
#include "hone/ops/attrs.h"
#include "hone/ops/batch.h"
#include "hone/ops/table.h"

namespace hone::family {

/// Samples that a definition may leave out. Whether it did is said by a flag: to g++ under -fsanitize=undefined it is
/// no constant whether the address of a function of another unit, or of a template, is null.
class Samples {
 public:
  using Function = std::vector<Sample> (*)();
  constexpr Samples() = default;
  constexpr Samples(Function function) : function_(function), given_(true) {}  // NOLINT: a function is samples
  template <class Lambda>
    requires std::is_class_v<Lambda> && std::is_convertible_v<Lambda, Function>
  constexpr Samples(Lambda lambda) : Samples(static_cast<Function>(lambda)) {}  // NOLINT: and so is a lambda
  constexpr Function or_else(Function other) const { return given_ ? function_ : other; }

 private:
  Function function_ = nullptr;
  bool given_ = false;
};

/// What a definition adds to its family; see Op for the meaning of each field.
struct Rules {
  std::string_view doc;
  uint32_t dtypes = kFloats;
  void (*vjp)(VjpContext&) = nullptr;
  Reads reads{};
  void (*decompose)(const Call&) = nullptr;
  Samples samples{};
  double flops = 1;  ///< per element of the result
  NumericsClass numerics = NumericsClass::Exact;
  const AttrType* attrs = nullptr;
};

/// Of result i: zeros where nothing flows into it.
Tensor cotangent(const VjpContext& c, int i);

void infer_unary(InferContext& c);
void infer_binary(InferContext& c);
void infer_compare(InferContext& c);
/// Fails unless all operands from `first` on have operand `first`'s type.
void check_same_types(InferContext& c, int first = 0);

/// Shapes that every elementwise op is tried on: empty, one element, around the vector widths, several axes.
std::vector<Sample> elementwise_samples(int operands, double low, double high, DType dtype = DType::f32);
/// The same samples of an op that has attributes.
std::vector<Sample> with_attrs(std::vector<Sample> samples, const Attrs& attrs);
template <int kOperands>
std::vector<Sample> default_samples() {
  return elementwise_samples(kOperands, -2, 2);
}

Cost elementwise_cost(AttrRef attrs, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs);
/// Bytes of operands and results, no arithmetic: movement.
Cost movement_cost(AttrRef attrs, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs);

namespace detail {
constexpr Op elementwise(OpId id, const Rules& rules, int operands) {
  Op op;
  op.name = name(id);
  op.index = static_cast<int>(id);
  op.elementwise = elementwise_row(id);
  op.op_class = OpClass::Elementwise;
  op.doc = rules.doc;
  op.dtypes = rules.dtypes;
  op.vjp = rules.vjp;
  op.reads = rules.reads;
  op.decompose = rules.decompose;
  op.batch = batch::leading<>;
  op.numerics = rules.numerics;
  op.attrs = rules.attrs;
  op.min_inputs = op.max_inputs = operands;
  op.cost = elementwise_cost;
  op.samples = rules.samples.or_else(nullptr);
  return op;
}
}  // namespace detail

/// result[i] = f(x[i]); the result has the operand's type.
constexpr Op unary(OpId id, Rules rules) {
  Op op = detail::elementwise(id, rules, 1);
  op.operands = "x";
  op.infer = infer_unary;
  op.samples = rules.samples.or_else(default_samples<1>);
  return op;
}
/// result[i] = f(a[i], b[i]); operands and result have one type.
constexpr Op binary(OpId id, Rules rules) {
  Op op = detail::elementwise(id, rules, 2);
  op.operands = "a b";
  op.infer = infer_binary;
  op.samples = rules.samples.or_else(default_samples<2>);
  return op;
}
/// As binary, with a bool result.
constexpr Op compare(OpId id, Rules rules) {
  Op op = binary(id, rules);
  op.infer = infer_compare;
  return op;
}

/// Any other op: `op` holds what is its own, in Op's order of fields. Bytes of operands and results cost, unless it
/// says otherwise, by a function of its own file.
constexpr Op define(OpId id, OpClass op_class, Op op) {
  op.name = name(id);
  op.index = static_cast<int>(id);
  op.op_class = op_class;
  if (!op.cost) op.cost = movement_cost;
  return op;
}
/// The same with the cost of another op: see Samples for why it is an argument.
constexpr Op define(OpId id, OpClass op_class, Op op, CostFn cost) {
  op = define(id, op_class, op);
  op.cost = cost;
  return op;
}

}  // namespace hone::family
