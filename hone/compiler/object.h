// Ahead of time: a program as an object file with a C interface, which needs libc and libm alone.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "hone/base/settings.h"
#include "hone/compiler/object_options.h"
#include "hone/ir/graph.h"

namespace hone::compiler {

/// Objects compute as settings.reproducible = Portable does, which holds for as long as this lives.
class PortableScope {
 public:
  PortableScope() : before_(settings.reproducible) { settings.reproducible = Reproducible::Portable; }
  ~PortableScope() { settings.reproducible = before_; }
  PortableScope(const PortableScope&) = delete;
  PortableScope& operator=(const PortableScope&) = delete;

 private:
  Reproducible before_;
};

/// The program as an object. One with a symbol for the first extent of arguments becomes an object that takes the batch
/// size with each call and computes it in parts (compiler/batch_axis.h). It computes by the kernels of
/// settings.reproducible = Portable, so that its results have the bits of that mode on every processor. `variables` are
/// the values of the program's Variable inputs: those that it assigns become the caller's state, which begins with
/// them, the others constants. `results`: how many of the program's outputs are the caller's, the rest being new
/// values. Errors: kUnsupported names calls that objects cannot make, or that may mix the examples of a batch;
/// kInvalidArgument for a name that is no C identifier; kFailedPrecondition in a build without the generator.
ObjectFiles compile_object(const ir::Graph& graph, std::span<const Tensor> variables, size_t results,
                           const ObjectOptions& options = {});

/// What keeps the program from compile_object: its calls that objects cannot make, one line each. Needs no generator.
std::vector<std::string> object_obstacles(const ir::Graph& graph, std::span<const Tensor> variables, size_t results);

/// The last of some calls of an object that is linked into this process, which begin with its first state: dense
/// results of the types told; one that takes a batch size gets the first extent of inputs[0]. `files` are of this
/// processor. Error kUnsupported, kDataLoss as load_object; kInternal with the object's status.
std::vector<Tensor> run_object(const ObjectFiles& files, const ObjectOptions& options, std::span<const Tensor> inputs,
                               std::span<const TensorType> results, int calls = 1);

/// The header with more lines in its first comment.
std::string with_comment(const std::string& header, const std::string& lines);

}  // namespace hone::compiler
