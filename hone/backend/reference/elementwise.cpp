// Elementwise ops one element at a time: the functors over Scalar.
#include <array>

#include "hone/backend/reference/install.h"
#include "hone/math/scalar.h"
#include "hone/math/tile.h"
#include "hone/ops/attrs.h"
#include "hone/ops/kernel.h"
#include "hone/ops/table.h"

namespace hone {
namespace {

namespace level = math::HONE_LEVEL;

constexpr math::TileRow kRows[] = {
#define ELEMENTWISE(name, arity, functor) level::tile_row<level::Scalar, level::functor, arity>(),
#include "hone/ops/ops.def"
};

math::TileFn tile_of(const Op& op, std::span<const Tensor> inputs) {
  const Tensor& typed = inputs[&op == &ops::select ? 1 : 0];
  return kRows[op.elementwise].tiles[static_cast<int>(typed.dtype())];
}

const char* refuses(const KernelQuery& query) {
  return tile_of(query.op, query.inputs) ? nullptr : "the op does not take this dtype";
}

void run(const KernelCall& call) {
  math::TileArgs args{};
  for (size_t i = 0; i < call.inputs.size(); ++i) args.in[i] = call.inputs[i].mutable_bytes();
  args.out = call.outputs[0].mutable_bytes();
  if (call.attrs.type() == &attr_type<ParamAttrs>()) {
    args.params[0] = call.attrs.as<ParamAttrs>().a;
    args.params[1] = call.attrs.as<ParamAttrs>().b;
  }
  tile_of(call.op, call.inputs)(args, 0, call.outputs[0].size());
}

}  // namespace

void install_reference_elementwise() {
  for (const Op* op : op_table()) {
    if (op->elementwise >= 0) add_kernels(*op, {{.name = "reference.elementwise", .refuses = refuses, .run = run}});
  }
}

}  // namespace hone
