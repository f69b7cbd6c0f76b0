// What a cluster that folds results (compiler::folded) leaves block by block, and the tree over it.
#pragma once
#include "hone/backend/cpu/fusion_program.h"
#include "hone/backend/cpu/scratch.h"
#include "hone/ops/kernel.h"

namespace hone {

/// Partial results of one run. Blocks are those of math/reduce_kernels.h: kReduceRows rows of one group of columns, or
/// one row of kReduceBlock elements.
class Partials {
 public:
  explicit Partials(const FusionProgram& program);

  int64_t blocks() const { return program_.fold.outer * parts_; }
  struct Rows {
    int64_t begin, end;
  };
  Rows rows_of(int64_t block) const;
  /// The partial result of a block; those of following blocks follow.
  std::byte* of(int fold, int64_t block) const {
    const auto index = static_cast<size_t>(fold);
    return memory_.data() + offsets_[index] + block * program_.folds[index].elements * program_.folds[index].item;
  }
  /// Makes columns [column, column + n) of a block, to which rows are added, the identity.
  void start(int64_t block, int64_t column, int64_t n) const;
  /// Folds all into the call's results.
  void finish(const KernelCall& call) const;

 private:
  static int64_t bytes_of(const FusionProgram& program);

  const FusionProgram& program_;
  int64_t parts_;  // blocks of a group
  SmallVector<int64_t, 8> offsets_;
  Scratch<std::byte> memory_;
};

}  // namespace hone
