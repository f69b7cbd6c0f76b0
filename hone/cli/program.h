// Programs in StableHLO text and what they run on: `hone run` and `hone bisect`.
#pragma once
#include <string>
#include <vector>

#include "hone/ir/graph.h"

namespace hone::cli {

/// @main of a StableHLO file. Errors: InputError; kUnsupported for what Hone does not serve.
ir::Graph read_program(const std::string& file);

/// The program's inputs in its order, its constants among them, from arrays arg0, arg1, ... of an NPZ (none: ""); their
/// shapes bind the program's symbols. Error InputError for what is missing or does not fit. `file` is for messages.
std::vector<Tensor> read_inputs(ir::Graph& graph, const std::string& file, const std::string& npz);

/// Numbers from a seed in place of arrays: floats from [-2, 2), integers from [0, 4). Error InputError where the
/// program has symbols.
std::vector<Tensor> draw_inputs(const ir::Graph& graph, const std::string& file, uint64_t seed);

}  // namespace hone::cli
