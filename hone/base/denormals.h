// DenormalMode: what a thread does with denormal floats while Hone computes.
#pragma once
#include "hone/base/settings.h"
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace hone {

/// Until it ends, this thread keeps or flushes denormals as settings.flush_denormals says; then its mode is the host's
/// again. The register is written only where the mode differs, since that drains the pipeline.
class DenormalMode {
 public:
#if defined(__x86_64__)
  DenormalMode() : host_(_mm_getcsr()) {
    const unsigned wanted = settings.flush_denormals ? host_ | kFlush : host_ & ~kFlush;
    differs_ = wanted != host_;
    if (differs_) [[unlikely]]
      _mm_setcsr(wanted);
  }
  ~DenormalMode() {
    if (differs_) [[unlikely]]
      _mm_setcsr((_mm_getcsr() & ~kFlush) | (host_ & kFlush));
  }

 private:
  static constexpr unsigned kFlush = 0x8040;  // flush to zero, denormals are zero
  unsigned host_;
  bool differs_;
#else
  DenormalMode() {}   // NOLINT: not trivial, so that nobody warns of an unused variable
  ~DenormalMode() {}  // NOLINT: likewise
#endif

 public:
  DenormalMode(const DenormalMode&) = delete;
  DenormalMode& operator=(const DenormalMode&) = delete;
};

}  // namespace hone
