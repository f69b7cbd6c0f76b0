// hone doctor
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <atomic>

#include "hone/base/parallel.h"
#include "hone/base/probe.h"
#include "hone/cli/isa_peak.h"
#include "hone/cli/machine.h"
#include "hone/cli/output.h"
#include "hone/cli/verbs.h"
#include "hone/ops/contraction.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/register.h"

namespace hone::cli {
namespace {

struct Arguments {
  bool json = false, quick = false;
};

struct Speed {
  double peak_gflops = 0;    ///< multiply-adds in registers, all threads
  double matmul_gflops = 0;  ///< f32 1024 x 1024 x 1024
  double add_gbytes = 0;     ///< c = a + b of 64 MiB each: bytes read and written
};

// Best rate of repetitions within the time: others on the machine disturb single ones.
template <class F>
double best_rate(double seconds, F run) {
  double best = 0;
  const int64_t end = probe::now_ns() + static_cast<int64_t>(seconds * 1e9);
  do {
    const int64_t begin = probe::now_ns();
    const double work = run();
    best = std::max(best, work / static_cast<double>(std::max<int64_t>(probe::now_ns() - begin, 1)));
  } while (probe::now_ns() < end);
  return best;
}

Speed measure(double seconds) {
  Speed speed;
  const PeakLevel level = peak_level();
  speed.peak_gflops = best_rate(seconds * 0.3, [&] {
    const int parts = threads();
    std::atomic<double> work{0};
    parallel_tasks(parts, [&](int64_t) { work.fetch_add(multiply_adds_in_registers(level, 2'000'000)); });
    return work.load();
  });
  constexpr int64_t kSize = 1024;
  const Tensor a = random::uniform(random::state(1), {kSize, kSize}).second,
               b = random::uniform(random::state(2), {kSize, kSize}).second;
  matmul(a, b);
  speed.matmul_gflops = best_rate(seconds * 0.4, [&] {
    matmul(a, b);
    return 2.0 * kSize * kSize * kSize;
  });
  constexpr int64_t kCount = int64_t{16} << 20;
  const Tensor x = cast(iota({kCount}, 0), f32), y = x * 0.5f;
  x + y;
  speed.add_gbytes = best_rate(seconds * 0.3, [&] {
    x + y;
    return 3.0 * kCount * 4;
  });
  return speed;
}

void print_text(const Machine& machine, const Speed& speed, bool quick) {
  std::vector<std::vector<std::string>> rows{{"CPU", machine.cpu}};
  std::string have, lack;
  for (const Feature& feature : machine.features) (feature.present ? have : lack) += " " + std::string(feature.name);
  rows.push_back({"features", have.empty() ? "none beyond SSE4.2" : have.substr(1)});
  rows.push_back({"own kernels", fmt::format("x86-64-{}", instruction_set())});
  rows.push_back({"CPUs", fmt::format("{} in the machine, {} by affinity, {}", machine.online, machine.affinity,
                                      machine.quota > 0 ? fmt::format("{:.2f} by the cgroup's quota", machine.quota)
                                                        : "no cgroup quota")});
  rows.push_back({"threads", fmt::format("{} (budget {}; set HONE_NUM_THREADS to change)", threads(), cpu_budget())});
  rows.push_back({"memory", fmt::format("{}, available {}{}", bytes_text(static_cast<double>(machine.memory)),
                                        bytes_text(static_cast<double>(machine.available)),
                                        machine.memory_limit > 0
                                            ? ", cgroup limit " + bytes_text(static_cast<double>(machine.memory_limit))
                                            : "")});
  std::string versions;
  for (const Dependency& each : dependencies())
    versions += (versions.empty() ? "" : ", ") + each.name + " " + each.version;
  rows.push_back({"libraries", versions});
  if (!quick) {
    rows.push_back({"peak", fmt::format("{:.0f} GFLOP/s ({} in registers, {} threads)", speed.peak_gflops,
                                        name(peak_level()), threads())});
    rows.push_back({"matmul 1024", fmt::format("{:.0f} GFLOP/s, {:.0f}% of the peak", speed.matmul_gflops,
                                               100 * speed.matmul_gflops / speed.peak_gflops)});
    rows.push_back({"add 64 MiB", fmt::format("{:.1f} GB/s read and written", speed.add_gbytes)});
  }
  print(table(rows, {false, false}));
  for (const Feature& feature : machine.features) {
    if (!feature.present) print(fmt::format("lacks {}: {}", feature.name, feature.serves));
  }
}

void print_json(const Machine& machine, const Speed& speed, bool quick) {
  Config::Table features, libraries;
  for (const Feature& feature : machine.features) features.emplace_back(std::string(feature.name), feature.present);
  for (const Dependency& each : dependencies()) libraries.emplace_back(each.name, each.version);
  Config::Table out{{"hone", HONE_VERSION},
                    {"cpu", machine.cpu},
                    {"features", std::move(features)},
                    {"instruction_set", instruction_set()}};
  out.emplace_back("cpus", Config::Table{{"online", machine.online},
                                         {"affinity", machine.affinity},
                                         {"quota", machine.quota > 0 ? Config(machine.quota) : Config()}});
  out.emplace_back("threads", threads());
  out.emplace_back("thread_budget", cpu_budget());
  out.emplace_back("memory",
                   Config::Table{{"total", static_cast<int64_t>(machine.memory)},
                                 {"available", static_cast<int64_t>(machine.available)},
                                 {"limit", machine.memory_limit > 0 ? Config(static_cast<int64_t>(machine.memory_limit))
                                                                    : Config()}});
  out.emplace_back("libraries", std::move(libraries));
  if (!quick) {
    out.emplace_back("speed", Config::Table{{"peak_gflops", speed.peak_gflops},
                                            {"matmul_1024_gflops", speed.matmul_gflops},
                                            {"matmul_share_of_peak", speed.matmul_gflops / speed.peak_gflops},
                                            {"add_gb_per_s", speed.add_gbytes}});
  }
  cli::print_json(std::move(out));
}

int doctor(const Arguments& arguments) {
  const Machine machine = inspect_machine();
  Speed speed;
  if (!arguments.quick) {
    note("measuring for 5 seconds");
    speed = measure(5);
  }
  if (arguments.json)
    print_json(machine, speed, arguments.quick);
  else
    print_text(machine, speed, arguments.quick);
  return kOk;
}

}  // namespace

void add_doctor(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("doctor", "What this machine offers and how fast it is");
  verb->add_flag("--json", arguments->json, "Print one JSON object");
  verb->add_flag("--quick", arguments->quick, "No measurement");
  verb->footer(
      "Shows CPU features and the kernels they enable, memory, the thread budget (affinity, cgroup), versions of\n"
      "libraries, and measures for 5 seconds: matmul against this machine's peak, and memory bandwidth.\n\n"
      "Examples:\n  hone doctor\n  hone doctor --json\n  HONE_ISA=v2 hone doctor --quick");
  verb->callback([arguments, &exit_code] { exit_code = doctor(*arguments); });
}

}  // namespace hone::cli
