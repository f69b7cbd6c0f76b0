#include "hone/ops/kernel.h"

#include <array>

#include "hone/ops/table.h"

namespace hone {
namespace {

std::array<std::vector<Kernel>, static_cast<size_t>(OpId::kCount)>& lists() {
  static auto* instance = new std::array<std::vector<Kernel>, static_cast<size_t>(OpId::kCount)>;
  return *instance;
}
thread_local const char* last = "";

}  // namespace

std::span<const Kernel> kernels(const Op& op) { return lists()[static_cast<size_t>(op.index)]; }

void add_kernels(const Op& op, std::initializer_list<Kernel> kernels) {
  auto& list = lists()[static_cast<size_t>(op.index)];
  list.insert(list.end(), kernels);
}

std::string explain_kernels(const KernelQuery& query) {
  std::string text;
  bool taken = false;
  for (const Kernel& kernel : kernels(query.op)) {
    const char* reason = kernel.refuses ? kernel.refuses(query) : nullptr;
    text += std::string(kernel.name) + ": " + (reason ? reason : taken ? "would take it too" : "takes it") + "\n";
    taken = taken || !reason;
  }
  return text;
}

const char* last_kernel() { return last; }
void set_last_kernel(const char* name) { last = name; }

}  // namespace hone
