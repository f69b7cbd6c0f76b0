// From recorded programs to calls of the ops that carry them. Internal to control flow.
#pragma once
#include <vector>

#include "hone/function/program_recorder.h"
#include "hone/ops/attrs.h"

namespace hone::control_detail {

/// Error kInvalidArgument unless the first `carried` results have the types of the carry.
void check_carry(const char* name, std::span<const Tensor> carry, std::span<const Tensor> results, size_t carried,
                 Location location);
std::vector<Tensor> call_region(const Op& op, AttrRef attrs, std::vector<Tensor> inputs, size_t results,
                                Location location);

/// Gives the programs of a loop one list of operands: carries, variables that they assign, rows, what they captured.
class Closer {
 public:
  Closer(size_t carries, const Assigned& assigned) : carries_(carries), assigned_(assigned), before_(assigned.size()) {}
  void add(const ProgramRecorder& recorder);
  std::shared_ptr<const Region> close(const ir::Graph& graph, const ProgramRecorder& recorder);
  std::span<const Tensor> captured() const { return captures_.tensors(); }
  /// Of the variables, before the loop.
  std::span<const Tensor> before() const { return before_; }
  std::vector<Tensor> operands(std::span<const Tensor> carry, std::span<const Tensor> rows) const;

 private:
  size_t carries_;
  const Assigned& assigned_;
  std::vector<Tensor> before_;
  ir::Captures captures_;
};

}  // namespace hone::control_detail
