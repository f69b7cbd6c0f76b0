// Clusters over rows: values are rows of one length, one after another, or have one element for each row.
#pragma once
#include <vector>

#include "hone/ir/graph.h"

namespace hone::compiler {

/// Elements of the rows that a call reduces, each to one element; 0 for other calls, and where what is reduced does not
/// lie in one piece.
int64_t reduced_row(const ir::Graph& graph, const ir::Node& node);

/// How often a call that only moves elements repeats each, one after another: element i of the result is element
/// i / k of the operand. 1: a reshape. 0: any other call.
int64_t repeats(const ir::Graph& graph, const ir::Node& node);

/// A cluster's values as rows.
struct RowSpace {
  int64_t rows = 0;
  int64_t length = 1;            ///< of a row; 1 where nothing is reduced
  std::vector<uint8_t> per_row;  ///< by value of the body: 1 if it has one element for each row
  const char* wrong = nullptr;   ///< null, or why the body is no cluster over rows (static storage)

  /// Of a body whose shapes are static.
  explicit RowSpace(const ir::Graph& body);

 private:
  const char* read(const ir::Graph& body);
  const char* check(const ir::Graph& body, const ir::Node& node) const;
};

}  // namespace hone::compiler
