// Regions: programs that ops carry, recorded while the trace around them is open.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "hone/ir/recorder.h"

namespace hone::ir {

inline const Graph& graph_of(const std::shared_ptr<const Region>& region) { return static_cast<const Graph&>(*region); }
std::vector<TensorType> input_types(const Graph& graph);
std::vector<TensorType> output_types(const Graph& graph);
std::vector<TensorType> types_of(std::span<const Tensor> tensors);

/// For programs to be differentiated: equal calls stay apart, as a tape sees them, so that gradients are summed in its
/// order. Compiling merges them.
inline std::shared_ptr<Context> region_context() { return std::make_shared<Context>(false); }

/// Tensors that programs meet outside, each once.
class Captures {
 public:
  /// The place of a tensor.
  size_t add(const Tensor& tensor);
  std::span<const Tensor> tensors() const { return tensors_; }

 private:
  std::vector<Tensor> tensors_;
  std::unordered_map<uint64_t, size_t> places_;  // by tensor id
};

/// Records a region. What the program reads from outside becomes an input behind the declared ones, in the order in
/// which it is met. Push it on top of the trace around it: it passes nothing on.
class RegionRecorder : public Recorder {
 public:
  explicit RegionRecorder(std::shared_ptr<Context> context) : Recorder(std::move(context)) {}

  std::vector<Tensor> declare(std::span<const TensorType> types, Location location);
  /// Of the inputs behind the declared ones.
  std::span<const Tensor> captured() const { return captured_; }
  /// The graph with these results.
  Graph finish(std::span<const Tensor> results, Location location);

 protected:
  ValueId capture(const Tensor& tensor, Location location) override;
  /// An input for a tensor from outside under a value of its own.
  Tensor add_captured(const Tensor& tensor, Location location);

 private:
  std::vector<Tensor> captured_;
};

/// A program that a RegionRecorder recorded.
struct RegionProgram {
  Graph graph;
  std::vector<Tensor> captured;
};

/// Records `program` over values of these types.
using RegionBody = std::function<std::vector<Tensor>(std::span<const Tensor>)>;
RegionProgram record_region(const std::shared_ptr<Context>& context, std::span<const TensorType> types,
                            const RegionBody& program, Location location);

/// The graph over other inputs: input i of `graph` is input place[i] of the result; beyond the last: nothing reads it.
Graph with_inputs(const Graph& graph, std::span<const TensorType> types, std::span<const size_t> place);
/// Adds to `captures` what the programs captured, and makes them regions over their declared inputs and then all of
/// `captures`.
std::vector<std::shared_ptr<const Region>> close(std::span<const RegionProgram> programs, Captures& captures);

/// The graph with these values as its results.
Graph with_results(const Graph& graph, std::span<const ValueId> results);
/// The region with its inputs from `first` on as further results: a loop carries what it only reads.
std::shared_ptr<const Region> carrying(const std::shared_ptr<const Region>& region, size_t first);

}  // namespace hone::ir
