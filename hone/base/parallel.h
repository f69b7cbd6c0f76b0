// The compute team: one set of threads for Hone's own loops and for library calls, within one CPU budget.
//
// With `threads() == 1` no OpenMP region is entered and no thread exists. Every OpenMP region is opened by one owner
// thread (libgomp keeps a pool for each thread that opens one). The first caller owns the team and opens its regions
// itself; when a second caller comes, a dedicated thread becomes the owner and all callers hand it their work in turn;
// a caller that has had the team to itself for a while owns it again. A former owner's idle workers end at its next
// call, or with it. Under a host's executor no region is opened at all: loops run through the callback, library calls
// on one thread each. A forked child starts without a team and makes its own.
//
// The `std` team (HONE_TEAM=std, for ThreadSanitizer) runs loops on std::threads and library calls on one thread.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>

#include "hone/base/function_ref.h"

namespace hone {

/// Body of a parallel loop over [begin, end).
using LoopBody = FunctionRef<void(int64_t begin, int64_t end)>;

/// A host's loop: must call task(i) once for each i in [0, tasks), on any threads, and return when all are done. task
/// does not throw.
using Executor = std::function<void(int64_t tasks, const std::function<void(int64_t)>& task)>;

namespace parallel_detail {
extern constinit std::atomic<int> thread_count;  // 0: not yet read from the environment
extern constinit std::atomic<bool> executor_set;
extern constinit thread_local bool in_loop;
int initial_threads();
void split(int64_t n, int64_t grain, LoopBody body, int64_t align);

/// Marks this thread as running a loop's body.
class InLoop {
 public:
  InLoop() : previous_(in_loop) { in_loop = true; }
  ~InLoop() { in_loop = previous_; }
  InLoop(const InLoop&) = delete;
  InLoop& operator=(const InLoop&) = delete;

 private:
  bool previous_;
};
}  // namespace parallel_detail

/// CPUs this process may use: the affinity mask, bounded by the cgroup's quota (rounded up), at least 1. Reads files.
int cpu_budget();

/// Threads of the team; starts as HONE_NUM_THREADS, else OMP_NUM_THREADS, else cpu_budget().
inline int threads() {
  const int count = parallel_detail::thread_count.load(std::memory_order_relaxed);
  return count != 0 ? count : parallel_detail::initial_threads();
}

/// Sets the number of threads (1 to 1024; Error kInvalidArgument otherwise, and above OMP_THREAD_LIMIT). Takes effect
/// at the next loop. 1 also ends the team's threads, unless another caller owns them.
void set_threads(int count);

/// Runs loops on the host's pool; an empty function returns to the team. Not while a loop runs.
void set_executor(Executor executor);
inline bool has_executor() { return parallel_detail::executor_set.load(std::memory_order_acquire); }

/// True inside a body of parallel_for or parallel_tasks.
inline bool in_parallel_loop() { return parallel_detail::in_loop; }

/// Runs body over [0, n) in contiguous ranges: min(threads(), ceil(n / grain)) of them, of nearly equal size,
/// boundaries multiples of `align`. `grain` is the number of elements below which splitting does not pay; n <= grain
/// runs here, at once. The split never changes results of Hone's own kernels. All ranges run even if one throws; the
/// exception of the first range that threw reaches the caller. Nested calls run sequentially. Does not allocate. A body
/// must not wait for a loop of another thread, which waits for this one's end.
inline void parallel_for(int64_t n, int64_t grain, LoopBody body, int64_t align = 64) {
  if (n <= grain || threads() == 1 || in_parallel_loop()) {
    if (n <= 0) return;
    const parallel_detail::InLoop mark;
    body(0, n);
    return;
  }
  parallel_detail::split(n, grain, body, align);
}

/// Runs task(i) for i in [0, tasks) with dynamic assignment to threads: for few, uneven pieces. Exceptions and nesting
/// as parallel_for.
void parallel_tasks(int64_t tasks, FunctionRef<void(int64_t)> task);

/// Runs a library call (oneDNN) that opens OpenMP regions itself, with `library_threads()` threads, on the owner thread
/// of the team (so not always on this one). Inside parallel_for or parallel_tasks, with one thread and under an
/// executor it runs here, on one thread. The OpenMP settings of this thread are afterwards what they were. An exception
/// of the call reaches the caller.
void run_library(FunctionRef<void()> call);

/// Threads a library call made here and now would use: 1 inside a loop, under an executor and with the `std` team, else
/// threads().
int library_threads();

}  // namespace hone
