#include "hone/backend/cpu/fusion_partials.h"

#include <algorithm>
#include <cstring>

#include "hone/backend/cpu/isa.h"
#include "hone/backend/cpu/reduction.h"
#include "hone/compiler/row_space.h"

namespace hone {
namespace {

int64_t parts_of(const FusionProgram& program) {
  const int64_t size = compiler::of_columns(program.fold) ? math::kReduceRows : math::kReduceBlock;
  return (program.fold.extent + size - 1) / size;
}

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

int64_t Partials::bytes_of(const FusionProgram& program) {
  int64_t bytes = 0;
  for (const FusionFold& fold : program.folds)
    bytes += aligned(program.fold.outer * parts_of(program) * fold.elements * fold.item);
  return bytes;
}

Partials::Partials(const FusionProgram& program)
    : program_(program), parts_(parts_of(program)), memory_(bytes_of(program)) {
  int64_t offset = 0;
  for (const FusionFold& fold : program.folds) {
    offsets_.push_back(offset);
    offset += aligned(blocks() * fold.elements * fold.item);
  }
}

Partials::Rows Partials::rows_of(int64_t block) const {
  if (!compiler::of_columns(program_.fold)) return {block, block + 1};
  const int64_t extent = program_.fold.extent, group = block / parts_ * extent,
                first = block % parts_ * math::kReduceRows;
  return {group + first, group + std::min(first + math::kReduceRows, extent)};
}

void Partials::start(int64_t block, int64_t column, int64_t n) const {
  for (size_t i = 0; i < program_.folds.size(); ++i) {
    const FusionFold& fold = program_.folds[i];
    fill_identity(fold.kind, compute_type(fold.dtype), of(static_cast<int>(i), block) + column * fold.item, n);
  }
}

void Partials::finish(const KernelCall& call) const {
  for (size_t i = 0; i < program_.folds.size(); ++i) {
    const FusionFold& fold = program_.folds[i];
    const int64_t bytes = fold.elements * fold.item;
    const auto type = static_cast<int>(compute_type(fold.dtype));
    const math::ReduceKernels& kernel = kernels().reduce[fold.kind][type];
    std::byte* const result = call.outputs[static_cast<size_t>(fold.output)].mutable_bytes();
    for (int64_t group = 0; group < program_.fold.outer; ++group) {
      std::byte* const part = of(static_cast<int>(i), group * parts_);
      for (int64_t step = 1; step < parts_; step *= 2) {  // neighbours first
        for (int64_t k = 0; k + step < parts_; k += 2 * step)
          kernel.combine(part + k * bytes, part + (k + step) * bytes, fold.elements);
      }
      if (type == static_cast<int>(fold.dtype)) {
        std::memcpy(result + group * bytes, part, static_cast<size_t>(bytes));
        continue;
      }
      const auto item = static_cast<int64_t>(size_of(fold.dtype));
      const math::TileArgs args{{part, nullptr, nullptr}, result + group * fold.elements * item, {}};
      kernels().convert[type][static_cast<int>(fold.dtype)](args, 0, fold.elements);
    }
  }
}

}  // namespace hone
