// The code generator's interface: machine code for clusters of elementwise calls. Plain data and C linkage, because the
// generator is a library of its own (libhone-jit.so), which is loaded when the first code is asked for.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "hone/math/object.h"

namespace hone::codegen {

/// x86-64's psABI levels, as backend/cpu/isa.h; neon: aarch64.
enum class Level : int32_t { v2, v3, v4, neon };

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

/// A loop of an object: math::ObjectWork before it has addresses.
struct ObjectWork {
  math::WorkId function;
  const void* params;
  int64_t param_bytes;
  const MapProgram* cluster;  ///< of MapRows, whose lanes are the generator's; its level is
  const math::ObjectMemory* memory;
  int32_t memory_count;
  int64_t count, grain, scratch;
};
struct ObjectInitial {
  int64_t constant, state, bytes;
};
/// A model for compile_object. All memory sizes in bytes, multiples of math::kObjectAlign.
struct ObjectProgram {
  const char* name;  ///< a C identifier, all symbols begin with
  bool arm64;        ///< aarch64-linux-gnu, else x86-64
  uint32_t levels;   ///< of x86-64: bit i is Level i
  const ObjectWork* works;
  int64_t work_count;
  const void* constants;
  int64_t constant_bytes;
  const char* weight_header;  ///< null: constants are in the object; else 64 bytes that their file begins with
  const ObjectInitial* initial;
  int64_t initial_count;
  int64_t state_bytes, arena_bytes, scratch_bytes;
  int32_t input_count, output_count;
  bool flush_denormals;
  const char* entry;  ///< what its function is called behind the name: "run" or "step"
};

/// Receives what the generator has to say; `context` is the caller's. Object: the bytes of an ELF object.
enum class Text : int32_t { Error, Ir, Assembly, Object };
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
  /// Writes a relocatable object to the sink; an Error text where it cannot. The functions of the object are those of
  /// its header (compiler/object_header.h).
  bool (*compile_object)(const ObjectProgram&, const TextSink&);
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
