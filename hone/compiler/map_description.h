// A cluster of elementwise calls as the code generator takes it.
#pragma once
#include <span>
#include <vector>

#include "hone/compiler/codegen.h"
#include "hone/ir/graph.h"
#include "hone/ops/kernel.h"

namespace hone::compiler {

struct MapDescription {
  std::vector<int32_t> types, results;  ///< as MapProgram's
  std::vector<codegen::MapStep> steps;
  std::vector<uint8_t> items;  ///< bytes of an element: operands, then results
  uint64_t splats = 0;

  /// Of a cluster's body.
  explicit MapDescription(const ir::Graph& body);
  /// Of one elementwise call or conversion, or of a cluster.
  explicit MapDescription(const KernelQuery& query);

  int32_t operands() const { return static_cast<int32_t>(types.size() - steps.size()); }
  /// Refers to this.
  codegen::MapProgram program(codegen::Level level) const;
};

}  // namespace hone::compiler
