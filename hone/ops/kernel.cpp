#include "hone/ops/kernel.h"

#include <array>
#include <atomic>
#include <chrono>

#include "hone/ops/table.h"

namespace hone {
namespace {

std::array<std::vector<Kernel>, static_cast<size_t>(OpId::kCount)>& lists() {
  static auto* instance = new std::array<std::vector<Kernel>, static_cast<size_t>(OpId::kCount)>;
  return *instance;
}
thread_local const char* last = "";
std::atomic<int64_t> preparing{0};  // ns
int64_t now() { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

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

LibraryPreparation::LibraryPreparation() : begin_(now()) {}
LibraryPreparation::~LibraryPreparation() { preparing += now() - begin_; }
double library_preparation_seconds() { return static_cast<double>(preparing) * 1e-9; }

const char* last_kernel() { return last; }
void set_last_kernel(const char* name) { last = name; }

}  // namespace hone
