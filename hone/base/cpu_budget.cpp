#include <sched.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "hone/base/parallel.h"

namespace hone {
namespace {

constexpr int kUnlimited = 1 << 20;

int affinity() {
  for (int cpus = 1024; cpus <= (1 << 20); cpus *= 4) {  // the kernel refuses a mask smaller than its own
    const size_t bytes = CPU_ALLOC_SIZE(cpus);
    std::vector<unsigned long> mask(bytes / sizeof(unsigned long));
    auto* const set = reinterpret_cast<cpu_set_t*>(mask.data());
    if (sched_getaffinity(0, bytes, set) == 0) return std::max(1, CPU_COUNT_S(bytes, set));
  }
  return 1;
}

int cpus_of(double quota, double period) {
  if (!(quota > 0) || !(period > 0)) return kUnlimited;
  const auto whole = static_cast<int64_t>(std::min(quota / period, double{kUnlimited}));
  const bool more = static_cast<double>(whole) * period < quota;
  return static_cast<int>(std::min<int64_t>(whole + more, kUnlimited));
}

/// cgroup v2: "max 100000" or "150000 100000".
int limit_v2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  double quota = 0, period = 0;
  return file >> quota >> period ? cpus_of(quota, period) : kUnlimited;
}

/// cgroup v1: a quota of -1 is none.
int limit_v1(const std::string& folder) {
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us"), period_file(folder + "/cpu.cfs_period_us");
  double quota = 0, period = 0;
  return quota_file >> quota && period_file >> period ? cpus_of(quota, period) : kUnlimited;
}

/// The least limit from a group up to the root. In a container the path may not exist: its root then holds the limit.
template <class Limit>
int least(const std::string& mount, std::string path, Limit limit) {
  int result = limit(mount);
  while (path.size() > 1) {
    result = std::min(result, limit(mount + path));
    path.resize(path.find_last_of('/'));
  }
  return result;
}

int cgroup() {
  int result = kUnlimited;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // "0::/path" (v2) or "4:cpu,cpuacct:/path" (v1)
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (controllers.empty()) {
      result =
          std::min({result, least("/sys/fs/cgroup", path, limit_v2), least("/sys/fs/cgroup/unified", path, limit_v2)});
    } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      result = std::min({result, least("/sys/fs/cgroup/" + controllers, path, limit_v1),
                         least("/sys/fs/cgroup/cpu", path, limit_v1)});
    }
  }
  return result;
}

}  // namespace

int cpu_budget() { return std::max(1, std::min(affinity(), cgroup())); }

}  // namespace hone
