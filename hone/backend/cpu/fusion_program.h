// What runs a cluster, made once: its calls as steps over places in memory, and its machine code.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "hone/backend/cpu/map_code.h"
#include "hone/math/kernels.h"
#include "hone/ops/kernel.h"
#include "hone/ops/reduce_steps.h"

namespace hone {

/// A place of a tile's elements: an operand, a result, a block of scratch, or partial results of a fold.
struct Place {
  enum Kind : uint8_t { Operand, Result, Scratch, Partial } kind;
  bool per_row;  ///< one element for each row
  int index;     ///< scratch: among the blocks with as many elements
  size_t item;   ///< bytes of an element
};

/// One call over a block of whole rows.
struct FusionStep {
  enum Kind : uint8_t { Tile, Reduce, Repeat, Fold } kind = Tile;
  math::TileFn tile = nullptr;  ///< of reductions: rounds the accumulator, or null
  void (*row)(const void* x, int64_t n, void* result) = nullptr;
  const math::ReduceKernels* columns = nullptr;  ///< of folds of columns
  size_t from = 0;                               ///< bytes of their operand's elements
  std::array<int, 3> in{};                       ///< places
  int operands = 0;
  int out = 0;
  double params[2] = {};
};

/// A result that is folded from partial ones, which are accumulators.
struct FusionFold {
  int output, kind;  ///< math::ReduceKind
  DType dtype;       ///< of the result
  int64_t elements;  ///< of a partial result
  int64_t item;      ///< bytes of an accumulator
};

struct FusionProgram {
  std::vector<Place> places;  ///< by value of the body
  std::vector<FusionStep> steps;
  std::vector<int> last_read;              ///< step, by operand
  std::vector<int> written;                ///< step, by result; of folds after all
  std::array<size_t, 2> scratch_blocks{};  ///< of whole rows, of an element a row
  std::vector<FusionFold> folds;
  ReduceStep fold{1, 0, 1};  ///< what they all reduce
  int64_t rows = 0, count = 0;
  bool reduces_rows = false;
  int64_t length = 1;       ///< elements of a row; 1: elements are all alike
  int64_t block = 0;        ///< elements of a tile at most, whole rows
  int64_t grain = 0;        ///< elements that are worth a thread
  bool wants_code = false;  ///< whatever settings.jit says
  std::shared_ptr<MapCode> code;
  std::vector<Place> arrays;  ///< what the code takes: operands, then results
  uint64_t splats = 0;        ///< bit i: the code reads operand i as one element, of a row if the cluster has rows
  int64_t row = 0;            ///< code in blocks of rows reads all operands where they lie; 0: some need copies
  mutable std::atomic<bool> has_run{false};
};

/// Null, or why the body is no cluster that has tiles (static storage).
const char* refuses_fusion(const KernelQuery& query);
/// For a query that is not refused.
std::shared_ptr<FusionProgram> make_fusion_program(const KernelQuery& query);

}  // namespace hone
