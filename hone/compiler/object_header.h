// The C header of an object.
#pragma once
#include <string>

#include "hone/compiler/object.h"

namespace hone::compiler {

struct ObjectFacts {
  uint64_t hash = 0;  ///< of program and weights
  size_t state_bytes = 0, constant_bytes = 0;
  bool embedded = true;  ///< constants are in the object
  bool flush_denormals = false;
};

std::string object_header(const ir::Graph& graph, size_t results, const ObjectOptions& options,
                          const ObjectFacts& facts);

}  // namespace hone::compiler
