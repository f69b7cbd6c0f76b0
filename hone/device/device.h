// The device interface. It names no op: memory, copies, launches, waiting.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "hone/base/function_ref.h"
#include "hone/device/buffer.h"

namespace hone {

/// Bytes and counts of a device's allocator since the start (or the last reset_peak).
struct MemoryStats {
  size_t in_use = 0;        ///< bytes held by live buffers
  size_t peak = 0;          ///< largest in_use
  size_t cached = 0;        ///< bytes kept for reuse
  size_t allocations = 0;   ///< buffers handed out
  size_t system_calls = 0;  ///< of these, served by the operating system rather than the cache
};

/// Everything that holds tensors. Thread-safe.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;

  /// At least `bytes` of uninitialised memory, 64-byte aligned. Error kResourceExhausted beyond settings.memory_limit
  /// or what the system has.
  virtual Ref<Buffer> allocate(size_t bytes) = 0;
  virtual void deallocate(Buffer* buffer) = 0;
  virtual void copy_from_host(Buffer& to, size_t offset, const void* from, size_t bytes) = 0;
  virtual void copy_to_host(void* to, const Buffer& from, size_t offset, size_t bytes) = 0;
  /// Runs body over [0, n) where the data lies; ranges as parallel_for.
  virtual void launch(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) = 0;
  /// Returns when all launched work is done.
  virtual void wait() = 0;

  virtual MemoryStats memory_stats() const = 0;
  virtual void reset_peak() = 0;
  /// Gives cached blocks back to the system.
  virtual void empty_cache() = 0;
};

/// The host's processor and memory.
Device& cpu();

/// Statistics of cpu(); what `scripts/demo` prints as peak memory.
inline MemoryStats memory_stats() { return cpu().memory_stats(); }

/// A small block from the same caches, for objects that live and die with ops; not counted in memory_stats().
void* pool_allocate(size_t bytes);
void pool_free(void* block, size_t bytes) noexcept;

}  // namespace hone
