// What a kernel does as works (compiler/works.h) has the bits of the kernel, at every instruction-set level and for any
// split. Works that run machine code are left to tests/object.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include "hone/backend/cpu/isa.h"
#include "hone/base/error.h"
#include "hone/base/settings.h"
#include "hone/compiler/works.h"
#include "hone/ops/creation.h"
#include "hone/ops/kernel.h"
#include "tests/conformance/cases.h"

namespace hone::conformance {
namespace {

using Bytes = std::vector<std::byte>;

struct Portable {
  Portable() : before(settings.reproducible) { settings.reproducible = Reproducible::Portable; }
  ~Portable() { settings.reproducible = before; }
  Reproducible before;
};

// As an object runs them; above 0, loops in parts of so many items, the last part first.
void run_in_parts(const KernelCall& call, const Works& works, const math::WorkFn* functions, int64_t items) {
  std::vector<Bytes> temporaries;
  for (const int64_t bytes : works.temporaries) temporaries.emplace_back(static_cast<size_t>(bytes) + 64);
  for (const Work& work : works.works) {
    std::vector<std::byte*> memory;
    for (const WorkMemory& m : work.memory) {
      const auto index = static_cast<size_t>(m.index);
      memory.push_back((m.kind == WorkMemory::Input    ? call.inputs[index].mutable_bytes()
                        : m.kind == WorkMemory::Output ? call.outputs[index].mutable_bytes()
                                                       : temporaries[index].data()) +
                       m.offset);
    }
    Bytes scratch(static_cast<size_t>(work.scratch) + 64);
    void* aligned = scratch.data();
    size_t room = scratch.size();
    std::align(64, static_cast<size_t>(work.scratch), aligned, room);
    const int64_t each = items > 0 ? items : work.count;
    for (int64_t part = (work.count + each - 1) / std::max<int64_t>(each, 1); part-- > 0;) {
      functions[static_cast<int>(work.function)](
          {work.params.data(), memory.data(), static_cast<std::byte*>(aligned), nullptr}, part * each,
          std::min(work.count, part * each + each));
    }
  }
}

std::vector<Tensor> empty_results(const std::vector<TensorType>& types) {
  std::vector<Tensor> results;
  for (const TensorType& type : types) results.push_back(Tensor::empty(type));
  return results;
}

// Whether the kernel took the sample and its works ran.
bool expect_works_equal_run(const Case& c, const Kernel& kernel) {
  const std::vector<Tensor> inputs = draw(c);
  const std::vector<TensorType> types = inferred(c, c.sample.inputs);
  const KernelQuery query{c.op, c.sample.attrs, inputs, types};
  if (kernel.refuses && kernel.refuses(query)) return false;
  Works works;
  try {
    works = kernel.works(query);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnsupported) << c.label();
    return false;
  }
  if (std::ranges::any_of(works.works, [](const Work& work) { return work.cluster != nullptr; })) return false;
  const std::shared_ptr<const void> prepared = kernel.prepare ? kernel.prepare(query) : nullptr;
  std::vector<Tensor> expected = empty_results(types);
  KernelCall call{c.op, c.sample.attrs, inputs, expected, prepared.get()};
  const std::shared_ptr<void> state = kernel.make_state ? kernel.make_state(call) : nullptr;
  call.state = state.get();
  kernel.run(call);
  for (const IsaLevel level : kIsaLevels) {
    if (!kernels_at(level)) continue;
    for (const int64_t items : {0, 1, 3}) {
      const std::vector<Tensor> made = empty_results(types);
      run_in_parts({c.op, c.sample.attrs, inputs, made}, works, kernels_at(level)->works, items);
      EXPECT_EQ(difference(made, expected), "")
          << c.label() << " by " << kernel.name << " at " << name(level) << " in parts of " << items;
    }
  }
  return true;
}

TEST(Works, HaveTheBitsOfTheKernelAtEveryLevelAndForAnySplit) {
  const Portable portable;
  zeros({1});  // the first op installs the kernels
  std::set<std::string> seen;
  for (const Case& c : cases()) {
    for (const Kernel& kernel : kernels(c.op)) {
      if (kernel.works && expect_works_equal_run(c, kernel)) seen.insert(kernel.name);
    }
  }
  for (const char* name :
       {"cpu.max_pool", "cpu.avg_pool_grad", "cpu.softmax", "cpu.layer_norm_grad", "cpu.lstm_cell", "cpu.gru_cell",
        "cpu.sgd_update", "cpu.adam_update", "cpu.cross_entropy_grad", "cpu.batch_norm_grad", "cpu.dropout",
        "cpu.philox", "cpu.gather", "cpu.dynamic_update_slice", "cpu.argmax", "portable.contraction", "cpu.reduce"})
    EXPECT_TRUE(seen.contains(name)) << name;
}

}  // namespace
}  // namespace hone::conformance
