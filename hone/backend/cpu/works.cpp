#include "hone/compiler/works.h"

#include "hone/backend/cpu/isa.h"
#include "hone/backend/cpu/scratch.h"
#include "hone/base/parallel.h"

namespace hone {
namespace {

constexpr int64_t kAlign = 64;

int64_t aligned(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

}  // namespace

void run_works(const KernelCall& call) { run_works(call, kernels().works); }

void run_works(const KernelCall& call, const math::WorkFn* functions) {
  const auto& works = *static_cast<const Works*>(call.prepared);
  SmallVector<int64_t, 4> offsets;
  int64_t bytes = 0;
  for (const int64_t temporary : works.temporaries) {
    offsets.push_back(bytes);
    bytes += aligned(temporary);
  }
  const Scratch<std::byte> temporaries(bytes);
  for (const Work& work : works.works) {
    SmallVector<std::byte*, 16> memory;
    for (const WorkMemory& m : work.memory) {
      const auto index = static_cast<size_t>(m.index);
      std::byte* const base = m.kind == WorkMemory::Input    ? call.inputs[index].mutable_bytes()
                              : m.kind == WorkMemory::Output ? call.outputs[index].mutable_bytes()
                                                             : temporaries.data() + offsets[index];
      memory.push_back(base + m.offset);
    }
    const math::WorkFn function = functions[static_cast<int>(work.function)];
    parallel_for(
        work.count, work.grain,
        [&](int64_t begin, int64_t end) {
          const Scratch<std::byte> scratch(work.scratch);
          function({work.params.data(), memory.data(), scratch.data(), nullptr}, begin, end);
        },
        1);
  }
}

}  // namespace hone
