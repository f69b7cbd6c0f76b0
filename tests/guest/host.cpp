// A host with an OpenMP team of its own that loads and unloads the module, forks, and goes on: host MODULE [cycles].
// Exit code 0, or 1 with a message for each thing that is not as it should be.
#include <dlfcn.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

namespace {

constexpr int kThreads = 2;
constexpr int64_t kCount = 10000, kSum = kCount * (kCount - 1) / 2;

int failures = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "guest: not so: %s\n", what.c_str());
  ++failures;
}

int process_threads() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

int settled_threads(int at_most) {
  for (int i = 0; i < 2000 && process_threads() > at_most; ++i) usleep(1000);
  return process_threads();
}

class Module {
 public:
  explicit Module(const char* path) : handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) {
      std::fprintf(stderr, "guest: %s\n", dlerror());
      std::exit(1);
    }
    sum_ = reinterpret_cast<int64_t (*)(int, int64_t)>(dlsym(handle_, "guest_sum"));
  }
  ~Module() { dlclose(handle_); }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  bool works(int threads = kThreads) const { return sum_ != nullptr && sum_(threads, kCount) == kSum; }

 private:
  void* handle_;
  int64_t (*sum_)(int, int64_t) = nullptr;
};

bool loaded(const char* path) {
  void* const handle = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (handle != nullptr) dlclose(handle);
  return handle != nullptr;
}

bool own_region_works() {
  int64_t sum = 0;
  int members = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(3)
  for (int64_t i = 0; i < kCount; ++i) sum += i;
#pragma omp parallel reduction(+ : members) num_threads(3)
  members += 1;
  return sum == kSum && members == 3;
}

/// True if the child, which dies of an alarm where it hangs, ends with 0.
template <class Body>
bool holds_in_child(Body body) {
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(30);
    std::_Exit(body() ? 0 : 1);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void load_and_unload(const char* path, int cycles) {
  const int before = process_threads(), bound = before + 1 + 2 * (kThreads - 1);
  int most = 0;
  for (int i = 0; i < cycles && failures == 0; ++i) {
    {
      const Module module(path);
      expect(module.works(), "loop in cycle " + std::to_string(i));
      if (i % 4 == 1) std::thread([&] { expect(module.works(), "loop of a second caller"); }).join();
      most = std::max(most, settled_threads(bound));  // a joined thread may be listed for a moment
    }
    expect(!loaded(path), "the module is gone after cycle " + std::to_string(i));
    expect(settled_threads(before) == before, "no thread is left after cycle " + std::to_string(i));
  }
  expect(most <= bound, "threads are bounded: " + std::to_string(most));
}

void fork_with_module(const char* path) {
  const Module module(path);
  expect(holds_in_child([&] { return module.works(); }), "loop in a child, none before in the parent");
  expect(module.works(), "loop in the parent");
  expect(holds_in_child([&] { return module.works() && own_region_works(); }), "loop and region in a child");
  expect(module.works(), "loop in the parent after the fork");
}

void own_team(const char* path) {
  omp_set_num_threads(3);
  expect(own_region_works(), "the host's own region before");
  {
    const Module module(path);
    expect(module.works() && own_region_works() && module.works(), "host and guest in turn");
    expect(omp_get_max_threads() == 3, "the host's thread count is its own");
    int working = 0;
#pragma omp parallel num_threads(3) reduction(+ : working)
    working += module.works();
    expect(working == 3, "the guest called from the host's region");
    expect(module.works(), "the guest's thread is the main one again");
    bool alone = false;
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) alone = module.works();
    expect(alone, "the guest called by its own thread from the host's region, by no other");
    expect(holds_in_child([&] { return module.works(); }), "loop in a child of a host with a team");
  }
  expect(own_region_works(), "the host's own region after the guest has gone");
  expect(omp_get_max_threads() == 3, "the host's thread count afterwards");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s MODULE [cycles]\n", argv[0]);
    return 1;
  }
  const int before = process_threads();
  {
    const Module module(argv[1]);
    expect(module.works(1), "loop with one thread");
    expect(process_threads() == before, "one thread means no other");
  }
  load_and_unload(argv[1], argc > 2 ? std::atoi(argv[2]) : 100);
  fork_with_module(argv[1]);
  own_team(argv[1]);
  return failures == 0 ? 0 : 1;
}
