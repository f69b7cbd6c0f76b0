// Ahead of time: a program as an object file with a C interface, which needs libc and libm alone.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "hone/compiler/object_options.h"
#include "hone/ir/graph.h"

namespace hone::compiler {

/// The static program as an object. It computes by the kernels of settings.reproducible = Portable, so that its results
/// have the bits of that mode on every processor. `variables` are the values of the program's Variable inputs: those
/// that it assigns become the caller's state, which begins with them, the others constants. `results`: how many of the
/// program's outputs are the caller's, the rest being new values. Errors: kUnsupported names calls that objects cannot
/// make; kInvalidArgument for a name that is no C identifier; kFailedPrecondition in a build without the generator.
ObjectFiles compile_object(const ir::Graph& graph, std::span<const Tensor> variables, size_t results,
                           const ObjectOptions& options = {});

/// What keeps the program from compile_object: its calls that objects cannot make, one line each. Needs no generator.
std::vector<std::string> object_obstacles(const ir::Graph& graph, std::span<const Tensor> variables, size_t results);

/// One run of a stateless object that is linked into this process: dense results of the types told. `files` are of this
/// processor. Error kUnsupported, kDataLoss as load_object; kInternal with the object's status.
std::vector<Tensor> run_object(const ObjectFiles& files, const ObjectOptions& options, std::span<const Tensor> inputs,
                               std::span<const TensorType> results);

/// The header with more lines in its first comment.
std::string with_comment(const std::string& header, const std::string& lines);

}  // namespace hone::compiler
