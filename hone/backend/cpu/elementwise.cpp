// Elementwise ops: the functors of math/ over tiles; broadcast operands are spread block by block into L1.
#include <algorithm>
#include <array>
#include <optional>

#include "hone/backend/cpu/install.h"
#include "hone/backend/cpu/isa.h"
#include "hone/backend/cpu/map_works.h"
#include "hone/backend/cpu/spread.h"
#include "hone/base/parallel.h"
#include "hone/ops/attrs.h"
#include "hone/ops/kernel.h"
#include "hone/ops/table.h"

namespace hone {
namespace {

constexpr int64_t kBlock = 1024;  // elements spread at a time
constexpr size_t kOperands = 3;
constexpr int64_t kGrain = 16384;  // elements that are worth a thread

math::TileFn tile_of(const Op& op, std::span<const Tensor> inputs) {
  const DType dtype = inputs[&op == &ops::select ? 1 : 0].dtype();
  return kernels().elementwise[op.elementwise][static_cast<int>(dtype)];
}

const char* refuses(const KernelQuery& query) {
  return tile_of(query.op, query.inputs) ? nullptr : "no vector kernel for this dtype";
}

math::TileArgs arguments(const KernelCall& call) {
  math::TileArgs args{};
  for (size_t i = 0; i < call.inputs.size(); ++i) args.in[i] = call.inputs[i].mutable_bytes();
  args.out = call.outputs[0].mutable_bytes();
  if (call.attrs.type() == &attr_type<ParamAttrs>()) {
    args.params[0] = call.attrs.as<ParamAttrs>().a;
    args.params[1] = call.attrs.as<ParamAttrs>().b;
  }
  return args;
}

void run_spread(const KernelCall& call, math::TileFn tile, const math::TileArgs& args) {
  const size_t out_item = size_of(call.outputs[0].dtype());
  const BlockCuts cuts(call.inputs, kBlock);
  parallel_for(call.out_shape().count(), kGrain, [&](int64_t begin, int64_t end) {
    alignas(64) std::byte scratch[kOperands][kBlock * 8];
    std::array<std::optional<Spreader>, kOperands> spreaders;
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      const Tensor& input = call.inputs[i];
      if (!input.layout().dense) spreaders[i].emplace(input, size_of(input.dtype()));
    }
    for (int64_t at = begin; at < end;) {
      const int64_t stop = std::min(end, cuts.next(at));
      math::TileArgs block = args;
      for (size_t i = 0; i < call.inputs.size(); ++i) {
        block.in[i] = spreaders[i] ? spreaders[i]->block(scratch[i], at, stop - at)
                                   : static_cast<const std::byte*>(args.in[i]) +
                                         static_cast<size_t>(at) * size_of(call.inputs[i].dtype());
      }
      block.out = static_cast<std::byte*>(args.out) + static_cast<size_t>(at) * out_item;
      tile(block, 0, stop - at);
      at = stop;
    }
  });
}

void run(const KernelCall& call) {
  const math::TileFn tile = tile_of(call.op, call.inputs);
  const math::TileArgs args = arguments(call);
  for (const Tensor& input : call.inputs) {
    if (!input.layout().dense) return run_spread(call, tile, args);
  }
  parallel_for(call.outputs[0].size(), kGrain, [&](int64_t begin, int64_t end) { tile(args, begin, end); });
}

}  // namespace

void install_cpu_elementwise() {
  for (const Op* op : op_table()) {
    if (op->elementwise >= 0)
      add_kernels(*op, {{.name = "cpu.elementwise",
                         .refuses = refuses,
                         .run = run,
                         .works = map_works,
                         .reads_strides = true,
                         .in_place = true}});
  }
}

}  // namespace hone
