// Memory for the time of one kernel.
#pragma once
#include "hone/device/device.h"

namespace hone {

/// `count` uninitialised elements from the pool, 64-byte aligned.
template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t count)
      : bytes_(static_cast<size_t>(count > 0 ? count : 1) * sizeof(T)), data_(static_cast<T*>(pool_allocate(bytes_))) {}
  ~Scratch() { pool_free(data_, bytes_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() const { return data_; }
  T& operator[](int64_t i) const { return data_[i]; }

 private:
  size_t bytes_;
  T* data_;
};

/// Blocks that a thread folds by itself: a whole subtree of at most `limit` (a power of two), smaller where there are
/// few blocks. The size does not change the tree, hence no bits.
inline int64_t subtree(int64_t blocks, int64_t limit) {
  while (limit > 1 && blocks < 16 * limit) limit /= 2;
  return limit;
}
/// Levels of a stack that folds a subtree.
inline int64_t stack_levels(int64_t subtree) {
  int64_t levels = 1;
  for (; subtree > 1; subtree /= 2) ++levels;
  return levels;
}

}  // namespace hone
