// Facts about this machine, for `hone doctor`.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone::cli {

struct Feature {
  std::string_view name;  ///< "AVX512_BF16"
  bool present = false;
  std::string_view serves;  ///< what it is good for, and what happens without it
};

struct Machine {
  std::string cpu;            ///< "AMD EPYC 9B14"
  int online = 0;             ///< logical CPUs of the machine
  int affinity = 0;           ///< that this process may run on
  double quota = 0;           ///< CPUs by the cgroup's quota; 0 = none
  uint64_t memory = 0;        ///< bytes of the machine
  uint64_t available = 0;     ///< of these free or reclaimable
  uint64_t memory_limit = 0;  ///< by the cgroup; 0 = none
  std::vector<Feature> features;
};
Machine inspect_machine();

struct Dependency {
  std::string name, version;
};
/// The libraries in use, with the versions that run (not those of the headers).
std::vector<Dependency> dependencies();

}  // namespace hone::cli
