#include "hone/compiler/difference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "hone/tensor/half.h"

namespace hone::compiler {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Difference difference_of(const Tensor& expected, const Tensor& got, double tolerance) {
  Difference out;
  if (!(expected.type() == got.type())) return {true, kInfinity, 0};
  if (expected.size() == 0) return out;
  const auto *left = static_cast<const std::byte*>(expected.raw()), *right = static_cast<const std::byte*>(got.raw());
  visit_dtype(expected.dtype(), [&](auto kind) {
    using T = decltype(kind);
    const auto *a = reinterpret_cast<const T*>(left), *b = reinterpret_cast<const T*>(right);
    for (int64_t i = 0; i < expected.size(); ++i) {
      const double x = to_double(a[i]), y = to_double(b[i]);
      const size_t at = static_cast<size_t>(i) * sizeof(T);
      if (std::isfinite(x)) out.magnitude = std::max(out.magnitude, std::abs(x));
      if (std::memcmp(left + at, right + at, sizeof(T)) == 0 || (std::isnan(x) && std::isnan(y))) continue;
      out.found = true;
      out.largest = std::max(out.largest, std::isnan(x) || std::isnan(y) ? kInfinity : std::abs(x - y));
    }
  });
  if (tolerance > 0) out.found = out.largest > tolerance * out.magnitude;
  return out;
}

}  // namespace

Difference difference(std::span<const Tensor> expected, std::span<const Tensor> got, double tolerance) {
  Difference out;
  if (expected.size() != got.size()) return {true, kInfinity, 0};
  for (size_t i = 0; i < expected.size(); ++i) {
    const Difference one = difference_of(expected[i], got[i], tolerance);
    const bool found = out.found || one.found;
    if (one.found && (!out.found || one.largest > out.largest)) out = one;
    out.found = found;
  }
  return out;
}

}  // namespace hone::compiler
