#include "hone/tensor/shape.h"

#include <fmt/format.h>

#include "hone/base/error.h"

namespace hone {

void fail_capacity(size_t capacity) {
  throw Error(Code::kInvalidArgument, fmt::format("more than {} axes or entries", capacity),
              fmt::format("shapes have at most {} axes; merge some with reshape", kMaxRank));
}

int Shape::normalize_axis(int64_t axis) const {
  const int64_t at = axis < 0 ? axis + rank() : axis;
  if (at < 0 || at >= rank()) {
    throw Error(Code::kOutOfRange, fmt::format("axis {} is out of range for shape {}", axis, to_string(*this)),
                rank() ? fmt::format("use an axis in [{}, {}]", -rank(), rank() - 1) : "a scalar has no axes");
  }
  return static_cast<int>(at);
}

Dim Shape::elements() const {
  Dim n = 1;
  for (Dim d : *this) n = n * d;
  return n;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (Dim d : shape) text += (text.size() > 1 ? "," : "") + to_string(d);
  return text + "]";
}

std::string to_string(const TensorType& type) { return std::string(name(type.dtype)) + to_string(type.shape); }

bool broadcast_shapes(const Shape& a, const Shape& b, Shape& out) {
  const Shape &longer = a.rank() >= b.rank() ? a : b, &shorter = a.rank() >= b.rank() ? b : a;
  const int lead = longer.rank() - shorter.rank();
  out = longer;
  for (int i = 0; i < shorter.rank(); ++i) {
    const Dim x = longer[lead + i], y = shorter[i];
    if (x == y || y == Dim(1)) continue;
    if (!(x == Dim(1))) return false;
    out[lead + i] = y;
  }
  return true;
}

}  // namespace hone
