// Reductions over axes. Sums follow one order on every path (docs/numerics.md), NaN propagates through max and min.
#pragma once
#include <initializer_list>

#include "hone/tensor/tensor.h"

namespace hone {

/// Axes of a reduction: one, several (negative from the end), or, by default, all.
class Axes {
 public:
  Axes() = default;
  Axes(int axis) : all_(false) { list_.push_back(axis); }                             // NOLINT: an int is an axis
  Axes(std::initializer_list<int64_t> axes) : all_(axes.size() == 0), list_(axes) {}  // NOLINT
  /// These axes only; an empty list reduces nothing.
  Axes(const Ints& axes) : all_(false), list_(axes) {}  // NOLINT
  /// Ascending and in range. Error kOutOfRange for an axis the shape lacks, kInvalidArgument for one named twice.
  Ints normalized(const Shape& shape, Location location) const;

 private:
  bool all_ = true;
  Ints list_;
};

/// Sum; bool and integers below 32 bits sum in 32 bits. No elements give 0.
Tensor sum(Operand x, const Axes& axes = {}, bool keepdims = false);
/// Product; types as sum. No elements give 1.
Tensor prod(Operand x, const Axes& axes = {}, bool keepdims = false);
/// Mean; integers give f32, 16-bit floats are summed and divided in f32. No elements give NaN.
Tensor mean(Operand x, const Axes& axes = {}, bool keepdims = false);
/// Largest element. No elements give -Inf or the type's lowest number. Ties share the gradient.
Tensor max(Operand x, const Axes& axes = {}, bool keepdims = false);
Tensor min(Operand x, const Axes& axes = {}, bool keepdims = false);
/// True if all (any) elements are true (not 0).
Tensor all(Operand x, const Axes& axes = {}, bool keepdims = false);
Tensor any(Operand x, const Axes& axes = {}, bool keepdims = false);
/// Mean of the squared distance from the mean (divides by n, as NumPy's and Keras' var).
Tensor variance(Operand x, const Axes& axes = {}, bool keepdims = false);
Tensor stddev(Operand x, const Axes& axes = {}, bool keepdims = false);
/// log(sum(exp(x))) without overflow.
Tensor logsumexp(Operand x, const Axes& axes = {}, bool keepdims = false);
/// Euclidean norm: sqrt(sum(x x)).
Tensor norm(Operand x, const Axes& axes = {}, bool keepdims = false);
/// i64 index of the largest (smallest) element along one axis, or of the flattened tensor; the first NaN wins, then the
/// first of equal elements. Error kInvalidArgument for an axis without elements or several axes.
Tensor argmax(Operand x, const Axes& axis = {}, bool keepdims = false);
Tensor argmin(Operand x, const Axes& axis = {}, bool keepdims = false);

/// StableHLO's windowed reduction over all axes of x (attrs.h says how the window lies). Padding is skipped; elements
/// combine in the window's row-major order.
struct WindowAttrs;
Tensor reduce_window(Operand x, const WindowAttrs& attrs);
/// For each window of x the source's element is added to where the window has its largest (attrs.combine = Max) or
/// smallest (Min) element: first NaN, then first of equals. The result has x's shape.
Tensor select_and_scatter(Operand x, Operand source, const WindowAttrs& attrs);

/// The number of elements along the axes as a scalar of this dtype (an op where the shape is symbolic).
Tensor element_count(const Tensor& x, const Ints& axes, DType dtype);
/// Undoes the dropping of `axes`: spreads a reduced value over `shape`.
Tensor spread(const Tensor& reduced, const Shape& shape, const Ints& axes);

}  // namespace hone
