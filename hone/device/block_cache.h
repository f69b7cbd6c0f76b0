// Size-class block cache: eight classes an octave, per-thread lists for small blocks, shared lists above.
#pragma once
#include <cstddef>

namespace hone::block_cache {

/// The class that serves `bytes`, and its size. Classes are 64 bytes apart up to 512, then an eighth of the octave.
int class_of(size_t bytes);
size_t class_bytes(int size_class);

/// A free block of the class, or null where neither this thread nor the shared list holds one. 64-byte aligned.
void* take(int size_class) noexcept;
/// Keeps a block for reuse.
void give(void* block, int size_class) noexcept;

/// A fresh block from the system, or null. Blocks of 4 MiB and more ask for huge pages.
void* fresh(int size_class) noexcept;
/// Returns all blocks of this thread and of the shared lists to the system.
void release() noexcept;
/// Bytes in shared lists and in all threads' lists.
size_t cached_bytes() noexcept;

}  // namespace hone::block_cache
