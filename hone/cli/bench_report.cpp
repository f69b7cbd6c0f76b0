#include "hone/cli/bench_report.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>

#include "hone/cli/machine.h"
#include "hone/profile/op_profile.h"

namespace hone::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// What making the library's primitives takes, summed over threads.
class PrimitiveTime final : public ProbeSink {
 public:
  void span(const Span& span) override {
    if (span.category == "library") ns_ += span.end_ns - span.begin_ns;
  }
  void allocation(int64_t, size_t) override {}
  double seconds() const { return static_cast<double>(ns_) * 1e-9; }

 private:
  std::atomic<int64_t> ns_{0};
};

}  // namespace

void BenchReport::measure(const std::string& name, const std::string& unit, double scale,
                          const std::function<void()>& step, const Extra& extra) {
  constexpr size_t kFewest = 5;
  PrimitiveTime primitives;
  double first = 0;
  {
    const ProbeScope probe(primitives);
    const auto begin = Clock::now();
    step();
    first = seconds(Clock::now() - begin);
  }
  for (int i = 0; i < 3; ++i) step();
  std::vector<double> times;
  const auto end = Clock::now() + std::chrono::duration<double>(options_.seconds);
  while (Clock::now() < end || times.size() < kFewest) {
    const auto start = Clock::now();
    step();
    times.push_back(seconds(Clock::now() - start) * scale);
  }
  Config::Table result{{"name", name},
                       {"unit", unit},
                       {"median", median(times)},
                       {"min", *std::ranges::min_element(times)},
                       {"max", *std::ranges::max_element(times)},
                       {"runs", static_cast<int64_t>(times.size())},
                       {"first_ms", first * 1e3},
                       {"first_library_ms", primitives.seconds() * 1e3}};
  if (extra) {
    const Config::Table further = extra();
    result.insert(result.end(), further.begin(), further.end());
  }
  results_.emplace_back(std::move(result));
  std::fprintf(stderr, "%s: %.4g %s\n", name.c_str(), median(times), unit.c_str());
}

void BenchReport::time(const std::string& name, const std::function<void()>& step, const Extra& extra) {
  if (wants(name)) measure(name, "ms", 1e3, step, extra);
}

void BenchReport::small(const std::string& name, const std::function<void()>& step, int calls) {
  if (!wants(name)) return;
  measure(name, "ns", 1e9 / calls,
          [&] {
            for (int i = 0; i < calls; ++i) step();
          },
          {});
}

void BenchReport::loop(const std::string& name, const std::function<void()>& step, int64_t iterations) {
  if (wants(name)) measure(name, "ns", 1e9 / static_cast<double>(iterations), step, {});
}

Config BenchReport::document() const {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return Config::Table{{"schema", "hone.bench/1"},
                       {"system", "hone"},
                       {"version", HONE_VERSION},
                       {"suite", options_.suite},
                       {"mode", options_.mode},
                       {"dtype", options_.dtype},
                       {"threads", options_.threads},
                       {"machine", inspect_machine().cpu},
                       {"peak_rss_bytes", static_cast<int64_t>(usage.ru_maxrss) * 1024},
                       {"results", results_}};
}

std::string BenchReport::table() const {
  std::string text;
  if (options_.hash_after == 0) {
    text = fmt::format("{:<24}{:>12}{:>12}{:>12}  {:<4}{:>8}{:>12}{:>12}{:>12}\n", "result", "median", "min", "max",
                       "unit", "runs", "cold ms", "primitives", "library");
  }
  for (const Config& result : results_) {
    const Config* share = result.find("library_share");
    const std::string& unit = result.find("unit")->as_string();
    if (unit == "hash") {
      text += fmt::format("{:<24}weights {}  outputs {}\n", result.find("name")->as_string(),
                          result.find("weights")->as_string(), result.find("outputs")->as_string());
      continue;
    }
    const double median = result.find("median")->as_number();
    // What the first call takes beyond a steady one: recording, compiling, first touch; making the library's primitives
    // beside it.
    const Config* made = result.find("first_library_ms");
    const double primitives = made ? made->as_number() : 0;
    const std::string cold =
        unit == "ms" ? fmt::format("{:.3g}", result.find("first_ms")->as_number() - median - primitives) : "";
    text += fmt::format("{:<24}{:>12.4g}{:>12.4g}{:>12.4g}  {:<4}{:>8}{:>12}{:>12}{:>12}\n",
                        result.find("name")->as_string(), median, result.find("min")->as_number(),
                        result.find("max")->as_number(), unit, result.find("runs")->as_integer(), cold,
                        unit == "ms" && primitives > 0 ? fmt::format("{:.3g}", primitives) : "",
                        share ? fmt::format("{:.0f} %", share->as_number() * 100) : "");
    if (const Config* tail = result.find("p9999"))
      text += fmt::format("{:<24}{:>12.4g}\n", "  p99.99", tail->as_number());
  }
  return text;
}

}  // namespace hone::cli
