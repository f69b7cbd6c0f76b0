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
  std::vector<uint8_t> kept;   ///< bytes of an element of each value that is kept from one loop over a row to the next
  uint64_t splats = 0;         ///< of a cluster that reduces rows, those with one element for each row
  int64_t rows = 0;
  int64_t length = 1;  ///< of a row; 1 where nothing is reduced

  /// Of a cluster's body.
  explicit MapDescription(const ir::Graph& body);
  /// Of one elementwise call or conversion, or of a cluster.
  explicit MapDescription(const KernelQuery& query);

  int32_t operands() const { return static_cast<int32_t>(types.size() - steps.size()); }
  /// Refers to this.
  codegen::MapProgram program(codegen::Level level) const;

 private:
  void plan_phases(const std::vector<bool>& approximate);
};

}  // namespace hone::compiler
