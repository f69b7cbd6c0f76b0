// What domains of rules are made of: tiny graphs over types that show the edges.
#pragma once
#include <functional>
#include <vector>

#include "hone/compiler/rules.h"
#include "hone/ops/attrs.h"
#include "hone/ops/table.h"

namespace hone::compiler::domain {

/// Builds one result from inputs of the given types.
using Make = std::function<ir::ValueId(ir::Builder& b, std::span<const ir::ValueId> inputs)>;
ir::Graph graph(std::initializer_list<TensorType> inputs, const Make& make);

inline ir::ValueId call(ir::Builder& b, const Op& op, AttrRef attrs, std::initializer_list<ir::ValueId> operands) {
  return b.add_one(op, attrs, {operands.begin(), operands.size()}, 0);
}
/// A constant of the type.
ir::ValueId constant(ir::Builder& b, const TensorType& type, double value);

/// f32, f64, f16, bf16.
inline constexpr DType kFloatTypes[] = {f32, f64, f16, bf16};
inline constexpr DType kSomeTypes[] = {f32, f64, f16, bf16, i8, i32, i64, u8, u64};
/// All shapes of at most `rank` axes with extents from 0, 1, 2, 3.
std::vector<Shape> shapes(int rank);
/// All orders of `rank` axes.
std::vector<Ints> permutations(int rank);

}  // namespace hone::compiler::domain
