// Counts what this binary takes from the heap (operator new).
#pragma once
#include <cstdint>

namespace hone::conformance {

/// While one lives, allocations of all threads are counted, but for those that oneDNN makes for itself when it runs a
/// primitive.
class HeapWatch {
 public:
  HeapWatch();
  ~HeapWatch();
  HeapWatch(const HeapWatch&) = delete;
  HeapWatch& operator=(const HeapWatch&) = delete;
  int64_t taken() const;
};

}  // namespace hone::conformance
