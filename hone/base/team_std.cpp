#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "hone/base/team.h"

namespace hone::team {

const bool kServesLibraries = false;  // their regions belong to libgomp, which ThreadSanitizer does not understand

namespace {

struct State {
  std::mutex turn;  // held for a whole run
  std::mutex mutex;
  std::condition_variable start_signal, done_signal;
  const FunctionRef<void(int)>* member = nullptr;
  uint64_t generation = 0;
  int pending = 0;
  bool stop = false;
  std::vector<std::thread> workers;
};

State& state();

void work(int index, uint64_t seen) {
  std::unique_lock lock(state().mutex);
  while (true) {
    state().start_signal.wait(lock, [&] { return state().generation != seen || state().stop; });
    if (state().stop) return;
    seen = state().generation;
    const FunctionRef<void(int)> member = *state().member;
    lock.unlock();
    member(index);
    lock.lock();
    if (--state().pending == 0) state().done_signal.notify_one();
  }
}

void stop_workers() {
  {
    const std::lock_guard lock(state().mutex);
    state().stop = true;
  }
  state().start_signal.notify_all();
  for (std::thread& worker : state().workers) worker.join();
  state().workers.clear();
  state().stop = false;
}

void start_workers(int count) {
  stop_workers();
  sigset_t all, previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  for (int i = 1; i <= count; ++i) state().workers.emplace_back(work, i, state().generation);
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
}

void in_child() { new (&state()) State; }  // not destroyed before: its threads do not exist here

/// The state is never destroyed: threads may still run loops while static destructors run.
struct Lifetime {
  alignas(State) unsigned char bytes[sizeof(State)];
  Lifetime() {
    new (bytes) State;
    pthread_atfork(nullptr, nullptr, in_child);
  }
  ~Lifetime() { release(); }
};

State& state() {
  static Lifetime lifetime;
  return *std::launder(reinterpret_cast<State*>(lifetime.bytes));
}

}  // namespace

void run(int members, FunctionRef<void(int)> member) {
  const std::lock_guard turn(state().turn);
  if (static_cast<int>(state().workers.size()) != members - 1) start_workers(members - 1);
  {
    const std::lock_guard lock(state().mutex);
    state().member = &member;
    state().pending = members - 1;
    ++state().generation;
  }
  state().start_signal.notify_all();
  member(0);
  std::unique_lock lock(state().mutex);
  state().done_signal.wait(lock, [] { return state().pending == 0; });
}

void run_call(int, FunctionRef<void()> call) { call(); }

void release() {
  const std::lock_guard turn(state().turn);
  stop_workers();
}

}  // namespace hone::team
