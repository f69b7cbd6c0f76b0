// Trace: a function recorded for one kind of arguments.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "hone/base/function_ref.h"
#include "hone/base/small_vector.h"
#include "hone/function/variable.h"
#include "hone/ir/graph.h"

namespace hone {

struct Trace {
  ir::Graph graph;                    ///< outputs: results, then new values of variables
  std::vector<Variable> variables{};  ///< of the graph's Variable inputs, in their order
  size_t results = 0;
  SmallVector<uint64_t, 8> structure{};  ///< sizes of containers among the results
};

struct TraceRequest {
  std::string_view name;
  std::span<const TensorType> arguments;  ///< undefined tensors have rank 0 and `defined` false
  std::span<const bool> defined;
  bool may_make_variables = true;  ///< only the first recording of a function may
  /// Arguments whose memory a result may take; empty for none. Error kInvalidArgument where no result can.
  std::span<const bool> donated{};
};

using TraceBody = FunctionRef<void(std::span<const Tensor> leaves, std::vector<Tensor>& results,
                                   SmallVector<uint64_t, 8>& structure)>;

/// Calls `body` on traced tensors and records what it does. Variables that it reads become inputs, those that it
/// assigns keep their values and become outputs. Throws what the body throws.
Trace record(const TraceRequest& request, TraceBody body);

/// The user's line of the first call in which two recordings of one function differ; not known where they agree.
Location first_difference(const ir::Graph& a, const ir::Graph& b, bool& differ);

}  // namespace hone
