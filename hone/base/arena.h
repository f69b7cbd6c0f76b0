// Bump allocation: objects that live and die together. Freed as a whole; the chunks are reused after reset().
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace hone {

/// Not thread-safe. Destructors of what it holds do not run: create() takes only types that need none.
class Arena {
 public:
  /// Bytes of an ordinary chunk; larger requests get a chunk of their own.
  explicit Arena(size_t chunk_bytes = size_t{1} << 16) : chunk_bytes_(chunk_bytes) {}
  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;

  /// Uninitialised bytes at a multiple of `align` (a power of two). Size 0 gives a valid, unique-or-not pointer.
  /// std::bad_alloc when memory is exhausted.
  void* allocate(size_t bytes, size_t align = alignof(std::max_align_t)) {
    const uintptr_t start = (at_ + align - 1) & ~(uintptr_t{align} - 1);
    if (at_ == 0 || start > end_ || bytes > end_ - start) return allocate_slow(bytes, align);
    at_ = start + bytes;
    return reinterpret_cast<void*>(start);
  }

  template <class T, class... Args>
  T* create(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>, "an arena runs no destructors");
    return std::construct_at(static_cast<T*>(allocate(sizeof(T), alignof(T))), std::forward<Args>(args)...);
  }

  /// `count` value-initialised objects.
  template <class T>
  std::span<T> create_array(size_t count) {
    static_assert(std::is_trivially_destructible_v<T>, "an arena runs no destructors");
    T* const first = static_cast<T*>(allocate(array_bytes(count, sizeof(T)), alignof(T)));
    std::uninitialized_value_construct_n(first, count);
    return {first, count};
  }

  /// A copy that lives as long as the arena's content.
  template <class T>
  std::span<T> copy(std::span<const T> values) {
    static_assert(std::is_trivially_destructible_v<T>, "an arena runs no destructors");
    T* const first = static_cast<T*>(allocate(values.size_bytes(), alignof(T)));
    std::uninitialized_copy(values.begin(), values.end(), first);
    return {first, values.size()};
  }
  std::string_view copy(std::string_view text) {
    const std::span<char> chars = copy(std::span<const char>(text.data(), text.size()));
    return {chars.data(), chars.size()};
  }

  /// Forgets all objects and keeps the chunks for what comes next.
  void reset();

  /// Bytes handed out since the last reset, padding included, and bytes of all chunks.
  size_t used() const;
  size_t capacity() const;

 private:
  struct Chunk;
  static size_t array_bytes(size_t count, size_t size);
  void* allocate_slow(size_t bytes, size_t align);
  void enter(Chunk* chunk);

  uintptr_t at_ = 0, end_ = 0;  // the free part of the current chunk
  size_t chunk_bytes_;
  size_t used_before_ = 0;  // in the chunks before the current one
  Chunk* first_ = nullptr;  // all chunks, in order of use
  Chunk* current_ = nullptr;
};

}  // namespace hone
