// Lowered: a recorded function to look into, before it runs.
#pragma once
#include <iosfwd>
#include <memory>
#include <string>

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

 private:
  std::shared_ptr<const State> state_;
};

}  // namespace hone
