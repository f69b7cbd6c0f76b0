// BoundCall: an executable bound to memory, for real-time threads.
#pragma once
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "hone/tensor/tensor.h"

namespace hone::compiler {

class Executable;
class Instance;

/// A call of an executable with an arena of its own and its operands in fixed places: write the inputs' elements,
/// run(), read the outputs'. Inputs with a new value (state) hold it after the run, so it is there for the next. With
/// `threads() == 1`, after runs on the same thread that took the same paths (one with machine_code, else two), run()
/// makes no allocation, lock or system call itself, nor do Hone's own kernels up to the sizes of docs/real-time.md;
/// oneDNN's do. One thread at a time; several bound calls of one executable run side by side.
class BoundCall {
 public:
  /// With nothing bound: for run(inputs, outputs).
  explicit BoundCall(std::shared_ptr<const Executable> executable);
  ~BoundCall();
  BoundCall(BoundCall&&) noexcept;
  BoundCall& operator=(BoundCall&&) noexcept;

  /// On the memory bound by Executable::bind.
  void run();
  /// On other memory, as Executable::run.
  void run(std::span<const Tensor> inputs, std::span<const Tensor> outputs);
  /// State becomes what it was when it was bound. Allocates nothing.
  void reset();

 private:
  friend class Executable;
  struct Copy {
    Tensor from, to;
  };
  std::shared_ptr<const Executable> executable_;
  std::unique_ptr<Instance> instance_;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<Copy> after_, initial_;  // after a run; by reset
};

}  // namespace hone::compiler
