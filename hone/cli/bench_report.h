// Timing of benchmarks and the document they print (bench/peers/README.md has the schema).
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "hone/base/config.h"

namespace hone::cli {

struct BenchOptions {
  std::string suite;
  std::string mode;  ///< of modes.h
  std::string dtype = "f32";
  bool unfrozen = false;  ///< modes graph and jit: inference by the model as it is
  bool portable = false;  ///< settings.reproducible = Portable
  bool profile = false;   ///< print the slowest ops of a step
  int threads = 2;
  std::string only;
  double seconds = 4;
  int64_t calls = 1000000;  ///< suite rt
  int64_t hash_after = 0;   ///< training: hashes after this many steps instead of times; 0: times
};

/// Runs steps for a while each and keeps their times.
class BenchReport {
 public:
  explicit BenchReport(BenchOptions options) : options_(std::move(options)) {}
  const BenchOptions& options() const { return options_; }
  bool wants(const std::string& name) const { return name.find(options_.only) != std::string::npos; }
  /// Further keys of a result, asked for once its times are taken.
  using Extra = std::function<Config::Table()>;
  /// Calls step() until the time is spent; the first call, which may compile, is reported apart.
  void time(const std::string& name, const std::function<void()>& step, const Extra& extra = {});
  /// Something that takes nanoseconds: time per call over many.
  void small(const std::string& name, const std::function<void()>& step, int calls = 1000);
  /// A step that loops: time per iteration.
  void loop(const std::string& name, const std::function<void()>& step, int64_t iterations);
  /// A result that was measured elsewhere.
  void add(Config::Table result) { results_.emplace_back(std::move(result)); }
  Config document() const;
  /// A table for people.
  std::string table() const;

 private:
  void measure(const std::string& name, const std::string& unit, double scale, const std::function<void()>& step,
               const Extra& extra);
  BenchOptions options_;
  Config::Array results_;
};

void bench_ops(BenchReport& report);
void bench_kernels(BenchReport& report);
/// The floors of w7's kernels on this machine, on one thread.
void bench_kernel_floors(BenchReport& report);
/// Real-time calls: median and 99.99th percentile of single calls.
void bench_rt(BenchReport& report);
/// What calling and recording functions costs.
void bench_dispatch(BenchReport& report);
/// w1 to w6, w4l, r50.
void bench_network(const std::string& suite, BenchReport& report);

}  // namespace hone::cli
