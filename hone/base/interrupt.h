// Ctrl-C and SIGTERM as a flag that long work looks at between its steps.
#pragma once

namespace hone {

/// While one lives, the first SIGINT or SIGTERM sets the flag of interrupted(), and a second one ends the process at
/// once with exit code 130 (SIGINT) or 143 (SIGTERM). A signal that the process ignores stays ignored. The outermost
/// guard clears the flag when it begins and restores the former handlers when it ends. Guards may nest and may live on
/// any threads. Code that forks and executes need not care: handlers do not survive exec.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

/// The signal that arrived under the current or the last guard (SIGINT, SIGTERM), 0 if none.
int interrupt_signal() noexcept;
inline bool interrupted() noexcept { return interrupt_signal() != 0; }

}  // namespace hone
