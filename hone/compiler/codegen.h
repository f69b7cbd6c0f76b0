// The code generator's interface: machine code for clusters of elementwise calls and reductions of rows, and for loops,
// as relocatable ELF objects, and whole models as such. Plain data and C linkage, because the generator is a library of
// its own (libhone-jit.so), which is loaded when the first code is asked for that is not in the cache
// (compiler/code_cache.h).
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <tuple>
#include <type_traits>

#include "hone/math/object.h"
#include "hone/math/types.h"

namespace hone::codegen {

/// x86-64's psABI levels, as backend/cpu/isa.h; neon: aarch64.
enum class Level : int32_t { v2, v3, v4, neon };

/// Elements of a row at most, where clusters reduce rows: those of a few values fit an L2.
inline constexpr int64_t kMaxRow = 16384;

/// One call of a cluster: a row of ops.def's ELEMENTWISE, a conversion (kConvert), or a reduction by math::ReduceKind
/// k: of each row (kReduce - k), or of columns (kFold - k), whose result has the accumulators' type and is added to.
/// Its result is a value of its own.
struct MapStep {
  static constexpr int32_t kConvert = -1, kReduce = -2, kFold = -16;
  int32_t row = 0;
  int32_t type = 0;  ///< element type of the operands, in DType's order; select's: of the branches
  int32_t operands = 0;
  int32_t in[3] = {};  ///< values
  /// A row is walked in several loops, each of which knows what earlier ones have reduced. The one that reduces, that
  /// first computes a value, or before which a value of rows is computed (0 where nothing is reduced).
  int32_t phase = 0;
  int16_t per_row = 0;  ///< 1: one element for each row
  int16_t kept = 0;     ///< 1: later loops read the value from a row of scratch; else they compute it again
  double params[2] = {};
};

/// A cluster: values are the operands, then one result for each step.
struct MapProgram {
  Level level = Level::v2;
  int32_t operands = 0;
  uint64_t splats = 0;             ///< bit i: operand i is one element, the same for all (for each row of its own)
  const int32_t* types = nullptr;  ///< element type of each value
  const MapStep* steps = nullptr;
  int32_t step_count = 0;
  const int32_t* results = nullptr;  ///< values
  int32_t result_count = 0;
};

constexpr bool splat(uint64_t splats, size_t operand) { return operand < 64 && (splats >> operand & 1) != 0; }
constexpr bool reduces(const MapStep& step) { return step.row <= MapStep::kReduce && step.row > MapStep::kFold; }
constexpr bool folds(const MapStep& step) { return step.row <= MapStep::kFold; }
/// Loops over a row; more than one only where something is reduced.
constexpr int32_t phases(const MapStep* steps, int32_t count) {
  int32_t loops = 1;
  for (int32_t i = 0; i < count; ++i) {
    const int32_t needed = steps[i].per_row != 0 && !reduces(steps[i]) ? 0 : steps[i].phase + 1;
    loops = needed > loops ? needed : loops;
  }
  return loops;
}

/// `pointers` are the operands, then the results, at their first row, `strides` the bytes from one row of each to the
/// next. Without reductions: one row of n elements, n a positive multiple of lanes_of(program); strides are not read.
/// With: `rows` >= 1 rows of 1 <= n <= kMaxRow elements, and behind the results a row of scratch for each kept value,
/// with room for n elements and kVectorBytes more. A reduction of rows gives the type that its result has among
/// `types`, which may be the accumulators'. Accumulators of columns, n, are read and written: the rows go into them in
/// turn. A result may lie where an operand of the same type does, but for a splat. The bits of the tiles
/// (math/kernels.h) and of math::ReduceKernels::row; of a NaN only that it is one.
using MapFn = void (*)(void* const* pointers, const int64_t* strides, int64_t rows, int64_t n);

/// Lanes of any element type take no more.
inline constexpr int kVectorBytes = 256;

/// Bytes of a lane that computes with an element type, in DType's order: 16-bit floats compute in f32.
inline constexpr auto kComputedBytes = []<class... T>(std::tuple<T...>*) {
  return std::array{std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16> ? 4 : static_cast<int>(sizeof(T))...};
}(static_cast<math::ElementTypes*>(nullptr));

/// Partial results of a block of a reduction (math/reduce_kernels.h), by the bytes of an accumulator.
constexpr int accumulators_of(int bytes) { return bytes == 8 ? 32 : 64; }

/// Lanes of a cluster's vectors, no more than accumulators where rows are reduced: a few registers of the widest.
/// Instructions of several registers do not wait for each other, where those of one would: on a Zen 5, two gelu_tanh in
/// one cluster took 4.8, 4.2 and 3.0 ns an element with 1, 2 and 4.
inline int lanes_of(const MapProgram& program) {
  int widest = 1;
  for (int v = 0; v < program.operands + program.step_count; ++v)
    widest = std::max(widest, kComputedBytes[static_cast<size_t>(program.types[v])]);
  constexpr int kNarrower[] = {2, 1, 0, 2};  // by level: halvings of the widest registers
  int lanes = (kVectorBytes >> kNarrower[static_cast<int>(program.level)]) / widest;
  for (int i = 0; i < program.step_count; ++i) {
    if (reduces(program.steps[i]))
      lanes = std::min(lanes, accumulators_of(kComputedBytes[static_cast<size_t>(program.steps[i].type)]));
  }
  return lanes;
}

/// The symbol by which code calls the tile of a call (math/kernels.h) for what instructions do not compute. `result` is
/// the result's element type.
inline std::string tile_name(const MapStep& step, int result) {
  return "hone_tile_" + std::to_string(step.row) + "_" + std::to_string(step.type) + "_" + std::to_string(result);
}
/// What is in a tile's name; false for others.
inline bool read_tile_name(const char* name, MapStep& step, int& result) {
  int end = 0;
  return std::sscanf(name, "hone_tile_%d_%d_%d%n", &step.row, &step.type, &result, &end) == 3 && name[end] == '\0';
}

/// The one symbol that an object defines for others: a function of the program's kind (MapFn).
inline constexpr const char* kEntrySymbol = "hone_code";

/// A row of an object's table: math::ObjectWork before it has addresses.
struct ObjectWork {
  math::WorkId function;  ///< or math::kObjectControl
  const void* params;
  int64_t param_bytes;
  const MapProgram* cluster;  ///< of MapRows, whose lanes are the generator's; its level is. Rows share code by address
  const math::ObjectMemory* memory;
  int32_t memory_count;
  int64_t count, grain, scratch;
};
struct ObjectInitial {
  int64_t constant, state, bytes;
};
/// Rows [first, first + count) as a table of their own, for `batch` examples (0: the model's own number).
struct ObjectTable {
  int64_t batch, first, count;
};
/// A model for compile_object. All memory sizes in bytes, multiples of math::kObjectAlign.
struct ObjectProgram {
  const char* name;  ///< a C identifier, all symbols begin with
  bool arm64;        ///< aarch64-linux-gnu, else x86-64
  uint32_t levels;   ///< of x86-64: bit i is Level i
  const ObjectWork* works;
  int64_t work_count;
  const ObjectTable* tables;  ///< by decreasing batch; one, or those of parts of a batch of any size
  int64_t table_count;
  const int64_t* example_bytes;  ///< of inputs, then outputs: from one example to the next; null: no batch is given
  const void* constants;
  int64_t constant_bytes;
  const char* weight_header;  ///< null: constants are in the object; else 64 bytes that their file begins with
  const ObjectInitial* initial;
  int64_t initial_count;
  int64_t state_bytes, arena_bytes, scratch_bytes;
  int32_t input_count, output_count;
  int32_t slot_count;  ///< with those of places that move
  bool flush_denormals;
  const char* entry;  ///< what its function is called behind the name: "run" or "step"
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

/// Receives what the generator has to say; `context` is the caller's. Object: the bytes of an ELF object.
enum class Text : int32_t { Error, Ir, Assembly, Object };
struct TextSink {
  void* context = nullptr;
  void (*write)(void* context, Text kind, const char* text, size_t size) = nullptr;
  bool listings = false;  ///< LLVM IR and assembly are wanted
};

inline constexpr int32_t kVersion = 5;

/// What libhone-jit.so offers. Its functions are thread-safe and do not throw. They write an Object and give true, or
/// an Error.
struct Generator {
  int32_t version;
  const char* fingerprint;  ///< that of the sources it was built from, as codegen::fingerprint()
  bool (*compile_map)(const MapProgram&, const TextSink&);
  bool (*compile_loop)(const LoopProgram&, const TextSink&);
  /// The functions of the object are those of its header (compiler/object_header.h).
  bool (*compile_object)(const ObjectProgram&, const TextSink&);
};
/// The one symbol of libhone-jit.so, of this type; null for a version that it does not know.
inline constexpr const char* kEntry = "hone_jit_generator";
using EntryFn = const Generator* (*)(int32_t version);

/// The generator; loads it the first time (about 20 ms): from HONE_JIT_LIBRARY, or libhone-jit.so beside the program or
/// library that contains this code, in the folder of the install, or where the dynamic linker looks. Null where there
/// is none, or one of other sources, which is said once as a warning; always null, and silent, in a build without
/// HONE_JIT. Thread-safe.
const Generator* generator();
/// Whether there is a library to load; does not load it where it lies in one of the folders.
bool available();
/// Whether generator() was asked for: LLVM is loaded, if there is any.
bool generator_asked();
/// Whether this is a build with HONE_JIT.
bool built();
/// What code depends on beside its program: a hash of the sources of functors and generator, LLVM's version, and the
/// library that HONE_JIT_LIBRARY names (path, size, time). Empty in a build without HONE_JIT.
std::string fingerprint();

}  // namespace hone::codegen
