// Makes the LLVM instructions of one function; its users need no header of LLVM.
#pragma once
#include <cstdint>
#include <initializer_list>

namespace llvm {
class IRBuilderBase;
class Type;
class Value;
}  // namespace llvm

namespace hone::jit {

/// A vector, in the code that is being made.
using Node = llvm::Value*;

/// Lane types. Masks have lanes of one bit and are told apart by the functions that take them.
enum class Kind : uint8_t { I8, I16, I32, I64, F32, F64 };
/// Wrapping integers; F of floats, never contracted.
enum class Binary : uint8_t {
  Add,
  Sub,
  Mul,
  And,
  Or,
  Xor,
  ShiftLeft,
  ShiftRight,
  ShiftRightSigned,
  FAdd,
  FSub,
  FMul,
  FDiv
};
/// S: signed, U: unsigned integers; F: floats, false for NaN but for FNotEqual.
enum class Compare : uint8_t {
  Equal,
  NotEqual,
  SLess,
  SLessEqual,
  ULess,
  ULessEqual,
  FEqual,
  FNotEqual,
  FLess,
  FLessEqual
};
/// Max and Min: NaN if an operand is, -0 < +0. FloatToS and FloatToU saturate, and give 0 for NaN.
enum class Function : uint8_t { Max, Min, Fma, Sqrt, Floor, Ceil, Trunc, RoundEven };
enum class Cast : uint8_t {
  Bits,
  Truncate,
  SignExtend,
  ZeroExtend,
  SToFloat,
  UToFloat,
  FloatToS,
  FloatToU,
  FloatToFloat
};

/// A loop over lanes in memory: out[i] = f(a[i], b[i], ...), for lanes that no vector instruction computes.
using LaneLoop = void (*)(const void* const* in, void* out, int64_t n);
/// inout[i] = f(x[i]) where mask[i] is 1.
using PatchLoop = void (*)(const uint8_t* mask, const void* x, void* inout, int64_t n);

/// All vectors have the same number of lanes, whatever their size; LLVM splits those that are wider than a register.
/// One is current in a thread at a time: functors know of no builder.
class Builder {
 public:
  /// Instructions go where `ir` stands; allocations to the start of its function's entry block.
  Builder(llvm::IRBuilderBase& ir, int lanes, bool has_fma);
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;
  static Builder& current();
  /// Makes it the current one again, of several that live at a time.
  Builder& enter();

  int lanes() const { return lanes_; }
  /// Without it, fma is exact by software: a lane loop's.
  bool has_fma() const { return has_fma_; }

  Node splat(Kind kind, uint64_t bits);
  Node binary(Binary op, Node a, Node b);
  Node negate(Node x);  ///< of floats
  Node compare(Compare op, Node a, Node b);
  Node select(Node mask, Node a, Node b);
  Node invert(Node mask);
  Node cast(Cast cast, Kind to, Node x);
  Node call(Function function, std::initializer_list<Node> operands);
  Node bytes_of_mask(Node mask);  ///< 0 or 1
  Node mask_of_bytes(Node bytes);
  Node loop(LaneLoop loop, Kind result, std::initializer_list<Node> operands);
  /// The loop runs only if the mask has a lane.
  Node patch(PatchLoop loop, Node mask, Node x, Node otherwise);

  Node load(Kind kind, Node pointer);
  Node load_splat(Kind kind, Node pointer);  ///< of one element
  void store(Node x, Node pointer);
  llvm::Type* lane_type(Kind kind);

 private:
  llvm::Type* type(Kind kind);
  Node slot(int index);
  Node address(const void* p);

  static constexpr int kSlots = 5;
  llvm::IRBuilderBase& ir_;
  int lanes_;
  bool has_fma_;
  Node slots_[kSlots] = {};
};

}  // namespace hone::jit
