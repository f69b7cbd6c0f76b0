// oneDNN behind one door: primitives by signature, packed weights by tensor. Internal to backend/cpu.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <span>
#include <string>

#include "hone/base/function_ref.h"
#include "hone/base/parallel.h"
#include "hone/base/settings.h"
#include "hone/device/buffer.h"
#include "hone/ops/kernel.h"

namespace hone::onednn {

/// What a primitive is found by; unused fields stay 0. Plain bytes.
struct Key {
  std::array<int32_t, 32> fields{};
  bool operator==(const Key&) const = default;
};

/// A primitive ready to run: its arguments' memory objects await pointers. Used by the thread that owns the cache only.
struct Primitive {
  static constexpr int kMaxArguments = 4;
  dnnl::primitive primitive;
  std::string implementation;  ///< "jit:avx2"; "ref:any" is slow
  uint64_t serial = 0;         ///< unique over the process
  std::array<int, kMaxArguments> names{};
  std::array<dnnl::memory, kMaxArguments> arguments;  ///< the last is the result
  int count = 0;
  size_t scratch_bytes = 0;
  dnnl::memory scratch;
  /// The argument whose layout is the primitive's choice, -1 if none: read or written through a reorder.
  int packed = -1;
  size_t packed_bytes = 0;
  dnnl::memory plain;
  dnnl::primitive reorder;  ///< plain to packed, or back where it is the result

  void add(int name, dnnl::memory memory) {
    names[static_cast<size_t>(count)] = name;
    arguments[static_cast<size_t>(count++)] = std::move(memory);
  }
};

const dnnl::engine& engine();
/// True if this CPU multiplies bf16 itself.
bool native_bf16();

/// The primitive of this key, made by `make` where this thread has none; at most kMaxPrimitives a thread, the least
/// recently used goes. Valid until the next call of this thread. A hit does not allocate.
inline constexpr size_t kMaxPrimitives = 256;
Primitive& find(const Key& key, FunctionRef<void(Primitive&)> make);
size_t cached_primitives();

/// Runs it on plain row-major memory, one pointer an argument, inside run_library(). `weights_id`: Tensor::id() of the
/// packed argument; contents that come twice are kept packed.
void execute(Primitive& primitive, const std::array<void*, Primitive::kMaxArguments>& pointers, uint64_t weights_id);
/// Bytes of weights this thread keeps packed.
size_t packed_bytes();

/// Implementation of this thread's last primitive, for tests.
const std::string& last_implementation();

/// True where large calls are cut into fixed pieces, one single-threaded call each: settings.reproducible = Threads,
/// and a host's executor, which runs the pieces.
inline bool fixed_partitions() { return settings.reproducible == Reproducible::Threads || has_executor(); }

/// Why no library call may serve, or null.
inline const char* refuses_library() {
  return settings.reproducible == Reproducible::Portable ? "settings.reproducible is Portable" : nullptr;
}

/// A dot_general or dense call by sgemm: f32 and 16-bit floats, nothing empty.
void matmul(const KernelCall& call);

}  // namespace hone::onednn
