// Shapes and tensor types.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "hone/tensor/dim.h"
#include "hone/tensor/dtype.h"
#include "hone/tensor/fixed_vector.h"

namespace hone {

inline constexpr int kMaxRank = 12;

/// Integer lists of ops (axes, sizes, strides): inline, at most kMaxRank entries.
using Ints = FixedVector<int64_t, kMaxRank>;

/// Extents of a tensor, outermost first; rank 0 is a scalar. At most kMaxRank axes (Error kInvalidArgument beyond).
class Shape : public FixedVector<Dim, kMaxRank> {
 public:
  Shape() = default;
  Shape(std::initializer_list<Dim> dims) : FixedVector(dims) {}
  explicit Shape(std::span<const int64_t> dims) {
    for (int64_t d : dims) push_back(d);
  }

  int rank() const { return static_cast<int>(size()); }
  /// Number of an axis; negative axes count from the end. Error kOutOfRange.
  Dim dim(int axis) const { return (*this)[normalize_axis(axis)]; }
  /// The axis in [0, rank). Error kOutOfRange names the shape.
  int normalize_axis(int64_t axis) const;
  bool is_static() const {
    for (Dim d : *this)
      if (!d.is_number()) return false;
    return true;
  }
  /// Product of all dims (1 for a scalar).
  Dim elements() const;
  /// elements() of a static shape; checked against overflow when the shape was made by infer.
  int64_t count() const {
    int64_t n = 1;
    for (Dim d : *this) n *= d.number();
    return n;
  }
  /// Dims of a static shape as numbers.
  Ints numbers() const {
    Ints out;
    for (Dim d : *this) out.push_back(d.number());
    return out;
  }
  bool operator==(const Shape& other) const { return std::ranges::equal(*this, other); }
};

/// "[128,784]", "[batch,28,28,1]".
std::string to_string(const Shape& shape);

/// Shape of a broadcast after NumPy's rule; returns false where they do not fit.
bool broadcast_shapes(const Shape& a, const Shape& b, Shape& out);

struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
  bool operator==(const TensorType&) const = default;
};
/// "f32[128,784]"
std::string to_string(const TensorType& type);

}  // namespace hone
