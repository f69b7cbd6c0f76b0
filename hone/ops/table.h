// The op table: every op by name, in ops.def's order.
#pragma once
#include <span>
#include <string_view>

#include "hone/tensor/op.h"

namespace hone {

/// Slot of an op in the table.
enum class OpId : int {
#define OP(name) name,
#include "hone/ops/ops.def"
  kCount
};

/// Row of an elementwise op in the kernel tables of the instruction-set files; -1 for others.
constexpr int elementwise_row(OpId id) {
  constexpr OpId kRows[] = {
#define ELEMENTWISE(name, arity, functor) OpId::name,
#include "hone/ops/ops.def"
  };
  for (int i = 0; i < static_cast<int>(std::size(kRows)); ++i) {
    if (kRows[i] == id) return i;
  }
  return -1;
}

constexpr std::string_view name(OpId id) {
  constexpr std::string_view kNames[] = {
#define OP(name) #name,
#include "hone/ops/ops.def"
  };
  const std::string_view name = kNames[static_cast<int>(id)];
  return name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
}

/// The definitions; each stands in its family's file, so a missing one is a link error that names it.
namespace ops {
#define OP(name) extern const Op name;
#include "hone/ops/ops.def"
}  // namespace ops

/// All ops in ops.def's order.
std::span<const Op* const> op_table();
/// The op of this name, or null.
const Op* find_op(std::string_view name);

}  // namespace hone
