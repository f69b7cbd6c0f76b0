// Lowered: a recorded function to look into, before it runs.
#pragma once
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "hone/compiler/bound_call.h"
#include "hone/compiler/object_options.h"
#include "hone/tensor/tensor.h"

namespace hone {

/// What `function(f).lower(...)` gives: the graph and what would be done with it. Text for people; json() for tools.
class Lowered {
 public:
  struct State;
  explicit Lowered(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  /// The recorded graph.
  std::string ir() const;
  /// The plan: peak, lower bound, largest buffers with their lines, bytes by role. Shapes must be static.
  std::string memory() const;
  /// Floating-point operations and bytes by op. Shapes must be static.
  std::string cost() const;
  /// Which kernel serves each call, and why those before it in the op's list do not. Shapes must be static.
  std::string kernels() const;
  /// Which calls became one kernel, and which did not. Shapes must be static.
  std::string fusion() const;
  /// All of it as JSON.
  std::string json() const;

  /// The compiled function as a call with fixed memory, for real-time threads: write the elements of `arguments`,
  /// run(), read those of `results`. All are dense tensors of the function's types, in its order, containers taken
  /// apart. Variables that it assigns become state of the call: it starts with a copy of their values, and they keep
  /// theirs. Weights are shared as they are now. Error kFailedPrecondition where extents are symbols, kInvalidArgument
  /// for tensors of another number or type.
  compiler::BoundCall bind(const std::vector<Tensor>& arguments, const std::vector<Tensor>& results) const;

  /// Compiles the function ahead of time: an object file with a C interface, and its header (docs/ahead-of-time.md).
  /// Weights are as they are now; variables that it assigns become state of the caller's, which begins with their
  /// values. A symbol for the first extent of arguments, Spec{f32, {Dim("batch"), 784}}, makes an object that takes the
  /// batch size with each call. With options.embed_weights off, the weights go to a third file beside the object,
  /// .weights in place of .o. Errors: those of compiler::compile_object, and of writing files.
  void write_object(const std::string& object, const std::string& header,
                    const compiler::ObjectOptions& options = {}) const;
  /// The same in memory.
  compiler::ObjectFiles object(const compiler::ObjectOptions& options = {}) const;

 private:
  std::shared_ptr<const State> state_;
};

}  // namespace hone
