// Ahead of time: a program as an object file with a C interface, which needs libc and libm alone.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "hone/compiler/object_options.h"
#include "hone/ir/graph.h"

namespace hone::compiler {

/// What a C program needs.
struct ObjectFiles {
  std::string object;   ///< ELF, relocatable
  std::string header;   ///< C99, also C++
  std::string weights;  ///< a file for NAME_load_weights; empty where the object has them
};

/// The static program as an object. It computes by the kernels of settings.reproducible = Portable, so that its results
/// have the bits of that mode on every processor. `variables` are the values of the program's Variable inputs: those
/// that it assigns become the caller's state, which begins with them, the others constants. `results`: how many of the
/// program's outputs are the caller's, the rest being new values. Errors: kUnsupported names calls that objects cannot
/// make; kInvalidArgument for a name that is no C identifier; kFailedPrecondition in a build without the generator.
ObjectFiles compile_object(const ir::Graph& graph, std::span<const Tensor> variables, size_t results,
                           const ObjectOptions& options = {});

}  // namespace hone::compiler
