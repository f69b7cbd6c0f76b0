// Proves that the examples of a batch do not mix, so that a batch may be computed in parts.
#pragma once
#include "hone/ir/graph.h"

namespace hone::compiler {

/// The one symbol among the extents of the graph's inputs. Error kUnsupported where there are several, where it is
/// not the first extent of an input, or where it stands for no extent by itself.
Dim batch_of(const ir::Graph& graph);

/// For a graph whose inputs have examples along axis 0, `batch` of them, or are the same for all: each result has them
/// along axis 0 and example i of it depends on example i of the inputs alone, or it depends on none. Each call is
/// shown by a rule for its op, or by the calls that it decomposes into. Error kUnsupported names the first for which it
/// cannot, and its line.
void prove_examples_apart(const ir::Graph& graph, Dim batch);

}  // namespace hone::compiler
