// Who opens the regions: a caller that has the team to itself (`owner` is its token), or the dedicated thread
// (kDedicated). The owner holds `mutex` while it runs a region, so a change of owner never meets a region of a calling
// thread.
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#include "hone/base/error.h"
#include "hone/base/openmp.h"
#include "hone/base/team.h"

namespace hone::team {

const bool kServesLibraries = true;

namespace {

/// Calls in a row from one thread, no other in between, after which it owns the team again. Moving the team costs some
/// 100 us; a handover 10 us to 1 ms where all cores are taken by threads that spin.
constexpr int kYields = 50;
constexpr int kReclaim = 16;

struct Request {
  FunctionRef<void()> call;
  std::exception_ptr error;
  Request* next = nullptr;
  std::atomic<int> done{0};
};

struct State {
  std::mutex mutex;
  const void* owner = nullptr;
  const void* former = nullptr;  // the caller that lost the team to the dedicated thread and still has its pool
  // The dedicated thread, its queue, and whether it is to end once the queue is empty.
  std::thread dedicated;
  std::condition_variable work_signal;
  Request* front = nullptr;
  Request* back = nullptr;
  bool alive = false, stop = false, busy = false;
  // Who called last, and how often in a row.
  const void* last = nullptr;
  int streak = 0;
};

State& state();

std::atomic<int> queued{0};      // requests in the queue
std::atomic<int> contenders{0};  // callers that found the team in use

constexpr char kDedicatedTag = 0;
const void* const kDedicated = &kDedicatedTag;

struct ThreadState {
  bool inside = false;    // runs a call on the team
  bool has_pool = false;  // opened a region, so libgomp keeps a pool for this thread
};
constinit thread_local ThreadState self;

const void* token() { return &self; }

void end_pool() {
  if (omp_get_level() > 0) return;
  omp_pause_resource_all(kOmpPauseSoft);
  self.has_pool = false;
}

/// Under the mutex: a caller that does not own the team gives its threads back.
void end_own_pool() {
  if (self.has_pool) end_pool();
  if (state().former == token() && !self.has_pool) state().former = nullptr;
}

class Inside {
 public:
  Inside() { self.inside = self.has_pool = true; }
  ~Inside() { self.inside = false; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

void run_here(FunctionRef<void()> call) {
  const Inside inside;
  call();
}

/// Waits a little for what another thread is about to do, leaving it this core: to sleep and be woken may cost a slice
/// of the scheduler's where the pool's workers spin on the other cores.
template <class Ready>
void yield_until(Ready ready) {
  for (int i = 0; i < kYields && !ready(); ++i) std::this_thread::yield();
}

void serve() {
  std::unique_lock lock(state().mutex);
  while (true) {
    if (state().front == nullptr && !state().stop) {
      lock.unlock();
      yield_until([] { return queued.load(std::memory_order_relaxed) != 0; });
      lock.lock();
    }
    state().work_signal.wait(lock, [] { return state().front != nullptr || state().stop; });
    if (state().front == nullptr) break;
    Request& request = *state().front;
    state().front = request.next;
    queued.fetch_sub(1, std::memory_order_relaxed);
    if (state().front == nullptr) state().back = nullptr;
    state().busy = true;
    lock.unlock();
    try {
      run_here(request.call);
    } catch (...) {
      request.error = std::current_exception();
    }
    lock.lock();
    state().busy = false;
    // From here on the request may be gone with its caller's stack frame; notifying needs its address only.
    request.done.store(1, std::memory_order_release);
    lock.unlock();
    request.done.notify_one();
    lock.lock();
  }
  state().alive = false;
  lock.unlock();
  end_pool();
}

/// Starts the dedicated thread, which takes no signals: they belong to the host's threads.
void start_dedicated() {
  if (state().alive) return;
  if (state().dedicated.joinable()) state().dedicated.join();
  sigset_t all, previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  try {
    state().dedicated = std::thread(serve);
  } catch (const std::system_error& error) {
    pthread_sigmask(SIG_SETMASK, &previous, nullptr);
    throw Error(Code::kResourceExhausted, std::string("cannot start the compute team's thread: ") + error.what(),
                "raise the limit of threads (ulimit -u, cgroup pids.max) or call hone::set_threads(1)");
  }
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  state().alive = true;
  state().stop = false;
}

void stop_dedicated(std::unique_lock<std::mutex>& lock) {
  if (!state().dedicated.joinable() || state().dedicated.get_id() == std::this_thread::get_id()) return;
  state().stop = true;
  state().work_signal.notify_one();
  std::thread ending = std::move(state().dedicated);
  lock.unlock();
  ending.join();
  lock.lock();
  if (!state().alive && state().owner == kDedicated) state().owner = nullptr;
}

/// Releases `lock`.
void submit(std::unique_lock<std::mutex>& lock, FunctionRef<void()> call) {
  Request request{.call = call, .error = {}};
  (state().back != nullptr ? state().back->next : state().front) = &request;
  state().back = &request;
  queued.fetch_add(1, std::memory_order_relaxed);
  lock.unlock();
  state().work_signal.notify_one();
  yield_until([&] { return request.done.load(std::memory_order_relaxed) != 0; });
  request.done.wait(0, std::memory_order_acquire);
  if (request.error) std::rethrow_exception(std::move(request.error));
}

pthread_key_t exit_key;

void forget_owner(void* exiting) {
  const std::lock_guard lock(state().mutex);
  if (state().owner == exiting) state().owner = nullptr;
  if (state().former == exiting) state().former = nullptr;
}

/// Pools of more than one former owner at a time would break the bound on threads.
bool may_own() { return omp_get_level() == 0 && (state().former == nullptr || state().former == token()); }

void own() {
  state().owner = token();
  state().former = nullptr;
  pthread_setspecific(exit_key, token());
}

/// The owner has had all the last calls: the dedicated thread gives the team up, unless others came meanwhile.
bool reclaim(std::unique_lock<std::mutex>& lock) {
  if (state().last != token()) state().streak = 0;
  state().last = token();
  if (++state().streak < kReclaim || !may_own()) return false;
  state().streak = 0;
  submit(lock, [] { end_pool(); });
  lock.lock();
  if (state().front != nullptr || state().busy || state().owner != kDedicated || !may_own()) return false;
  own();
  return true;
}

void enter(FunctionRef<void()> call) {
  if (self.inside) return call();
  std::unique_lock lock(state().mutex, std::try_to_lock);
  const bool contended = !lock.owns_lock();
  if (contended) {
    contenders.fetch_add(1, std::memory_order_relaxed);
    lock.lock();
    contenders.fetch_sub(1, std::memory_order_relaxed);
  }
  // An owner that always came first would keep the others waiting: it steps back as soon as another one waits.
  const bool alone = !contended && contenders.load(std::memory_order_relaxed) == 0;
  if (state().owner == nullptr && may_own()) own();
  // In a parallel region of the host a region of the team would have one thread, and library calls that wait for each
  // other at barriers would wait for ever.
  if (state().owner == token() && alone && omp_get_level() == 0) return run_here(call);
  if (state().owner != kDedicated || !state().alive) {
    start_dedicated();
    if (state().owner != nullptr && state().owner != kDedicated) state().former = state().owner;
    state().owner = kDedicated;
  }
  end_own_pool();
  if (reclaim(lock)) return run_here(call);
  submit(lock, call);
}

/// libgomp must outlive the threads of its pools, which end on their own time after this library is unloaded.
void keep_libgomp_loaded() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&omp_get_max_threads), &info) != 0 && info.dli_fname != nullptr) {
    dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  }
}

/// The end of a thread by pthread_exit, as libgomp's, loads libgcc_s at its first time in a process. It would wait for
/// the loader, which waits for that thread if it unloads this library. backtrace() loads it now.
void load_unwinder() {
  void* frame = nullptr;
  backtrace(&frame, 1);
}

/// Before a fork: the child inherits this thread only, and libgomp would wait for the rest of its pool.
void before_fork() {
  if (!self.inside) end_pool();
}

void in_child() {
  new (&state()) State;  // not destroyed before: the threads behind the former state do not exist here
  contenders.store(0, std::memory_order_relaxed);
  queued.store(0, std::memory_order_relaxed);
  self.inside = false;
}

/// The state and what lives as long as this library is loaded. Used from the first call, even one in a static
/// initialiser; the state is never destroyed: threads may still run loops while static destructors run.
struct Lifetime {
  alignas(State) unsigned char bytes[sizeof(State)];
  Lifetime() {
    new (bytes) State;
    keep_libgomp_loaded();
    load_unwinder();
    pthread_key_create(&exit_key, forget_owner);
    pthread_atfork(before_fork, nullptr, in_child);
  }
  ~Lifetime() {
    if (!self.inside) release();
    pthread_key_delete(exit_key);
  }
};

State& state() {
  static Lifetime lifetime;
  return *std::launder(reinterpret_cast<State*>(lifetime.bytes));
}
[[maybe_unused]] const State& at_load = state();  // forks are followed from the start

}  // namespace

void run(int members, FunctionRef<void(int)> member) {
  struct Region {
    int members;
    FunctionRef<void(int)> member;
  } region{members, member};
  enter([&] {
    const auto body = [](void* data) {
      // OMP_DYNAMIC or a limit may give fewer threads than asked for.
      const auto& [count, run_member] = *static_cast<const Region*>(data);
      const int step = omp_get_num_threads();
      for (int i = omp_get_thread_num(); i < count; i += step) run_member(i);
    };
    GOMP_parallel(body, &region, static_cast<unsigned>(members), 0);
  });
}

void run_call(int, FunctionRef<void()> call) { enter(call); }

void release() {
  if (self.inside) return;
  std::unique_lock lock(state().mutex);
  stop_dedicated(lock);
  end_own_pool();
  if (state().owner == token()) state().owner = nullptr;
}

}  // namespace hone::team
