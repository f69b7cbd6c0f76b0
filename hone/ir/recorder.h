// Recorder: the interpreter that writes calls into a graph instead of computing them.
#pragma once
#include <unordered_map>

#include "hone/ir/graph.h"
#include "hone/tensor/interpreter.h"

namespace hone::ir {

/// Records calls of the thread it is pushed on. Tensors that it made stand for values of the graph; others become
/// captures. Push it with nothing below (InterpreterScope(nullptr)): it is the last word of its trace.
class Recorder : public Interpreter {
 public:
  explicit Recorder(std::shared_ptr<Context> context) : builder_(std::move(context)) {}

  /// A traced tensor for a new input.
  Tensor add_input(const TensorType& type, Input input, Location location);
  /// A traced tensor for a value of the graph.
  Tensor tensor_for(ValueId value, Location location);
  /// The value of a tensor: a traced one's own; a concrete one becomes a capture, once. Error kFailedPrecondition for
  /// a traced tensor of another trace.
  ValueId value_of(const Tensor& tensor, Location location);
  Builder& builder() { return builder_; }

  void process(Call& call) override;

 protected:
  /// The value of a tensor that this recorder did not make: a capture, or the error of value_of.
  virtual ValueId capture(const Tensor& tensor, Location location);

 private:
  Builder builder_;
  std::unordered_map<uint64_t, ValueId> values_;  // by tensor id
  std::vector<Tensor> held_;                      // captures: their ids stay theirs
};

}  // namespace hone::ir
