// Plan: an ordered list of kernel calls over places in memory. What a graph becomes before it can run.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "hone/ir/graph.h"
#include "hone/ops/kernel.h"

namespace hone::compiler {

/// Memory that values share: the result of a kernel and its views, an input, a constant.
struct Storage {
  enum Kind : uint8_t {
    Arena,  ///< between steps
    Input,  ///< the caller's; `index` among the graph's inputs. A donated one is written by the last step that reads it
    Output,    ///< the caller's, written; `index` among the graph's outputs
    Constant,  ///< of the plan
    Held,      ///< what a host function returned in this run
  };
  Kind kind = Arena;
  uint32_t index = 0;
  size_t bytes = 0, offset = 0;  ///< offset in the arena
  uint32_t first = 0, last = 0;  ///< steps: written first, used last
  Tensor tensor{};               ///< of Constant
};

/// Where a value lies.
struct Place {
  uint32_t storage = ir::kNone;
  size_t offset = 0;
  Layout layout;
};

struct Step {
  enum Kind : uint8_t {
    Call,  ///< a kernel
    Host,  ///< a host function
    Pack,  ///< a dense copy of an operand for what reads no strides
  };
  Kind kind = Call;
  uint32_t node = 0;  ///< of the graph
  const Kernel* kernel = nullptr;
  const char* refused = nullptr;           ///< why the first kernel of the op's list does not serve the call
  std::shared_ptr<const void> prepared{};  ///< by Kernel::prepare
  uint32_t operand = 0, storage = 0;       ///< of Pack: which, and where to
  /// Of Call: operands that were packed, and the storages of the copies.
  SmallVector<std::pair<uint32_t, uint32_t>, 2> packed{};
};

struct Plan {
  ir::Graph graph;
  std::vector<Place> places;  ///< by value
  std::vector<Storage> storages;
  std::vector<Step> steps;
  size_t arena_bytes = 0;
  size_t lower_bound = 0;  ///< largest sum of arena storages alive at one step
};

/// A tensor that has a type and a layout but no elements: what views and kernels are asked with.
Tensor placeholder(const TensorType& type);

/// Who answers a call on dense operands: a kernel, or a view or the host (null); or nobody, and it must be decomposed.
/// Where extents are symbols, whether anybody might.
struct Service {
  bool served = false;
  const Kernel* kernel = nullptr;
};
/// `objects`: kernels without works do not count (ObjectOptions).
Service service_of(const ir::Graph& graph, const ir::Node& node, bool objects = false);

/// Chooses kernels, shares memory and lays out the arena. The graph is static, scheduled, and each of its calls has a
/// view, a kernel or an effect. Error kUnsupported names a call that nobody serves. `machine_code` as in KernelQuery;
/// `objects`: kernels that have works come before those that have none.
Plan make_plan(ir::Graph graph, bool machine_code = false, bool objects = false);

}  // namespace hone::compiler
