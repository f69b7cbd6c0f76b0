// A host without OpenMP that loads and unloads the module 100 times while its team is hot. Exit code 0, or 1 with a
// message.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

// Resident memory of this process in MiB.
long resident() {
  long pages = 0, all = 0;
  if (std::FILE* const file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &all, &pages) != 2) pages = 0;
    std::fclose(file);
  }
  return pages * sysconf(_SC_PAGESIZE) >> 20;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s MODULE\n", argv[0]);
    return 1;
  }
  constexpr int kWarm = 20;
  long warm = 0;
  for (int i = 0; i < 100; ++i) {
    if (i == kWarm) warm = resident();
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
  const long grown = resident() - warm;
  if (grown > 16) std::fprintf(stderr, "guest: %ld MiB more after 80 cycles\n", grown);
  return grown > 16;
}
