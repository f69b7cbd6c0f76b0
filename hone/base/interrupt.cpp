#include "hone/base/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>

namespace hone {
namespace {

constexpr std::array<int, 2> kSignals = {SIGINT, SIGTERM};

constinit std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free);  // a handler may use it

constinit std::mutex mutex;
constinit int guards = 0;
struct sigaction former[kSignals.size()];

void on_signal(int signal) {
  int none = 0;
  if (!received.compare_exchange_strong(none, signal)) _exit(128 + signal);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  const std::lock_guard lock(mutex);
  if (guards++ > 0) return;
  received.store(0);
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &former[i]);
    if (former[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  const std::lock_guard lock(mutex);
  if (--guards > 0) return;
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &former[i], nullptr);
}

int interrupt_signal() noexcept { return received.load(std::memory_order_relaxed); }

}  // namespace hone
