// Clusters over rows: values are rows of one length, one after another, or have one element for each row, or are folded
// from what loops over blocks of rows leave.
#pragma once
#include <vector>

#include "hone/ir/graph.h"
#include "hone/ops/reduce_steps.h"

namespace hone::compiler {

/// Elements of the rows that a call reduces, each to one element; 0 for other calls, and where what is reduced does not
/// lie in one piece.
int64_t reduced_row(const ir::Graph& graph, const ir::Node& node);

/// Columns of fewer elements a row are left to the kernel of reductions, which takes rows of any length at full speed.
inline constexpr int64_t kMinColumns = 32;

/// Elements of the rows of whose columns each is reduced, likewise.
int64_t reduced_columns(const ir::Graph& graph, const ir::Node& node);
/// A reduction whose result is folded from partial ones, in the order of math/reduce_kernels.h: of all elements, more
/// than codegen::kMaxRow, from blocks of kReduceBlock, which count as rows; of columns, kMinColumns to codegen::kMaxRow
/// in a row, from blocks of kReduceRows rows. Extent 0: any other call.
ReduceStep folded(const ir::Graph& graph, const ir::Node& node);
inline bool of_columns(const ReduceStep& fold) { return fold.inner > 1; }
inline bool operator==(const ReduceStep& a, const ReduceStep& b) {
  return a.outer == b.outer && a.extent == b.extent && a.inner == b.inner;
}

/// How often a call that only moves elements repeats each, one after another: element i of the result is element
/// i / k of the operand. 1: a reshape. 0: any other call.
int64_t repeats(const ir::Graph& graph, const ir::Node& node);

/// A cluster's values as rows.
struct RowSpace {
  int64_t rows = 0;
  int64_t length = 1;            ///< of a row; 1 where nothing is reduced
  int64_t count = 0;             ///< elements; the last row may be shorter where all are folded
  ReduceStep fold{};             ///< of what is folded; extent 0: nothing is
  std::vector<uint8_t> per_row;  ///< by value of the body: 1 if it has one element for each row
  std::vector<uint8_t> is_fold;  ///< by value of the body: 1 if it is folded; no call of the body reads it
  const char* wrong = nullptr;   ///< null, or why the body is no cluster over rows (static storage)

  /// Of a body whose shapes are static.
  explicit RowSpace(const ir::Graph& body);

 private:
  const char* read(const ir::Graph& body);
  const char* find_rows(const ir::Graph& body);
  const char* check(const ir::Graph& body, const ir::Node& node) const;
};

}  // namespace hone::compiler
