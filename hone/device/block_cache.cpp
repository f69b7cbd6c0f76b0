#include "hone/device/block_cache.h"

#include <pthread.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "hone/base/thread_local.h"

namespace hone::block_cache {
namespace {

constexpr int kLinearClasses = 8;  // 64, 128, ..., 512
constexpr int kClasses = kLinearClasses + 8 * 40;
constexpr size_t kLocalBytes = size_t{32} << 10;  // larger blocks go to the shared lists at once
constexpr int kLocalBlocks = 64;                  // per class and thread
constexpr size_t kMapBytes = size_t{4} << 20;

struct Link {
  Link* next;
};
struct List {
  Link* head = nullptr;
  int count = 0;
  void push(void* block) {
    head = new (block) Link{head};
    ++count;
  }
  void* pop() {
    Link* link = head;
    if (!link) return nullptr;
    head = link->next;
    --count;
    return link;
  }
};

void to_system(void* block, int size_class) {
  if (class_bytes(size_class) >= kMapBytes) {
    munmap(block, class_bytes(size_class));
  } else {
    std::free(block);
  }
}

struct Local;

struct Shared {
  std::mutex mutex;
  std::array<List, kClasses> lists;
  size_t cached = 0;       // bytes in `lists`
  Local* first = nullptr;  // the lists of all threads
};

// Never destroyed: buffers of static storage may come back after any destructor ran.
Shared& shared() {
  static auto* instance = new Shared;
  return *instance;
}

// The lists of a thread. Only that thread changes them; others read `cached`.
struct Local {
  std::array<List, kClasses> lists;
  std::atomic<size_t> cached{0};
  Local* next;
  Local() {
    const std::lock_guard lock(shared().mutex);
    next = std::exchange(shared().first, this);
  }
  ~Local() {
    Shared& all = shared();
    const std::lock_guard lock(all.mutex);
    for (int c = 0; c < kClasses; ++c) {
      while (void* block = lists[c].pop()) all.lists[c].push(block);
    }
    all.cached += cached.load(std::memory_order_relaxed);
    for (Local** at = &all.first; *at; at = &(*at)->next) {
      if (*at == this) {
        *at = next;
        break;
      }
    }
  }
  Local(const Local&) = delete;
  Local& operator=(const Local&) = delete;
  void push(void* block, int size_class, size_t bytes) {
    lists[size_class].push(block);
    cached.store(cached.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }
  void* pop(int size_class, size_t bytes) {
    void* block = lists[size_class].pop();
    if (block) cached.store(cached.load(std::memory_order_relaxed) - bytes, std::memory_order_relaxed);
    return block;
  }
};
Local* local() { return ThreadLocal<Local>::get(); }

// A library that is unloaded takes no memory along: this ends after the threads' lists, which are younger.
const struct Releaser {
  Releaser() = default;
  ~Releaser() { release(); }
} kReleaser;

// A fork while another thread holds the lock would leave it locked in the child, where only this thread lives on.
void in_child() {
  Shared& all = shared();
  all.first = ThreadLocal<Local>::existing();
  if (all.first) all.first->next = nullptr;
  all.mutex.unlock();
}
const int kForkHandlers = pthread_atfork([] { shared().mutex.lock(); }, [] { shared().mutex.unlock(); }, in_child);

}  // namespace

int class_of(size_t bytes) {
  if (bytes <= 512) return static_cast<int>((bytes + 63) / 64) - (bytes > 0);
  const int octave = std::bit_width(bytes - 1) - 1;  // 2^octave < bytes <= 2^(octave+1)
  const size_t step = size_t{1} << (octave - 3);
  const auto eighth = static_cast<int>((bytes - (size_t{1} << octave) + step - 1) / step);
  return kLinearClasses + (octave - 9) * 8 + eighth - 1;
}

size_t class_bytes(int size_class) {
  if (size_class < kLinearClasses) return 64 * static_cast<size_t>(size_class + 1);
  const int octave = (size_class - kLinearClasses) / 8 + 9, eighth = (size_class - kLinearClasses) % 8 + 1;
  return (size_t{1} << octave) + static_cast<size_t>(eighth) * (size_t{1} << (octave - 3));
}

void* take(int size_class) noexcept {
  const size_t bytes = class_bytes(size_class);
  if (bytes <= kLocalBytes) {
    if (Local* lists = local()) {
      if (void* block = lists->pop(size_class, bytes)) return block;
    }
  }
  Shared& all = shared();
  const std::lock_guard lock(all.mutex);
  void* block = all.lists[size_class].pop();
  if (block) all.cached -= bytes;
  return block;
}

void give(void* block, int size_class) noexcept {
  const size_t bytes = class_bytes(size_class);
  if (bytes <= kLocalBytes) {
    Local* lists = local();
    if (lists && lists->lists[size_class].count < kLocalBlocks) return lists->push(block, size_class, bytes);
  }
  Shared& all = shared();
  const std::lock_guard lock(all.mutex);
  all.lists[size_class].push(block);
  all.cached += bytes;
}

void* fresh(int size_class) noexcept {
  const size_t bytes = class_bytes(size_class);
  if (bytes < kMapBytes) return std::aligned_alloc(64, bytes);
  void* block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return nullptr;
  madvise(block, bytes, MADV_HUGEPAGE);
  return block;
}

void release() noexcept {
  const auto drain = [](std::array<List, kClasses>& lists) {
    for (int c = 0; c < kClasses; ++c) {
      while (void* block = lists[c].pop()) to_system(block, c);
    }
  };
  if (Local* lists = local()) {
    drain(lists->lists);
    lists->cached.store(0, std::memory_order_relaxed);
  }
  Shared& all = shared();
  const std::lock_guard lock(all.mutex);
  drain(all.lists);
  all.cached = 0;
}

size_t cached_bytes() noexcept {
  Shared& all = shared();
  const std::lock_guard lock(all.mutex);
  size_t bytes = all.cached;
  for (const Local* lists = all.first; lists; lists = lists->next)
    bytes += lists->cached.load(std::memory_order_relaxed);
  return bytes;
}

}  // namespace hone::block_cache
