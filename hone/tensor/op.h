// Op: what a row of the op table is. Everything about an op that others ask is data here.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hone/base/location.h"
#include "hone/tensor/attrs.h"
#include "hone/tensor/tensor.h"

namespace hone {

struct Op;

/// One call of an op on its way through the interpreters. `inputs` may be moved from by the evaluator (a temporary's
/// memory is reused).
struct Call {
  const Op& op;
  AttrRef attrs;
  std::span<Tensor> inputs;
  std::span<Tensor> outputs;
  Location location;
};

/// Arguments of shape inference: reads input types and attributes, writes output types or fails.
class InferContext {
 public:
  InferContext(const Op& op, AttrRef attrs, std::span<const TensorType* const> inputs, std::span<TensorType> outputs,
               Location location)
      : op_(op), attrs_(attrs), inputs_(inputs), outputs_(outputs), location_(location) {}
  int inputs() const { return static_cast<int>(inputs_.size()); }
  int outputs() const { return static_cast<int>(outputs_.size()); }
  const TensorType& in(int i) const { return *inputs_[static_cast<size_t>(i)]; }
  const Shape& shape(int i) const { return in(i).shape; }
  DType dtype(int i) const { return in(i).dtype; }
  TensorType& out(int i = 0) { return outputs_[static_cast<size_t>(i)]; }
  template <class T>
  const T& attrs() const {
    return attrs_.as<T>();
  }
  /// Throws Error kInvalidArgument: "WHAT in OP", the user's line, each operand with its type, `detail`, `fix`.
  [[noreturn]] void fail(std::string what, std::string detail = {}, std::string fix = {}) const;
  /// Fails unless operand 0 has one of the op's dtypes.
  void check_dtype() const;

 private:
  const Op& op_;
  AttrRef attrs_;
  std::span<const TensorType* const> inputs_;
  std::span<TensorType> outputs_;
  Location location_;
};

/// Arguments of a gradient rule, which is written in public ops. Values that Op::reads does not declare are not kept:
/// reading one is a defect (asserted). A cotangent that is symbolically zero is an undefined Tensor.
class VjpContext {
 public:
  virtual ~VjpContext() = default;
  virtual const Tensor& in(int i) const = 0;
  virtual const Tensor& out(int i = 0) const = 0;
  virtual const Tensor& ct(int i = 0) const = 0;
  virtual const TensorType& in_type(int i) const = 0;
  virtual const TensorType& out_type(int i = 0) const = 0;
  virtual int inputs() const = 0;
  virtual bool need(int i) const = 0;
  virtual void set(int i, Tensor gradient) = 0;
  /// Takes what later calls gave operand i; undefined: nothing. A rule that adds to it step by step, in the order in
  /// which a tape would have, sets the sum.
  virtual Tensor take(int i) = 0;
  virtual AttrRef attrs() const = 0;
  template <class T>
  const T& attrs_as() const {
    return attrs().as<T>();
  }
};

/// Arguments of a batching rule: how a call computes for many examples at once (vmap). The rule is written in public
/// ops, which run below vmap, over physical operands: one that is mapped has the examples along an additional axis 0,
/// the others are the program's own. Results that it sets are mapped, unless it says otherwise.
class BatchContext {
 public:
  virtual ~BatchContext() = default;
  /// The call for one example: its operands have types only.
  virtual const Call& call() const = 0;
  virtual const Tensor& in(int i) const = 0;
  /// Operand i with the axis; one that is not mapped is repeated along it.
  virtual Tensor stacked(int i) const = 0;
  virtual const TensorType& out_type(int i = 0) const = 0;
  /// The number of examples; may be a symbol.
  virtual Dim size() const = 0;
  virtual void set(int i, Tensor result, bool mapped = true) = 0;
  /// Says the call for one example in other ops, which are batched in turn. True.
  virtual bool decompose(void (*rule)(const Call&)) = 0;
  /// A function of one example, as one of physical values, that may be called when vmap is over: its result i belongs
  /// to operand i and is summed over the examples where that is not mapped.
  using Function = std::function<std::vector<Tensor>(const Tensor&)>;
  virtual Function lifted(Function function) const = 0;
  /// Calls a function of values of one example on physical ones, those with a flag mapped, above the calling thread's
  /// stack as it is now. The results are physical; `mapped` says which of them are.
  using Program = std::function<std::vector<Tensor>(std::span<const Tensor>)>;
  virtual std::vector<Tensor> call_mapped(const Program& program, std::span<const Tensor> physical,
                                          std::vector<bool>& mapped) const = 0;

  int inputs() const { return static_cast<int>(call().inputs.size()); }
  int outputs() const { return static_cast<int>(call().outputs.size()); }
  bool mapped(int i) const { return in(i).impl() != call().inputs[static_cast<size_t>(i)].impl(); }
  const TensorType& in_type(int i) const { return call().inputs[static_cast<size_t>(i)].type(); }
  template <class T>
  const T& attrs_as() const {
    return call().attrs.as<T>();
  }
};

/// Floating-point operations and bytes moved, from types alone.
struct Cost {
  double flops = 0, bytes = 0;
};
using CostFn = Cost (*)(AttrRef attrs, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs);

/// Which values a gradient rule reads: bit i = input or output i, bit 31 all from 31 on. Only these are kept on the
/// tape.
struct Reads {
  uint32_t in = 0, out = 0;
  constexpr bool input(uint32_t i) const { return in >> (i < 31 ? i : 31) & 1; }
  constexpr bool output(uint32_t i) const { return out >> (i < 31 ? i : 31) & 1; }
};

/// What a tape calls in place of a call on operands that it follows: the same op with further operands and results
/// behind those of the call, for its gradient rule to read.
struct Keeping {
  Attrs attrs;
  std::vector<Tensor> operands;
  size_t results = 0;  ///< of all
};

/// What kind of work an op is: decides how passes and evaluators treat it.
enum class OpClass : uint8_t { Elementwise, Reduction, View, Movement, Library, Random, Creation, Composite, Effect };
/// How mixed precision treats it: compute in low precision, keep f32, or follow the inputs.
enum class PrecisionClass : uint8_t { Low, Full, Follow };
/// What bits to expect: exact on every path; an approximation with an ulp bound; depends on the library's accumulation
/// order.
enum class NumericsClass : uint8_t { Exact, Approximate, Accumulating };

/// An input that exercises the op: generic tests run over these. Tensors of floating type are drawn from [low, high] by
/// seed.
struct Sample {
  std::vector<TensorType> inputs;
  Attrs attrs{};
  double low = -2, high = 2;
  bool differentiable = true;  ///< false: a kink or a discrete output, no gradient check
  int outputs = 0;             ///< results of an op with a free number of them; 0: as Op::outputs says
};

/// Sets of dtypes as bit masks.
constexpr uint32_t bit(DType type) { return 1U << static_cast<int>(type); }
inline constexpr uint32_t kFloats = 0x000F, kSigned = 0x00F0, kUnsigned = 0x0F00, kBool = 0x1000;
inline constexpr uint32_t kInts = kSigned | kUnsigned, kNumbers = kFloats | kInts, kAnyType = kNumbers | kBool;

struct Op {
  std::string_view name{};
  std::string_view doc{};
  std::string_view operands{};  ///< names of the operands for messages, separated by blanks: "x w bias"
  OpClass op_class = OpClass::Composite;
  PrecisionClass precision = PrecisionClass::Follow;
  NumericsClass numerics = NumericsClass::Exact;
  const AttrType* attrs = nullptr;
  int min_inputs = 1, max_inputs = 1;  ///< optional operands come last
  int outputs = 1;                     ///< -1: as many as the call asks for; infer checks
  void (*infer)(InferContext&) = nullptr;
  void (*vjp)(VjpContext&) =
      nullptr;  ///< null: gradients go through `decompose`; without either the op is not differentiable
  Reads reads{};
  /// Null: a tape records the call as it is. `followed`: by operand.
  Keeping (*keeping)(const Call& call, const std::vector<bool>& followed) = nullptr;
  void (*decompose)(const Call&) =
      nullptr;  ///< sets call.outputs by public ops: the fallback and the oracle of a fused kernel
  /// False where it does not serve these operands. Null or false: vmap decomposes the op, or calls it for one example
  /// after the other.
  bool (*batch)(BatchContext&) = nullptr;
  /// Sets call.outputs without computing where a view of the input suffices, else returns false. `types`: the inferred
  /// output types.
  bool (*view)(const Call&, std::span<const TensorType> types) = nullptr;
  CostFn cost = nullptr;
  /// OpClass::Effect only: whether a call with these attributes has one. Null: it always has.
  bool (*effects)(AttrRef attrs) = nullptr;
  /// The result is the last operand: the call matters to tapes alone, and passes drop it.
  bool transparent = false;
  std::vector<Sample> (*samples)() = nullptr;
  uint32_t dtypes = kAnyType;  ///< what operand 0 may be
  int elementwise = -1;        ///< row among elementwise kernels, -1 for others
  int index = -1;              ///< slot in the table
};

}  // namespace hone
