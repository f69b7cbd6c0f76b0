#include "hone/ops/table.h"

namespace hone {
namespace {

constexpr const Op* kTable[] = {
#define OP(name) &ops::name,
#include "hone/ops/ops.def"
};

}  // namespace

std::span<const Op* const> op_table() { return kTable; }

const Op* find_op(std::string_view name) {
  for (const Op* op : kTable) {
    if (op->name == name) return op;
  }
  return nullptr;
}

}  // namespace hone
