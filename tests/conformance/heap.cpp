#include "tests/conformance/heap.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "hone/backend/cpu/map_code.h"

namespace {

std::atomic<bool> watching{false};
std::atomic<int64_t> counted{0};

void count(const void* caller) {
  if (!watching.load(std::memory_order_relaxed)) return;
  Dl_info where{};
  if (dladdr(caller, &where) && where.dli_fname && std::strstr(where.dli_fname, "libdnnl")) return;
  counted.fetch_add(1, std::memory_order_relaxed);
}

void* checked(void* memory) {
  if (memory) return memory;
  throw std::bad_alloc();
}

}  // namespace

// Not inlined: g++ sees a mismatch of new and free otherwise.
[[gnu::noinline]] void* operator new(size_t bytes) {
  count(__builtin_return_address(0));
  return checked(std::malloc(bytes > 0 ? bytes : 1));
}
[[gnu::noinline]] void* operator new(size_t bytes, std::align_val_t align) {
  count(__builtin_return_address(0));
  const auto unit = static_cast<size_t>(align) < sizeof(void*) ? sizeof(void*) : static_cast<size_t>(align);
  return checked(std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace hone::conformance {

HeapWatch::HeapWatch() {
  wait_for_machine_code();  // of warm-up calls
  counted = 0;
  watching = true;
}
HeapWatch::~HeapWatch() { watching = false; }
int64_t HeapWatch::taken() const { return counted; }

}  // namespace hone::conformance
