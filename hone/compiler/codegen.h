// The code generator's interface: machine code for clusters of elementwise calls and for loops. Plain data and C
// linkage, because the generator is a library of its own (libhone-jit.so), which is loaded when the first code is asked
// for.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace hone::codegen {

/// x86-64's psABI levels, as backend/cpu/isa.h.
enum class Level : int32_t { v2, v3, v4 };

/// One call of a cluster: a row of ops.def's ELEMENTWISE, or a conversion (kConvert). Its result is a value of its own.
struct MapStep {
  static constexpr int32_t kConvert = -1;
  int32_t row = 0;
  int32_t type = 0;  ///< element type of the operands, in DType's order; select's: of the branches
  int32_t operands = 0;
  int32_t in[3] = {};  ///< values
  double params[2] = {};
};

/// A cluster: values are the operands, then one result for each step.
struct MapProgram {
  Level level = Level::v2;
  int32_t operands = 0;
  uint64_t splats = 0;             ///< bit i: operand i is one element, the same for all
  const int32_t* types = nullptr;  ///< element type of each value
  const MapStep* steps = nullptr;
  int32_t step_count = 0;
  const int32_t* results = nullptr;  ///< values
  int32_t result_count = 0;
};

constexpr bool splat(uint64_t splats, size_t operand) { return operand < 64 && (splats >> operand & 1) != 0; }

/// Computes elements [0, n) of contiguous arrays, n a positive multiple of MapCode::lanes: `pointers` are the operands,
/// then the results. A result may lie where an operand of the same element size does, but for a splat. The bits of the
/// tiles (math/kernels.h); of a NaN only that it is one.
using MapFn = void (*)(void* const* pointers, int64_t n);

/// Lanes of any element type take no more.
inline constexpr int kVectorBytes = 256;

struct MapCode {
  MapFn run = nullptr;  ///< null: an Error text says why
  int32_t lanes = 0;
  void* owner = nullptr;  ///< for Generator::release
};

/// Elements of a value that a loop holds in registers.
inline constexpr int64_t kLoopElements = 64;

/// A value of a loop: a small tensor of any shape, row by row, held in registers. What stays the same may be larger:
/// only kRead reads it then.
struct LoopValue {
  int32_t type = 0;
  int32_t count = 1;  ///< elements
};

/// One step of a loop; its result is a value of its own. Operands of `call` have as many elements as the result, but
/// for kPick.
struct LoopStep {
  static constexpr int32_t kConstant = -2;  ///< no operands: bits of each element from LoopProgram::data[first] on
  static constexpr int32_t kPick = -3;      ///< element i is that of data[first + i] among those of in[0], then in[1]
  static constexpr int32_t kFma = -4;       ///< in[0] in[1] + in[2], of floats one rounding
  static constexpr int32_t kRead = -5;      ///< the elements of in[0], which stays the same, from number in[1] (i64) on
  MapStep call;                             ///< `row` may be one of these
  int64_t first = 0;
};

/// A loop of calls on small tensors. Values are the carries, the rows, what stays the same, then one result for each
/// step. Steps are, in this order: those of what stays the same, those of the condition, those of the body.
struct LoopProgram {
  Level level = Level::v2;
  int32_t carries = 0, rows = 0, constants = 0;
  const LoopValue* values = nullptr;
  const LoopStep* steps = nullptr;
  int32_t hoisted = 0, condition_steps = 0, body_steps = 0;
  int32_t condition = -1;            ///< a bool value: the body runs while it is true; -1: once for each row
  const int32_t* next = nullptr;     ///< by carry: the value that it becomes
  const int32_t* stacked = nullptr;  ///< values that each run of the body stores to a row
  int32_t stacked_count = 0;
  bool reverse = false;  ///< from the last row to the first
  const uint64_t* data = nullptr;
};

/// Runs a loop: `pointers` are dense arrays: the carries at first, the rows, what stays the same, the carries at last,
/// the stacked results. `length`: number of rows. No result lies where an operand does. The bits of the tiles.
using LoopFn = void (*)(void* const* pointers, int64_t length);

struct LoopCode {
  LoopFn run = nullptr;  ///< null: an Error text says why
  void* owner = nullptr;
};

/// Receives what the generator has to say; `context` is the caller's.
enum class Text : int32_t { Error, Ir, Assembly };
struct TextSink {
  void* context = nullptr;
  void (*write)(void* context, Text kind, const char* text, size_t size) = nullptr;
  bool listings = false;  ///< LLVM IR and assembly are wanted
};

inline constexpr int32_t kVersion = 3;

/// What libhone-jit.so offers. Its functions are thread-safe and do not throw.
struct Generator {
  int32_t version;
  MapCode (*compile_map)(const MapProgram&, const TextSink&);
  LoopCode (*compile_loop)(const LoopProgram&, const TextSink&);
  /// Frees the code; nobody runs it any more.
  void (*release)(void* owner);
};
/// The one symbol of libhone-jit.so, of this type; null for a version that it does not know.
inline constexpr const char* kEntry = "hone_jit_generator";
using EntryFn = const Generator* (*)(int32_t version);

/// The generator; loads it the first time (about 20 ms): from HONE_JIT_LIBRARY, or libhone-jit.so beside the program or
/// library that contains this code, in the folder of the install, or where the dynamic linker looks. Null where there
/// is none, which is said once as a warning; always null, and silent, in a build without HONE_JIT. Thread-safe.
const Generator* generator();
/// Whether this is a build with HONE_JIT.
bool built();

}  // namespace hone::codegen
