// Random arguments from a seed, and what every call owes for them.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "hone/base/philox.h"
#include "hone/tensor/tensor.h"

namespace hone::fuzz {

/// A stream of choices that depends on the seed alone.
class Draw {
 public:
  explicit Draw(uint64_t seed) : philox_(seed) {}

  uint32_t word() { return philox_.at(at_++)[0]; }
  double unit() { return word() * 0x1p-32; }
  bool chance(double p) { return unit() < p; }
  /// Uniform in [low, high].
  int64_t integer(int64_t low, int64_t high) { return low + word() % static_cast<uint64_t>(high - low + 1); }
  template <class T>
  T among(std::initializer_list<T> items) {
    return items.begin()[integer(0, static_cast<int64_t>(items.size()) - 1)];
  }

  DType dtype();     ///< f32 more often than others
  DType floating();  ///< a float, mostly f32
  DType integral();
  Shape shape(int min_rank = 0, int max_rank = 4, int64_t max_extent = 5);
  /// Near `shape`: the same, one that broadcasts to it, or (seldom) any other.
  Shape near(const Shape& shape);
  /// Values in [-2, 2] (integers -2 to 5); sometimes a view that is not dense, seldom special values.
  Tensor tensor(DType dtype, const Shape& shape);
  Tensor tensor() { return tensor(dtype(), shape()); }
  /// Of x's dtype and about its shape; seldom of another dtype.
  Tensor like(const Tensor& x, bool near_only = false);
  /// Indices as a user would give them: integers in [low, high].
  Tensor indices(const Shape& shape, int64_t low, int64_t high);
  int axis(const Tensor& x);  ///< mostly in range, from either end
  Ints axes(const Tensor& x);
  Ints ints(size_t count, int64_t low, int64_t high);  ///< seldom another count or an extreme number
  /// True if a tensor was drawn with infinities and the like.
  bool special() const { return special_; }

 private:
  Tensor any_layout(DType dtype, const Shape& shape);
  Tensor dense(DType dtype, const Shape& shape);
  Philox philox_;
  uint64_t at_ = 0;
  bool special_ = false;
};

using Results = std::vector<Tensor>;
/// Draws its arguments, then calls a function.
using Call = std::function<Results(Draw&)>;

/// Runs the call on the kernels of the CPU and on the reference. "" if both give the same within `tolerance` (relative
/// to the largest element, widened for 16-bit floats) or an Error that is not a defect of Hone's own; else what is
/// wrong.
std::string check(const Call& call, uint64_t seed, double tolerance);

/// Rounds a fuzzer makes: `quick`, with HONE_FULL=1 a hundred times as many, with HONE_FUZZ_ROUNDS=N N times as many.
int rounds(int quick);
/// With HONE_FUZZ_TRACE=1 writes the label to stderr, to find the call that crashed.
void trace(const std::string& label);

/// A limit for the device allocator, so that sizes drawn large are refused.
class BoundedMemory {
 public:
  BoundedMemory();
  ~BoundedMemory();
  BoundedMemory(const BoundedMemory&) = delete;
  BoundedMemory& operator=(const BoundedMemory&) = delete;
};

}  // namespace hone::fuzz
