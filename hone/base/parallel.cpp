#include "hone/base/parallel.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>

#include "hone/base/denormals.h"
#include "hone/base/error.h"
#include "hone/base/log.h"
#include "hone/base/openmp.h"
#include "hone/base/team.h"

namespace hone {
namespace parallel_detail {
constinit std::atomic<int> thread_count{0};
constinit std::atomic<bool> executor_set{false};
constinit thread_local bool in_loop = false;
}  // namespace parallel_detail

namespace {

constexpr int kMaxThreads = 1024;

Executor& executor() {
  struct Holder {
    Executor function;
    ~Holder() { parallel_detail::executor_set.store(false); }
  };
  static Holder holder;
  return holder.function;
}

/// The value of an environment variable that holds a thread count (the first of an OpenMP list), 0 if there is none.
int threads_from(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return 0;
  int count = 0;
  const char* end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, count);
  if (error == std::errc() && count >= 1 && count <= kMaxThreads && (rest == end || *rest == ',')) return count;
  logging::warning(std::string(variable) + "=" + text + " is not a number of threads (1 to 1024); it is ignored");
  return 0;
}

/// Keeps the exception of the lowest index.
class FirstError {
 public:
  template <class F>
  void guard(int64_t index, F&& body) {
    try {
      body();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_ || index < index_) error_ = std::current_exception(), index_ = index;
    }
  }
  void rethrow() {
    if (error_) std::rethrow_exception(std::move(error_));
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  int64_t index_ = 0;
};

/// task(i) for each i in [0, tasks), one to a member of the team or on the host's pool; task does not throw.
template <class Task>
void spread(int64_t tasks, Task&& task) {
  const auto marked = [&task](int64_t i) {
    const parallel_detail::InLoop mark;
    const DenormalMode mode;
    task(i);
  };
  if (has_executor()) {
    executor()(tasks, [&marked](int64_t i) { marked(i); });  // one pointer: std::function does not allocate
  } else {
    team::run(threads(), [&](int member) {
      if (member < tasks) marked(member);
    });
  }
}

}  // namespace

namespace parallel_detail {

int initial_threads() {
  int count = threads_from("HONE_NUM_THREADS");
  if (count == 0) count = threads_from("OMP_NUM_THREADS");
  if (count == 0) count = cpu_budget();
  count = std::clamp(count, 1, std::min(omp_get_thread_limit(), kMaxThreads));
  int unset = 0;
  return thread_count.compare_exchange_strong(unset, count) ? count : unset;
}

void split(int64_t n, int64_t grain, LoopBody body, int64_t align) {
  if (n <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  align = std::max<int64_t>(align, 1);
  const int64_t units = n / align + (n % align != 0);
  const int64_t tasks = std::min({int64_t{threads()}, n / grain + (n % grain != 0), units});
  if (tasks == 1) {
    const InLoop mark;
    return body(0, n);
  }
  const auto boundary = [&](int64_t i) {
    return i == tasks ? n : (units / tasks * i + std::min(i, units % tasks)) * align;
  };
  FirstError error;
  spread(tasks, [&](int64_t i) { error.guard(i, [&] { body(boundary(i), boundary(i + 1)); }); });
  error.rethrow();
}

}  // namespace parallel_detail

void set_threads(int count) {
  const int limit = std::min(omp_get_thread_limit(), kMaxThreads);
  if (count < 1 || count > limit) {
    throw Error(
        Code::kInvalidArgument,
        {.what = "invalid number of threads",
         .details = {"expected 1 to " + std::to_string(limit) + ", got " + std::to_string(count)},
         .fix = limit < kMaxThreads ? "raise OMP_THREAD_LIMIT or ask for fewer" : "hone::cpu_budget() suits most"});
  }
  parallel_detail::thread_count.store(count, std::memory_order_relaxed);
  if (count == 1) team::release();
}

void set_executor(Executor function) {
  parallel_detail::executor_set.store(false, std::memory_order_release);
  const bool set = static_cast<bool>(function);
  executor() = std::move(function);
  parallel_detail::executor_set.store(set, std::memory_order_release);
}

void parallel_tasks(int64_t tasks, FunctionRef<void(int64_t)> task) {
  if (tasks <= 0) return;
  FirstError error;
  if (tasks == 1 || threads() == 1 || in_parallel_loop()) {
    const parallel_detail::InLoop mark;
    for (int64_t i = 0; i < tasks; ++i) error.guard(i, [&] { task(i); });
  } else if (has_executor()) {
    spread(tasks, [&](int64_t i) { error.guard(i, [&] { task(i); }); });
  } else {
    std::atomic<int64_t> next{0};
    spread(std::min<int64_t>(tasks, threads()), [&](int64_t) {
      for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < tasks;) error.guard(i, [&] { task(i); });
    });
  }
  error.rethrow();
}

int library_threads() { return !team::kServesLibraries || in_parallel_loop() || has_executor() ? 1 : threads(); }

void run_library(FunctionRef<void()> call) {
  const int count = library_threads();
  if (count == 1) {
    const team::LibrarySettings settings(1);
    return call();
  }
  team::run_call(count, [&] {
    const team::LibrarySettings settings(count);
    call();
  });
}

// omp_set_num_threads() and its kin act on the calling thread alone, so the host's settings are restored exactly.
team::LibrarySettings::LibrarySettings(int count)
    : previous_(omp_get_max_threads()), count_(count), dynamic_(omp_get_dynamic() != 0) {
  if (previous_ != count_) omp_set_num_threads(count_);
  if (dynamic_) omp_set_dynamic(0);
}

team::LibrarySettings::~LibrarySettings() {
  if (previous_ != count_) omp_set_num_threads(previous_);
  if (dynamic_) omp_set_dynamic(1);
}

}  // namespace hone
