// The kernel-list interface: who computes an op. Back ends implement it, the evaluator walks it.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hone/tensor/op.h"

namespace hone {

/// A call whose outputs are allocated (dense, of inferred type) and whose inputs are dense unless the kernel reads
/// strides.
struct KernelCall {
  const Op& op;
  AttrRef attrs;
  std::span<const Tensor> inputs;
  std::span<const Tensor> outputs;
  const void* prepared = nullptr;  ///< what Kernel::prepare made
  void* state = nullptr;           ///< what Kernel::make_state made
  template <class T>
  const T* in(int i) const {
    return static_cast<const T*>(static_cast<const void*>(inputs[static_cast<size_t>(i)].mutable_bytes()));
  }
  template <class T>
  T* out(int i = 0) const {
    return static_cast<T*>(static_cast<void*>(outputs[static_cast<size_t>(i)].mutable_bytes()));
  }
  const Shape& in_shape(int i) const { return inputs[static_cast<size_t>(i)].shape(); }
  const Shape& out_shape(int i = 0) const { return outputs[static_cast<size_t>(i)].shape(); }
  DType dtype(int i = 0) const { return inputs[static_cast<size_t>(i)].dtype(); }
};

/// What a kernel is asked before it runs: types and attributes, no data.
struct KernelQuery {
  const Op& op;
  AttrRef attrs;
  std::span<const Tensor> inputs;
  std::span<const TensorType> outputs;
  bool machine_code = false;  ///< Kernel::prepare makes what machine code the kernel may have, however long that takes
};

struct Works;

struct Kernel {
  const char* name;  ///< "cpu.softmax", "onednn.matmul"
  /// Null: accepts every call. Otherwise returns null to accept, or the reason why not, in a few words (static
  /// storage).
  const char* (*refuses)(const KernelQuery&) = nullptr;
  void (*run)(const KernelCall&) = nullptr;
  /// Null, or makes what `run` needs beside the call and what depends on types and attributes alone. A plan makes it
  /// once, the evaluator for each call.
  std::shared_ptr<const void> (*prepare)(const KernelQuery&) = nullptr;
  /// Null, or makes what one run at a time works with (buffers, bound calls of programs), so that `run` neither locks
  /// nor allocates. `call` has `prepared` and the types of its tensors. An instance of an executable makes it once, the
  /// evaluator for each call.
  std::shared_ptr<void> (*make_state)(const KernelCall& call) = nullptr;
  /// Null, or what `run` does as loops over plain memory, with the same bits (compiler/works.h): for objects that are
  /// compiled ahead of time. Inputs have their layouts.
  Works (*works)(const KernelQuery&) = nullptr;
  bool reads_strides = false;  ///< takes inputs that are not dense
  bool in_place = false;  ///< outputs may share memory with inputs of the same type: what is written was read before
  bool library = false;   ///< a call into oneDNN
  /// The operand whose memory output 0 may take, if it lies in no other operand's (-1: none): a sum that a library
  /// adds to. For plans; a kernel copies it where it lies elsewhere.
  int accumulates = -1;
  /// The matrix that `run` transposes before it multiplies (-1: none); a pass does it once for all calls that read it.
  int transposes = -1;
};

/// The ordered kernels of an op, reference last; empty for ops that only decompose or view.
std::span<const Kernel> kernels(const Op& op);

/// Runs call.op.decompose under the call's location. 16-bit floats compute in f32: inputs are converted at entry,
/// outputs rounded at exit.
void decompose(const Call& call);
/// The same by another rule than the op's own.
void decompose(const Call& call, void (*rule)(const Call&));

/// Appends to the op's list; for install_defaults(), before the first op runs.
void add_kernels(const Op& op, std::initializer_list<Kernel> kernels);

/// Who would take a call and why the others would not: one line a kernel.
std::string explain_kernels(const KernelQuery& query);

/// Name of the kernel that took the last call of this thread, for tests and profiles.
const char* last_kernel();
void set_last_kernel(const char* name);

}  // namespace hone
