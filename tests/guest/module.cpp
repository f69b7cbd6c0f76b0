// A plug-in that contains Hone: what a host loads, calls and unloads.
#include <atomic>
#include <cstdint>

#include "hone/base/parallel.h"

/// The sum of 0..n-1 by the team's threads, and one library call; -1 if a part of it failed.
extern "C" __attribute__((visibility("default"))) int64_t guest_sum(int threads, int64_t n) {
  try {
    hone::set_threads(threads);
    std::atomic<int64_t> sum{0};
    hone::parallel_for(n, 1, [&](int64_t begin, int64_t end) {
      int64_t part = 0;
      for (int64_t i = begin; i < end; ++i) part += i;
      sum += part;
    });
    bool called = false;
    hone::run_library([&] { called = true; });
    return called ? sum.load() : -1;
  } catch (...) {
    return -1;
  }
}
