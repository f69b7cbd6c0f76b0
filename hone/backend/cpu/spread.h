// Elements of a tensor that is not dense, in the order of its shape: the broadcast operands of elementwise kernels.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "hone/tensor/tensor.h"

namespace hone {

/// n >= 1 copies of one item of `item` bytes.
void repeat(std::byte* to, const std::byte* from, size_t item, int64_t n);

/// Gives blocks of consecutive elements as one piece of memory: where they lie in one piece, that very memory; else a
/// copy in the caller's scratch, which is left alone when it holds the block already. One per thread and operand; reads
/// the tensor's memory as long as it lives.
class Spreader {
 public:
  Spreader(const Tensor& tensor, size_t item)
      : Spreader(tensor.mutable_bytes(), tensor.shape(), tensor.layout().strides, item) {}
  Spreader(const std::byte* base, const Shape& shape, const Ints& strides, size_t item) : base_(base), item_(item) {
    collapse(shape, strides);
  }

  /// Elements after which the content repeats (1: all are the same).
  int64_t period() const { return period_; }
  /// Elements of the innermost run, which lie in one piece or are all the same.
  int64_t run() const { return inner_.extent; }
  /// From one element of a run to the next; 0: they are the same.
  int64_t stride() const { return inner_.stride; }
  const std::byte* address(int64_t element) const;
  /// Whether blocks of n elements, from the first on, lie in one piece each or are one element repeated.
  bool in_place(int64_t n) const { return inner_.extent % n == 0 && (inner_.stride == 0 || inner_.stride == 1); }
  /// Bytes from one of such blocks to the next, if they are the same between all.
  std::optional<int64_t> step(int64_t n) const;

  /// Elements [begin, begin + n); `scratch` has room for n and belongs to this operand alone.
  const std::byte* block(std::byte* scratch, int64_t begin, int64_t n);

 private:
  struct Axis {
    int64_t extent, stride;
  };
  void collapse(const Shape& shape, const Ints& strides);
  void copy(std::byte* to, int64_t begin, int64_t n) const;

  const std::byte* base_;
  size_t item_;
  FixedVector<Axis, kMaxRank> outer_;  // innermost first
  Axis inner_{1, 0};
  int64_t period_ = 1;
  const std::byte* held_ = nullptr;  // what the scratch repeats: the address of its first element
  int64_t held_count_ = 0;
};

/// Where blocks of a loop over several operands end: at the ends of long runs, so that each lies in one piece; else
/// after whole periods of a short pattern, so that one copy of it serves all.
class BlockCuts {
 public:
  static constexpr int64_t kLongRun = 128;  ///< elements that are worth a block of their own

  BlockCuts(std::span<const Tensor> operands, int64_t block);
  /// At the end of each row.
  explicit BlockCuts(int64_t row) : row_(row), block_(row) {}
  int64_t next(int64_t at) const {
    if (row_ != 0) return std::min(at + block_, (at / row_ + 1) * row_);
    return (at / block_ + 1) * block_;
  }

 private:
  int64_t row_ = 0, block_;
};

}  // namespace hone
