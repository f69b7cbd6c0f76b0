// Time by op: a probe sink that sums spans, and its table.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "hone/base/probe.h"

namespace hone {

/// What the calls of one op by one kernel cost together.
struct OpTime {
  std::string op, kernel;  ///< "convolution", "onednn.convolution"
  int64_t calls = 0;
  double seconds = 0;  ///< of the op itself: ops that it called count for themselves
  double flops = 0, bytes = 0;
};

/// Sums "op" spans. Takes spans of any thread; read it when no op runs.
class OpProfile final : public ProbeSink {
 public:
  void span(const Span& span) override;
  void allocation(int64_t bytes, size_t in_use) override;

  /// Longest first; `count` < 0 gives all.
  std::vector<OpTime> slowest(int64_t count = -1) const;
  /// Of all ops together.
  double seconds() const;
  /// Bytes that ops and others took from the device's allocator, and the most that were in use.
  int64_t allocated_bytes() const;
  size_t peak_bytes() const;
  /// The slowest as aligned text: op, kernel, calls, ms, share of all, GFLOP/s, GB/s.
  std::string table(int64_t count) const;

 private:
  struct Open {
    int64_t begin_ns, end_ns;
  };
  int64_t self_ns(const Span& span);

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, OpTime> times_;
  std::unordered_map<std::thread::id, std::vector<Open>> open_;  // ended spans whose caller has not ended yet
  int64_t allocated_ = 0;
  size_t peak_ = 0;
};

/// Sends the probe's events to `sink` while it lives.
class ProbeScope {
 public:
  explicit ProbeScope(ProbeSink& sink) : previous_(probe::set_sink(&sink)) {}
  ~ProbeScope() { probe::set_sink(previous_); }
  ProbeScope(const ProbeScope&) = delete;
  ProbeScope& operator=(const ProbeScope&) = delete;

 private:
  ProbeSink* previous_;
};

}  // namespace hone
