#include "hone/ops/promote.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "hone/base/error.h"
#include "hone/ops/attrs.h"
#include "hone/ops/movement.h"
#include "hone/tensor/half.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

int64_t element_bits(DType dtype, const Operand& value) {
  return visit_dtype(dtype, [&](auto kind) {
    using T = decltype(kind);
    T element;
    if constexpr (std::is_same_v<T, Float16>)
      element = to_float16(static_cast<float>(value.scalar));
    else if constexpr (std::is_same_v<T, BFloat16>)
      element = to_bfloat16(static_cast<float>(value.scalar));
    else if constexpr (std::is_floating_point_v<T>)
      element = static_cast<T>(value.scalar);
    else if constexpr (std::is_same_v<T, bool>)
      element = value.scalar != 0;
    else
      element = value.kind == Operand::Float ? static_cast<T>(value.scalar) : static_cast<T>(value.integer);
    int64_t bits = 0;
    std::memcpy(&bits, &element, sizeof element);
    return bits;
  });
}

}  // namespace

DType promoted(std::span<const Operand* const> operands) {
  DType strong = bool_;
  bool any = false;
  Operand::Kind weak = Operand::None;
  for (const Operand* operand : operands) {
    if (operand->is_scalar()) {
      weak = std::max(weak, operand->kind);
    } else if (operand->tensor.defined()) {
      strong = any ? promote(strong, operand->tensor.dtype()) : operand->tensor.dtype();
      any = true;
    }
  }
  if (weak == Operand::Float && (!any || !is_floating(strong))) return f32;
  if (weak == Operand::Integer && (!any || strong == bool_)) return i32;
  return strong;
}

Tensor full_like_scalar(const Shape& shape, DType dtype, const Operand& value) {
  return dispatch(ops::constant, ConstantAttrs{dtype, shape, element_bits(dtype, value)}, {}, value.location);
}

Tensor to_tensor(Operand&& operand, DType dtype) {
  if (operand.is_scalar()) return full_like_scalar({}, dtype, operand);
  if (!operand.tensor.defined()) {
    throw Error(Code::kInvalidArgument, {.what = "an operand is an undefined tensor",
                                         .location = operand.location,
                                         .fix = "set the tensor before the call (Tensor() holds nothing)"});
  }
  if (operand.tensor.dtype() == dtype) return std::move(operand.tensor);
  return call_op(ops::convert, DTypeAttrs{dtype}, operand.location, std::move(operand.tensor));
}

Tensor to_tensor(Operand&& operand) {
  if (!operand.is_scalar() && operand.tensor.defined()) return std::move(operand.tensor);
  const Operand* one[] = {&operand};
  return to_tensor(std::move(operand), promoted(one));
}

Tensor broadcast_to(Tensor x, const Shape& shape, Location location) {
  if (x.shape() == shape) return x;
  Shape fitted;
  if (!broadcast_shapes(x.shape(), shape, fitted) || !(fitted == shape)) {
    throw Error(Code::kInvalidArgument,
                {.what = fmt::format("cannot broadcast {} to {}", to_string(x.type()), to_string(shape)),
                 .location = location,
                 .details = {"aligned from the last axis, each extent must be equal or 1"},
                 .fix = "reshape the smaller operand so that its axes line up"});
  }
  Ints dimensions;
  for (int i = 0; i < x.rank(); ++i) dimensions.push_back(shape.rank() - x.rank() + i);
  return call_op(ops::broadcast_in_dim, BroadcastAttrs{shape, dimensions}, location, std::move(x));
}

Tensor call_elementwise(const Op& op, AttrRef attrs, std::span<Operand* const> operands, bool floating) {
  const Location location = operands[0]->location;
  std::array<const Operand*, 3> view{};
  std::copy(operands.begin(), operands.end(), view.begin());
  DType dtype = promoted({view.data(), operands.size()});
  if (floating && !is_floating(dtype)) dtype = f32;
  Shape shape;
  bool first = true;
  for (const Operand* operand : operands) {
    if (operand->is_scalar() || !operand->tensor.defined()) continue;
    if (first) {
      shape = operand->tensor.shape();
      first = false;
    } else if (Shape joined; !(operand->tensor.shape() == shape)) {
      if (!broadcast_shapes(shape, operand->tensor.shape(), joined)) {
        ErrorParts parts{.what = fmt::format("shape mismatch in {}", op.name),
                         .location = LocationScope::resolve(location)};
        std::string types;
        for (const Operand* each : operands) {
          if (!each->is_scalar())
            types += (types.empty() ? "" : "   ") + std::string(each == operands[0] ? "a: " : "b: ") +
                     to_string(each->tensor.type());
        }
        parts.details = {
            types,
            fmt::format("shapes {} and {} do not broadcast: aligned from the last axis, extents must be equal or 1",
                        to_string(shape), to_string(operand->tensor.shape()))};
        parts.fix = "reshape one operand so that its axes line up";
        throw Error(Code::kInvalidArgument, std::move(parts));
      }
      shape = joined;
    }
  }
  std::array<Tensor, 3> inputs;
  for (size_t i = 0; i < operands.size(); ++i) {
    inputs[i] = operands[i]->is_scalar() ? full_like_scalar(shape, dtype, *operands[i])
                                         : broadcast_to(to_tensor(std::move(*operands[i]), dtype), shape, location);
  }
  return dispatch(op, attrs, {inputs.data(), operands.size()}, location);
}

}  // namespace hone
