// Work: a loop of a kernel as plain data, so that one description serves the eager call, the executable and objects
// that are compiled ahead of time, where there are neither tensors nor a C++ library.
#pragma once
#include <cstddef>
#include <cstdint>

namespace hone::math {

/// codegen::MapFn (compiler/codegen.h).
using WorkCode = void (*)(void* const* pointers, const int64_t* strides, int64_t rows, int64_t n);

/// Items [begin, end) of a loop. `params` is the function's own struct of plain data; `memory` are operands, results
/// and temporaries in the order its row in works.def names; `scratch` has Work::scratch bytes of this thread, 64-byte
/// aligned. `code` is the machine code of a cluster for functions that run one. The same bits for any split.
struct WorkArgs {
  const void* params;
  std::byte* const* memory;
  std::byte* scratch;
  WorkCode code;
};
using WorkFn = void (*)(const WorkArgs& args, int64_t begin, int64_t end);

enum class WorkId : int32_t {
#define WORK(name, function) name,
#include "hone/math/works.def"
  Count
};
inline constexpr int kWorks = static_cast<int>(WorkId::Count);

/// The type of integer operands, bools too.
struct IntKind {
  int32_t bytes;
  bool is_unsigned;
};

/// Operand i of a work that is written over floats of several numbers of bytes.
template <class T>
const T* work_in(const WorkArgs& args, int i) {
  return static_cast<const T*>(static_cast<const void*>(args.memory[i]));
}
template <class T>
T* work_out(const WorkArgs& args, int i) {
  return static_cast<T*>(static_cast<void*>(args.memory[i]));
}

}  // namespace hone::math
