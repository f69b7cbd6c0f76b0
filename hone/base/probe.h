// Probe: spans and allocation events for profilers. Off, an event costs one predictable branch.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "hone/base/location.h"

namespace hone {

/// Receives events; may be called from several threads at once. Strings live only during the call.
class ProbeSink {
 public:
  virtual ~ProbeSink() = default;
  /// A span that ended: category ("op", "kernel", "library", "data", "step"), what ran, who served it, nanoseconds of
  /// steady_clock.
  struct Span {
    std::string_view category, name, detail;
    Location location;
    int64_t begin_ns = 0, end_ns = 0;
    double flops = 0, bytes = 0;
  };
  virtual void span(const Span& span) = 0;
  /// bytes > 0: allocated; bytes < 0: freed. `in_use` is the total afterwards.
  virtual void allocation(int64_t bytes, size_t in_use) = 0;
};

namespace probe {
extern std::atomic<ProbeSink*> sink;  // null = off

inline bool on() { return __builtin_expect(sink.load(std::memory_order_relaxed) != nullptr, 0); }
/// Installs a sink (null switches off) and returns the previous one; the caller keeps it alive until it is replaced and
/// no span runs.
ProbeSink* set_sink(ProbeSink* sink);
int64_t now_ns();

/// Measures its own lifetime; does nothing while the probe is off.
class Scope {
 public:
  Scope(std::string_view category, std::string_view name, std::string_view detail = {}, Location location = {})
      : active_(on()) {
    if (active_) begin(category, name, detail, location);
  }
  ~Scope() {
    if (active_) end();
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  /// Names who served the span, and its cost.
  void detail(std::string_view who) {
    if (active_) span_.detail = who;
  }
  void cost(double flops, double bytes) {
    if (active_) span_.flops = flops, span_.bytes = bytes;
  }
  bool active() const { return active_; }

 private:
  void begin(std::string_view category, std::string_view name, std::string_view detail, Location location);
  void end();
  bool active_;
  ProbeSink::Span span_;
};
}  // namespace probe
}  // namespace hone
