#include "hone/profile/op_profile.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone {
namespace {

// A caller with more direct callees than this (a training step) is no op, so nobody misses the oldest ones.
constexpr size_t kMostOpen = 4096;

}  // namespace

// Spans arrive when they end, so those that began inside this one are its callees and stand at the end of the list.
int64_t OpProfile::self_ns(const Span& span) {
  std::vector<Open>& open = open_[std::this_thread::get_id()];
  int64_t inner = 0;
  while (!open.empty() && open.back().begin_ns >= span.begin_ns) {
    inner += open.back().end_ns - open.back().begin_ns;
    open.pop_back();
  }
  if (open.size() >= kMostOpen) open.erase(open.begin(), open.begin() + kMostOpen / 2);
  open.push_back({span.begin_ns, span.end_ns});
  return std::max<int64_t>(span.end_ns - span.begin_ns - inner, 0);
}

void OpProfile::span(const Span& span) {
  if (span.category != "op") return;
  const std::lock_guard lock(mutex_);
  const int64_t self = self_ns(span);
  OpTime& time = times_[{std::string(span.name), std::string(span.detail)}];
  time.op = span.name;
  time.kernel = span.detail;
  ++time.calls;
  time.seconds += static_cast<double>(self) * 1e-9;
  time.flops += span.flops;
  time.bytes += span.bytes;
}

void OpProfile::allocation(int64_t bytes, size_t in_use) {
  const std::lock_guard lock(mutex_);
  allocated_ += std::max<int64_t>(bytes, 0);
  peak_ = std::max(peak_, in_use);
}

std::vector<OpTime> OpProfile::slowest(int64_t count) const {
  const std::lock_guard lock(mutex_);
  std::vector<OpTime> all;
  for (const auto& [key, time] : times_) all.push_back(time);
  std::ranges::stable_sort(all, std::greater(), &OpTime::seconds);
  if (count >= 0 && static_cast<size_t>(count) < all.size()) all.resize(static_cast<size_t>(count));
  return all;
}

double OpProfile::seconds() const {
  const std::lock_guard lock(mutex_);
  double total = 0;
  for (const auto& [key, time] : times_) total += time.seconds;
  return total;
}

int64_t OpProfile::allocated_bytes() const {
  const std::lock_guard lock(mutex_);
  return allocated_;
}
size_t OpProfile::peak_bytes() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

std::string OpProfile::table(int64_t count) const {
  const std::vector<OpTime> rows = slowest(count);
  const double all = seconds();
  size_t op = 2, kernel = 6;
  for (const OpTime& row : rows) op = std::max(op, row.op.size()), kernel = std::max(kernel, row.kernel.size());
  std::string text = fmt::format("{:<{}}  {:<{}}  {:>8}  {:>10}  {:>6}  {:>8}  {:>7}\n", "op", op, "kernel", kernel,
                                 "calls", "ms", "share", "GFLOP/s", "GB/s");
  for (const OpTime& row : rows) {
    const double rate = row.seconds > 0 ? 1e-9 / row.seconds : 0;
    text += fmt::format("{:<{}}  {:<{}}  {:>8}  {:>10.1f}  {:>5.1f}%  {:>8.1f}  {:>7.1f}\n", row.op, op, row.kernel,
                        kernel, row.calls, row.seconds * 1e3, all > 0 ? 100 * row.seconds / all : 0, row.flops * rate,
                        row.bytes * rate);
  }
  return text;
}

}  // namespace hone
