#include "hone/ops/views.h"

#include <fmt/format.h>

#include <algorithm>

#include "hone/base/error.h"
#include "hone/ops/attrs.h"
#include "hone/ops/creation.h"
#include "hone/ops/promote.h"
#include "hone/ops/table.h"
#include "hone/tensor/interpreter.h"

namespace hone {

Ints dense_strides(const Shape& shape) {
  Ints strides(static_cast<size_t>(shape.rank()), 1);
  int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= shape[i].number();
  }
  return strides;
}

Ints strides_of(const Tensor& x) { return x.layout().dense ? dense_strides(x.shape()) : x.layout().strides; }

bool is_splat(const Tensor& x) {
  if (x.layout().dense) return x.size() == 1;
  return std::ranges::all_of(x.layout().strides, [](int64_t stride) { return stride == 0; });
}

Tensor alias_strided(const Tensor& x, const TensorType& type, const Ints& strides) {
  const Ints dense = dense_strides(type.shape);
  bool same = type.shape.count() == 0;
  if (!same) {
    same = true;
    for (int i = 0; i < type.shape.rank(); ++i) same = same && (strides[i] == dense[i] || type.shape[i] == Dim(1));
  }
  return same ? x.alias(type) : x.alias(type, strides);
}

Tensor alias_splat(const Tensor& x, const TensorType& type) {
  return alias_strided(x, type, Ints(static_cast<size_t>(type.shape.rank()), 0));
}

Tensor alias_as(const Tensor& x, const TensorType& type) {
  if (x.layout().dense) return x.alias(type);
  if (x.shape() == type.shape) return x.alias(type, x.layout().strides);
  return is_splat(x) ? alias_splat(x, type) : x.dense().alias(type);
}

int checked_axis(const Shape& shape, int64_t axis, std::string_view op, Location location) {
  const int64_t at = axis < 0 ? axis + shape.rank() : axis;
  if (at >= 0 && at < shape.rank()) return static_cast<int>(at);
  throw Error(Code::kOutOfRange,
              {.what = fmt::format("axis {} is out of range in {}", axis, op),
               .location = LocationScope::resolve(location),
               .details = {"x has shape " + to_string(shape)},
               .fix = shape.rank() ? fmt::format("use an axis in [{}, {}]", -shape.rank(), shape.rank() - 1)
                                   : "a scalar has no axes"});
}

Ints checked_axes(const Shape& shape, const Ints& axes, std::string_view op, Location location) {
  Ints result;
  for (int64_t axis : axes) result.push_back(checked_axis(shape, axis, op, location));
  std::ranges::sort(result);
  if (const int64_t* twice = std::ranges::adjacent_find(result); twice != result.end()) {
    throw Error(Code::kInvalidArgument, {.what = fmt::format("axis {} is listed twice in {}", *twice, op),
                                         .location = LocationScope::resolve(location),
                                         .details = {"x has shape " + to_string(shape)},
                                         .fix = "name each axis once"});
  }
  return result;
}

Tensor extent(const Shape& shape, int axis, Location location) {
  const Dim dim = shape[axis];
  if (dim.is_number()) return full_like_scalar({}, i32, Operand(dim.number(), location));
  return call_op(ops::get_dimension_size, AxisAttrs{axis}, location, zeros(shape, f32, location));
}

}  // namespace hone
