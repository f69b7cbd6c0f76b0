#include "hone/cli/machine.h"

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.h>
#include <sched.h>
#include <spng.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace hone::cli {
namespace {

// The text after "key:" of the first such line.
std::string value_in(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const size_t at = line.find_first_not_of(" \t:", key.size());
    return at == std::string::npos ? std::string() : line.substr(at);
  }
  return {};
}

uint64_t kilobytes(const char* key) {
  return std::strtoull(value_in("/proc/meminfo", key).c_str(), nullptr, 10) * 1024;
}

// The cgroup's folder of version 2, and the root for those who see only their own.
std::vector<std::string> cgroup_folders() {
  std::vector<std::string> folders;
  for (std::string path = value_in("/proc/self/cgroup", "0:"); !path.empty(); path.resize(path.rfind('/'))) {
    folders.push_back("/sys/fs/cgroup" + path);
    if (path.rfind('/') == std::string::npos) break;
  }
  folders.push_back("/sys/fs/cgroup");
  return folders;
}

uint64_t cgroup_memory() {
  uint64_t least = 0;
  for (const std::string& folder : cgroup_folders()) {
    uint64_t limit = 0;
    if (std::ifstream(folder + "/memory.max") >> limit && (least == 0 || limit < least)) least = limit;
  }
  return least;
}

double cgroup_quota() {
  double least = 0;
  for (const std::string& folder : cgroup_folders()) {
    double quota = 0, period = 0;
    if (std::ifstream(folder + "/cpu.max") >> quota >> period && period > 0 && (least == 0 || quota / period < least))
      least = quota / period;
  }
  return least;
}

int affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                     : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

std::vector<Feature> features() {
  __builtin_cpu_init();
  const std::string flags = " " + value_in("/proc/cpuinfo", "flags") + " ";
  const auto has = [&](const char* flag) { return flags.find(fmt::format(" {} ", flag)) != std::string::npos; };
  return {
      {"AVX2", __builtin_cpu_supports("avx2") != 0, "256-bit kernels (v3); without it 128-bit ones (v2)"},
      {"FMA", __builtin_cpu_supports("fma") != 0,
       "multiply-adds of products in one instruction; without it the same bits, slowly"},
      {"F16C", has("f16c"), "conversion of float16 in hardware"},
      {"AVX512",
       __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"),
       "512-bit kernels (v4); without it 256-bit ones (v3)"},
      {"AVX512_VNNI", __builtin_cpu_supports("avx512vnni") != 0,
       "int8 products; without it they run in wider integers"},
      {"AVX512_BF16", has("avx512_bf16"), "bfloat16 products; without it they are computed in f32"},
      {"AMX_BF16", has("amx_bf16"), "bfloat16 matrix tiles in oneDNN"}};
}

}  // namespace

Machine inspect_machine() {
  Machine machine;
  machine.cpu = value_in("/proc/cpuinfo", "model name");
  if (machine.cpu.empty()) machine.cpu = "unknown";
  machine.online = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  machine.affinity = affinity();
  machine.quota = cgroup_quota();
  machine.memory = kilobytes("MemTotal");
  machine.available = kilobytes("MemAvailable");
  machine.memory_limit = cgroup_memory();
  if (machine.memory_limit >= machine.memory) machine.memory_limit = 0;
  machine.features = features();
  return machine;
}

std::vector<Dependency> dependencies() {
  const dnnl_version_t* onednn = dnnl_version();
  const unsigned hash = XXH_versionNumber();
  return {{"oneDNN", fmt::format("{}.{}.{}", onednn->major, onednn->minor, onednn->patch)},
          {"zlib", zlibVersion()},
          {"spng", spng_version_string()},
          {"xxhash", fmt::format("{}.{}.{}", hash / 10000, hash / 100 % 100, hash % 100)},
          {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)}};
}

}  // namespace hone::cli
