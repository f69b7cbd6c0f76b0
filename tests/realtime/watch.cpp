#include "tests/realtime/watch.h"

#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>
#include <cstdlib>

// Symbols of a program come before those of shared libraries: all calls land here.
extern "C" {
void* __libc_malloc(size_t);            // NOLINT: glibc's own
void* __libc_calloc(size_t, size_t);    // NOLINT
void* __libc_realloc(void*, size_t);    // NOLINT
void* __libc_memalign(size_t, size_t);  // NOLINT
void __libc_free(void*);                // NOLINT
}

namespace {

constinit thread_local bool watching = false;
constinit thread_local hone::realtime::Watched counts;

void count(int64_t hone::realtime::Watched::* what) {
  if (watching) ++(counts.*what);
}

template <class F>
F* next(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));  // NOLINT: what dlsym is for
}

using hone::realtime::Watched;

}  // namespace

extern "C" {
void* malloc(size_t bytes) { return count(&Watched::heap), __libc_malloc(bytes); }
void* calloc(size_t n, size_t bytes) { return count(&Watched::heap), __libc_calloc(n, bytes); }
void* realloc(void* old, size_t bytes) { return count(&Watched::heap), __libc_realloc(old, bytes); }
void* memalign(size_t align, size_t bytes) { return count(&Watched::heap), __libc_memalign(align, bytes); }
void* aligned_alloc(size_t align, size_t bytes) { return memalign(align, bytes); }
int posix_memalign(void** memory, size_t align, size_t bytes) {
  *memory = memalign(align, bytes);
  return *memory ? 0 : ENOMEM;
}
void free(void* memory) { count(&Watched::heap), __libc_free(memory); }

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static int (*real)(pthread_mutex_t*) = nullptr;
  if (!real) real = next<int(pthread_mutex_t*)>("pthread_mutex_lock");
  return count(&Watched::locks), real(mutex);
}
int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  static int (*real)(pthread_mutex_t*) = nullptr;
  if (!real) real = next<int(pthread_mutex_t*)>("pthread_mutex_trylock");
  return count(&Watched::locks), real(mutex);
}
int pthread_once(pthread_once_t* once, void (*init)()) {
  static int (*real)(pthread_once_t*, void (*)()) = nullptr;
  if (!real) real = next<int(pthread_once_t*, void (*)())>("pthread_once");
  constexpr int kDone = 2;  // glibc's: nothing but a look
  if (__atomic_load_n(once, __ATOMIC_ACQUIRE) != kDone) count(&Watched::first_uses);
  return real(once, init);
}
int __cxa_guard_acquire(int64_t* guard) {  // NOLINT: of the C++ ABI
  static int (*real)(int64_t*) = nullptr;
  if (!real) real = next<int(int64_t*)>("__cxa_guard_acquire");
  return count(&Watched::first_uses), real(guard);
}
void* __cxa_allocate_exception(size_t bytes) noexcept {  // NOLINT
  static void* (*real)(size_t) = nullptr;
  if (!real) real = next<void*(size_t)>("__cxa_allocate_exception");
  return count(&Watched::exceptions), real(bytes);
}
}

namespace hone::realtime {

void watch() {
  counts = {};
  watching = true;
}
Watched watched() {
  watching = false;
  return counts;
}

}  // namespace hone::realtime
