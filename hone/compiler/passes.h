// Passes: functions from graph to graph. The pipeline (pipeline.h) says in which order they run.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "hone/ir/graph.h"

namespace hone {
struct FusionAttrs;
}

namespace hone::compiler {

/// Drops what no output and no effect needs, in programs that calls carry too: results of branches and loops that
/// nobody reads, what they carry for those alone, operands that they do not read. Inputs of the graph stay.
///   %1 = tanh %0; %2 = exp %0; return %2   =>   %2 = exp %0; return %2
ir::Graph remove_dead(const ir::Graph& graph);

/// Applies the exact rewrite rules of rules.h until none fits, and folds small constants unless told otherwise.
///   %1 = transpose %0, [1, 0]; %2 = transpose %1, [1, 0]; return %2   =>   return %0
///   %1 = transpose %0, [1, 0]; %2 = tanh %1; %3 = transpose %2, [1, 0]; return %3   =>   %1 = tanh %0; return %1
ir::Graph simplify(const ir::Graph& graph, bool constant_folding = true);

/// Puts the decomposition in place of calls that no kernel serves.
///   %1 = adam_update ... : f64   =>   %1 = multiply ...; %2 = add ...
/// `objects` as service_of has it.
ir::Graph decompose(const ir::Graph& graph, bool objects = false);
/// The same for calls that another says are not served.
using ServedFn = std::function<bool(const ir::Graph&, const ir::Node&)>;
ir::Graph decompose_unserved(const ir::Graph& graph, const ServedFn& served);

/// Batch norm in training as statistics and elementwise calls with the kernel's bits, so that normalising joins
/// clusters.
///   %1:3 = batch_norm_training(%x, %s, %o)   =>   %1, %2 = batch_moments %x; %3 = subtract %x, %1; ...
ir::Graph expand_norm(const ir::Graph& graph);

/// Transposes a matrix once for several products that would each do it (Kernel::transposes).
///   %1 = dot_general %a, %w, contract [1] x [1]; %2 = dot_general %b, %w, contract [1] x [1]
///   =>   %1 = transpose %w; %2 = dot_general %a, %1, contract [1] x [0]; ...
ir::Graph share_transposes(const ir::Graph& graph);

/// Computes large results a second time where they would only be kept: across the point where most memory is alive, if
/// what they are computed from is alive there anyway. What is bound by memory is free; beyond it, 2 % more operations
/// are spent while more than 0.6 of the first peak is alive.
///   %1 = relu %0; use %1; ...; use %1   =>   %1 = relu %0; use %1; ...; %2 = relu %0; use %2
/// `at_any_price`: for memory, at the cost of time.
ir::Graph recompute(const ir::Graph& graph, bool at_any_price = false);

/// A cluster, or why two calls that could be one are not.
struct FusionDecision {
  std::string what;  ///< "multiply + add -> 1 kernel" or "not fused: ..."
  Location location;
  int64_t calls = 0;
  double bytes_saved = 0;  ///< not written and not read again
};

/// True for calls that `cluster` gathers: a result element depends on the operands' elements at its own place alone.
bool clusters(const Op& op);
/// Null, or why no kernel runs this cluster (static storage).
const char* refuses_cluster(const FusionAttrs& attrs);

/// Makes a product of single terms part of the optimizer step that alone reads it: the gradient of a dense layer for
/// one example is then never in memory.
///   %1 = dot_general %x, %g, contract [0] x [0]; %2:2 = sgd_update %p, %1, %v, %rate
///   =>   %2:2 = fusion(%x, %g, %p, %v, %rate) { dot_general, sgd_update }
ir::Graph fuse_updates(const ir::Graph& graph, std::vector<FusionDecision>* log = nullptr);

/// Gathers elementwise calls of one shape into fusion calls, which run tile by tile in L1. So are reductions of rows of
/// at most codegen::kMaxRow elements that lie in one piece, what is done with their results, and the calls on the
/// elements that read those repeated.
///   %1 = add %0, %b; %2 = relu %1   =>   %2 = fusion(%0, %b) { add, relu }
///   %1 = reduce_sum %0, [1]; %2 = broadcast_in_dim %1; %3 = divide %0, %2
///   =>   %3 = fusion(%0) { reduce_sum, broadcast_in_dim, divide }
/// Reductions of all elements and of columns join what they reduce, which is then computed in their loop; what reads
/// their results is another cluster. Calls that read the same elements and not each other are one cluster, too.
///   %1 = multiply %0, %0; %2 = reduce_sum %1, [0]   =>   %2 = fusion(%0) { multiply, reduce_sum }
/// `cut_seed`, unless 0, keeps calls apart at random: another partition with the same bits, for tests.
ir::Graph cluster(const ir::Graph& graph, std::vector<FusionDecision>* log = nullptr, uint64_t cut_seed = 0);

/// Orders calls so that little memory is alive at once: program order, but a call that frees more than it takes runs as
/// soon as it can. Effects keep their order; a cell's new value is written after the last reading of the old one.
ir::Graph schedule(const ir::Graph& graph);

}  // namespace hone::compiler
