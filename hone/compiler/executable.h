// Executable: a plan that runs.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "hone/compiler/bound_call.h"
#include "hone/compiler/plan.h"

namespace hone::compiler {

/// What becomes of a result of the graph.
struct OutputPlace {
  enum Kind : uint8_t {
    Written,  ///< the run writes it to the caller's memory
    Donated,  ///< it lies in the memory of input `index`, which the run overwrites
    Copied,   ///< it is a part or a view of other memory: the run copies it to the caller's
  };
  Kind kind = Written;
  uint32_t index = 0;
};

/// Runs a plan on buffers of the caller's, from an arena of its own. Thread-safe: calls at the same time use an arena
/// each, which are kept. In steady state a run allocates nothing on the heap.
class Executable : public std::enable_shared_from_this<Executable> {
 public:
  explicit Executable(Plan plan);
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  const Plan& plan() const { return plan_; }
  const ir::Graph& graph() const { return plan_.graph; }
  std::span<const OutputPlace> outputs() const { return outputs_; }

  /// `inputs` and `outputs` in the graph's order: dense tensors of its types, as the caller's check. Inputs that the
  /// graph holds itself (captures, constants) and outputs that are Donated are ignored. Inputs with a new value are
  /// overwritten: nobody else may see their memory.
  void run(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const;

  /// A call with fixed memory; `inputs` and `outputs` as for run. Undefined are those that run ignores; a defined
  /// output that is Donated gets a copy of the new value. The memory of inputs with a new value is written, so nobody
  /// else may read it. Error kInvalidArgument for a tensor that is missing, of another type, not dense, or in memory of
  /// another.
  BoundCall bind(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const;

 private:
  struct Lease;
  Plan plan_;
  std::vector<OutputPlace> outputs_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Instance>> spare_;
};

}  // namespace hone::compiler
