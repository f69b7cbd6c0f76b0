// `hone bench SUITE`: the workloads of bench/peers/README.md.
#include <fmt/format.h>
#include <sched.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "hone/base/error.h"
#include "hone/base/parallel.h"
#include "hone/base/settings.h"
#include "hone/cli/bench_report.h"
#include "hone/cli/modes.h"
#include "hone/cli/output.h"
#include "hone/cli/verbs.h"

namespace hone::cli {
namespace {

// As the peers do: the process may use the first n of its CPUs.
void limit_cpus(int count) {
  cpu_set_t allowed, chosen;
  CPU_ZERO(&allowed);
  CPU_ZERO(&chosen);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  for (int cpu = 0, taken = 0; cpu < CPU_SETSIZE && taken < count; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    CPU_SET(cpu, &chosen);
    ++taken;
  }
  sched_setaffinity(0, sizeof chosen, &chosen);
}

void check(const BenchOptions& options) {
  if (options.dtype != "f32") {
    throw Error(Code::kUnsupported,
                fmt::format("dtype '{}' is not served by the benchmarks of this version", options.dtype),
                "use --dtype f32");
  }
  static constexpr std::string_view kTrained[] = {"w1", "w2", "w3", "w4", "w5", "w6"};
  if (options.hash_after > 0 && std::ranges::find(kTrained, options.suite) == std::end(kTrained)) {
    throw Error(Code::kInvalidArgument,
                fmt::format("--hash-after is of training steps, suite {} takes none", options.suite),
                "choose one of w1 to w6");
  }
}

void run(BenchOptions options, bool json) {
  check(options);
  options.mode = chosen_mode(options.mode);
  limit_cpus(options.threads);
  set_threads(options.threads);
  if (options.portable) settings.reproducible = Reproducible::Portable;
  BenchReport report(options);
  if (options.suite == "ops")
    bench_ops(report);
  else if (options.suite == "dispatch")
    bench_dispatch(report);
  else if (options.suite == "rt")
    bench_rt(report);
  else if (options.suite == "w7")
    bench_kernels(report);
  else
    bench_network(options.suite, report);
  std::fputs(json ? (to_json(report.document()) + "\n").c_str() : report.table().c_str(), stdout);
}

}  // namespace

void add_bench(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<BenchOptions>();
  auto json = std::make_shared<bool>(false);
  CLI::App* verb = app.add_subcommand(
      "bench",
      "time a workload: ops (small operations), dispatch (calls of functions), w1 to w6 (networks), w4l and r50 (large "
      "networks, inference), w7 (kernels), rt (real-time calls)");
  verb->add_option("SUITE", options->suite, "ops, dispatch, w1, w2, w3, w4, w4l, w5, w6, w7, r50 or rt")
      ->required()
      ->check(CLI::IsMember({"ops", "dispatch", "w1", "w2", "w3", "w4", "w4l", "w5", "w6", "w7", "r50", "rt"}));
  verb->add_option("--mode", options->mode,
                   "eager; graph: steps and kernels as a function(), inference by a frozen model; jit: the same, whose "
                   "first call waits for machine code")
      ->check(CLI::IsMember({kEager, kGraph, kJit}))
      ->default_str("jit, or graph without a code generator");
  verb->add_flag("--no-freeze", options->unfrozen, "modes graph and jit: infer by the model as it is");
  verb->add_flag("--portable", options->portable, "settings.reproducible = Portable: the same bits on any x86-64");
  verb->add_option("--dtype", options->dtype, "f32")->capture_default_str();
  verb->add_option("--calls", options->calls, "suite rt: how many calls")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000000));
  verb->add_option("--threads", options->threads, "threads and CPUs to use")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  verb->add_option("--only", options->only, "only results whose name contains this");
  verb->add_option("--seconds", options->seconds, "time to spend on each result")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  verb->add_flag("--profile", options->profile, "print the slowest ops of each step on stderr (w1 to w6, w4l, r50)");
  verb->add_option("--hash-after", options->hash_after,
                   "take so many training steps (w1 to w6) and print hashes of all weights and of the outputs, for "
                   "comparing machines, modes and thread counts with --portable")
      ->check(CLI::Range(1, 1000000));
  verb->add_flag("--json", *json, "one JSON document on stdout");
  verb->footer("Examples:\n  hone bench w3 --threads 2\n  hone bench w1 --only infer --seconds 1 --json");
  verb->callback([=, &exit_code] {
    try {
      run(*options, *json);
      exit_code = kOk;
    } catch (...) {
      exit_code = report_exception();
    }
  });
}

}  // namespace hone::cli
