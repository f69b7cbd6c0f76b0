// The code generator's interface: machine code for clusters of elementwise calls and reductions of rows. Plain data and
// C linkage, because the generator is a library of its own (libhone-jit.so), which is loaded when the first code is
// asked for.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace hone::codegen {

/// x86-64's psABI levels, as backend/cpu/isa.h.
enum class Level : int32_t { v2, v3, v4 };

/// Elements of a row at most, where clusters reduce rows: those of a few values fit an L2.
inline constexpr int64_t kMaxRow = 16384;

/// One call of a cluster: a row of ops.def's ELEMENTWISE, a conversion (kConvert), or a reduction of each row by
/// math::ReduceKind k (kReduce - k). Its result is a value of its own.
struct MapStep {
  static constexpr int32_t kConvert = -1, kReduce = -2;
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
constexpr bool reduces(const MapStep& step) { return step.row <= MapStep::kReduce; }
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
/// next. Without reductions: one row of n elements, n a positive multiple of MapCode::lanes; strides are not read.
/// With: `rows` >= 1 rows of 1 <= n <= kMaxRow elements, and behind the results a row of scratch for each kept value,
/// with room for n elements and kVectorBytes more. A result may lie where an operand of the same type does, but for a
/// splat. The bits of the tiles (math/kernels.h) and of math::ReduceKernels::row; of a NaN only that it is one.
using MapFn = void (*)(void* const* pointers, const int64_t* strides, int64_t rows, int64_t n);

/// Lanes of any element type take no more.
inline constexpr int kVectorBytes = 256;

struct MapCode {
  MapFn run = nullptr;  ///< null: an Error text says why
  int32_t lanes = 0;
  void* owner = nullptr;  ///< for Generator::release
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
