// Machine code of clusters: a tier above the tiles. Equal clusters share code, whatever their shapes.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "hone/backend/cpu/isa.h"
#include "hone/backend/cpu/machine_code.h"
#include "hone/compiler/map_description.h"
#include "hone/ir/graph.h"

namespace hone {

/// The code of one cluster at one level, or a wish for it. Thread-safe.
class MapCode final : public MachineCode {
 public:
  /// The one of a cluster (compiler::RowSpace) whose calls have kernels. Bit i of `splats`: operand i is one element;
  /// where rows are reduced, one for each row.
  static std::shared_ptr<MapCode> of(const ir::Graph& body, IsaLevel level = isa_level(), uint64_t splats = 0);

  /// Elements [0, n) of contiguous arrays: the operands, then the results. A result may lie where an operand of its
  /// type does that is no splat.
  void run(std::span<void* const> pointers, int64_t n) const;
  /// Where rows are reduced: rows of n elements, as codegen::MapFn has them. Behind the results stand rows of scratch
  /// for kept().
  void run_rows(std::span<void* const> pointers, std::span<const int64_t> strides, int64_t rows, int64_t n) const;
  /// Bytes of an element of each value that is kept from one loop over a row to the next.
  std::span<const uint8_t> kept() const { return cluster_.kept; }
  /// Notes a run of the cluster for map_code_counts().
  static void count_run();

 private:
  MapCode(const ir::Graph& body, IsaLevel level, uint64_t splats);
  bool make(const codegen::Generator& generator, const codegen::TextSink& sink) const override;
  void run_rest(std::span<void* const> pointers, int64_t begin, int64_t n) const;

  compiler::MapDescription cluster_;
  IsaLevel isa_;
  int64_t lanes_ = 1;
};

/// Since the process began, for tests.
struct MapCodeCounts {
  int64_t compiled;  ///< functions that got code, loops among them
  int64_t runs;      ///< of clusters as machine code
};
MapCodeCounts map_code_counts();

}  // namespace hone
