// A host without OpenMP that loads and unloads the module 100 times while its team is hot. Exit code 0, or 1 with a
// message.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s MODULE\n", argv[0]);
    return 1;
  }
  for (int i = 0; i < 100; ++i) {
    void* const handle = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      std::fprintf(stderr, "guest: cycle %d: %s\n", i, dlerror());
      return 1;
    }
    const auto sum = reinterpret_cast<int64_t (*)(int, int64_t)>(dlsym(handle, "guest_sum"));
    if (sum == nullptr || sum(3, 1000) != 1000 * 999 / 2) {
      std::fprintf(stderr, "guest: cycle %d: the loop failed\n", i);
      return 1;
    }
    dlclose(handle);
    if (void* const left = dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD)) {
      std::fprintf(stderr, "guest: cycle %d: the module is still loaded\n", i);
      dlclose(left);
      return 1;
    }
  }
  return 0;
}
