// Makes the LLVM instructions of one function; its users need no header of LLVM.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>

#include "hone/base/function_ref.h"

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

/// All vectors have the same number of lanes, whatever their size; LLVM splits those that are wider than a register.
/// One is current in a thread at a time: functors know of no builder.
class Builder {
 public:
  /// Instructions go where `ir` stands; allocations to the start of its function's entry block. `masks`: memory can be
  /// read and written by some lanes only.
  Builder(llvm::IRBuilderBase& ir, int lanes, bool has_fma, bool masks);
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;
  static Builder& current();
  /// Makes it the current one again, of several that live at a time.
  Builder& enter();

  int lanes() const { return lanes_; }
  /// What is made while it lives has one lane.
  class OneLane {
   public:
    explicit OneLane(Builder& builder) : builder_(builder), lanes_(std::exchange(builder.lanes_, 1)) {}
    ~OneLane() { builder_.lanes_ = lanes_; }
    OneLane(const OneLane&) = delete;
    OneLane& operator=(const OneLane&) = delete;

   private:
    Builder& builder_;
    int lanes_;
  };
  /// Without it, no instruction computes fma: its tile does.
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
  Node undefined(Kind kind);

  /// Said while the instructions of a step are made: in lanes of the mask, in all without one, instructions do not
  /// compute its result.
  void leave_to_tile(Node mask);
  void leave_to_tile();
  /// The result of a step: what `emit` makes, but for lanes left to the step's tile (math::TileFn), which is called by
  /// the name `tile` if there are any. `emit` makes no blocks.
  Node step(const std::string& tile, const double* params, std::span<const Node> operands, Kind result,
            FunctionRef<Node()> emit);

  Node load(Kind kind, Node pointer);
  Node load_splat(Kind kind, Node pointer);  ///< of one element
  void store(Node x, Node pointer);
  /// The first `count` lanes (an i64, at least 1); the others are 1, or are left alone.
  Node load_first(Kind kind, Node pointer, Node count);
  void store_first(Kind kind, Node x, Node pointer, Node count);
  /// x in the first `count` lanes.
  Node first_of(Node count, Node x, Node otherwise);
  /// Lanes [first, first + n) of any vector.
  Node part(Node x, int first, int n);
  /// Into the second cache: `bytes` from there on.
  void prefetch(Node pointer, int64_t bytes);
  llvm::Type* lane_type(Kind kind);

 private:
  llvm::Type* type(Kind kind);
  Node slot(int index);
  Node call_tile(const std::string& tile, const double* params, std::span<const Node> operands, llvm::Type* result);
  Node mask_of_first(Node count);
  void copy(Node to, Node from, Kind kind, Node count);

  static constexpr int kSlots = 5;
  llvm::IRBuilderBase& ir_;
  int lanes_;
  const int all_lanes_;
  bool has_fma_, masks_;
  Node slots_[kSlots] = {};
  Node left_ = nullptr;  // lanes of the current step
  bool all_left_ = false;
};

}  // namespace hone::jit
