#include "hone/base/probe.h"

#include <chrono>

namespace hone::probe {

constinit std::atomic<ProbeSink*> sink{nullptr};

ProbeSink* set_sink(ProbeSink* next) { return sink.exchange(next, std::memory_order_acq_rel); }

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Scope::begin(std::string_view category, std::string_view name, std::string_view detail, Location location) {
  span_ = {.category = category, .name = name, .detail = detail, .location = location, .begin_ns = now_ns()};
}

void Scope::end() {
  span_.end_ns = now_ns();
  if (ProbeSink* const receiver = sink.load(std::memory_order_acquire)) receiver->span(span_);
}

}  // namespace hone::probe
