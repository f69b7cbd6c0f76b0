// Frozen calls of oneDNN: what Kernel::prepare makes. Internal to backend/cpu.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hone/backend/cpu/onednn.h"
#include "hone/ops/attrs.h"

namespace hone::onednn {

/// Post-ops of a frozen op: the sum that lies in the result, then the activation.
dnnl::primitive_attr ending(const FrozenAttrs& attrs, bool residual);

/// A primitive for a number of rows (samples) and threads, with the weights in its layout: packed once for weights
/// that stay the same tensor. Runs on several threads at once.
class FrozenPrimitive {
 public:
  struct Parts {
    dnnl::primitive primitive;
    dnnl::memory::desc source, plain, weights, bias, result, scratch;
    std::string implementation;
    /// Of a primitive that computes in blocked layouts of its own, else empty: its ends, and the ways in and out.
    dnnl::memory::desc blocked_source{}, blocked_result{};
    dnnl::reorder enter{}, leave{};
  };
  FrozenPrimitive(Parts parts, int64_t rows, int threads);
  ~FrozenPrimitive();
  FrozenPrimitive(const FrozenPrimitive&) = delete;
  FrozenPrimitive& operator=(const FrozenPrimitive&) = delete;

  int64_t rows() const { return rows_; }
  int threads() const { return threads_; }
  const std::string& implementation() const { return parts_.implementation; }
  size_t packed_bytes() const;

  void run(const std::byte* source, const Tensor& weights, const Tensor& bias, std::byte* result) const;

 private:
  struct Arguments;
  struct Packed {
    uint64_t tensor;
    Ref<Buffer> data;
  };
  Ref<Buffer> pack(Arguments& arguments, const std::byte* weights) const;
  Ref<Buffer> packed(Arguments& arguments, const Tensor& weights) const;

  Parts parts_;
  int64_t rows_;
  int threads_;
  mutable std::atomic<const Packed*> packed_{nullptr};  // set once
  mutable std::atomic<Arguments*> spare_{nullptr};
};

/// The primitives of one frozen call.
class FrozenCall {
 public:
  /// `make`: the primitive for so many rows, on the threads of the caller.
  FrozenCall(int64_t rows, std::function<FrozenPrimitive::Parts(int64_t rows)> make);
  void run(const KernelCall& call) const;
  /// Of what ran so far.
  size_t packed_bytes() const;

 private:
  const FrozenPrimitive& primitive(int64_t rows) const;
  void run_rows(const KernelCall& call, int64_t begin, int64_t end) const;

  int64_t rows_;
  std::function<FrozenPrimitive::Parts(int64_t)> make_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<FrozenPrimitive>> primitives_;
  mutable std::atomic<const FrozenPrimitive*> last_{nullptr};
};

}  // namespace hone::onednn
