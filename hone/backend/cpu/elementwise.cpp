// Elementwise ops: the functors of math/ over tiles; broadcast operands are spread block by block into L1.
#include <algorithm>
#include <cstring>

#include "hone/backend/cpu/install.h"
#include "hone/backend/cpu/isa.h"
#include "hone/base/parallel.h"
#include "hone/ops/attrs.h"
#include "hone/ops/kernel.h"
#include "hone/ops/table.h"

namespace hone {
namespace {

constexpr int64_t kBlock = 1024;   // elements spread at a time
constexpr int64_t kGrain = 16384;  // elements that are worth a thread

math::TileFn tile_of(const Op& op, std::span<const Tensor> inputs) {
  const DType dtype = inputs[&op == &ops::select ? 1 : 0].dtype();
  return kernels().elementwise[op.elementwise][static_cast<int>(dtype)];
}

const char* refuses(const KernelQuery& query) {
  return tile_of(query.op, query.inputs) ? nullptr : "no vector kernel for this dtype";
}

// An operand that is not dense: reads elements [begin, end) of the result's order into a block.
class Spreader {
 public:
  Spreader(const Tensor& tensor, const Shape& shape)
      : base_(tensor.mutable_bytes()),
        item_(size_of(tensor.dtype())),
        shape_(shape),
        strides_(tensor.layout().strides) {
    uniform_ = std::ranges::all_of(strides_, [](int64_t stride) { return stride == 0; });
  }
  bool uniform() const { return uniform_; }

  void fill(std::byte* to, int64_t begin, int64_t end) const {
    if (uniform_) return fill_one(to, base_, end - begin);
    Ints at(strides_.size(), 0);
    int64_t rest = begin, offset = 0;
    for (int axis = shape_.rank() - 1; axis >= 0; --axis) {
      const int64_t extent = shape_[axis].number();
      at[axis] = rest % extent;
      rest /= extent;
      offset += at[axis] * strides_[axis];
    }
    const int last = shape_.rank() - 1;
    const int64_t extent = shape_[last].number(), step = strides_[last];
    for (int64_t left = end - begin; left > 0;) {
      const int64_t run = std::min(left, extent - at[last]);
      const std::byte* from = base_ + offset * static_cast<int64_t>(item_);
      if (step == 1)
        std::memcpy(to, from, static_cast<size_t>(run) * item_);
      else if (step == 0)
        fill_one(to, from, run);
      else
        for (int64_t i = 0; i < run; ++i)
          std::memcpy(to + i * static_cast<int64_t>(item_), from + i * step * static_cast<int64_t>(item_), item_);
      to += run * static_cast<int64_t>(item_);
      left -= run;
      offset += run * step;
      at[last] += run;
      for (int axis = last; axis > 0 && at[axis] == shape_[axis].number(); --axis) {
        offset += strides_[axis - 1] - at[axis] * strides_[axis];
        at[axis] = 0;
        ++at[axis - 1];
      }
    }
  }

 private:
  void fill_one(std::byte* to, const std::byte* from, int64_t n) const {
    const auto fill = [&](auto kind) {
      decltype(kind) value;
      std::memcpy(&value, from, sizeof value);
      for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * static_cast<int64_t>(sizeof value), &value, sizeof value);
    };
    switch (item_) {
      case 1:
        return fill(uint8_t{});
      case 2:
        return fill(uint16_t{});
      case 4:
        return fill(uint32_t{});
      default:
        return fill(uint64_t{});
    }
  }

  const std::byte* base_;
  size_t item_;
  const Shape& shape_;
  Ints strides_;
  bool uniform_;
};

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
  const Shape& shape = call.out_shape();
  const size_t out_item = size_of(call.outputs[0].dtype());
  parallel_for(shape.count(), kGrain, [&](int64_t begin, int64_t end) {
    alignas(64) std::byte scratch[3][kBlock * 8];
    const int operands = static_cast<int>(call.inputs.size());
    for (int64_t at = begin; at < end; at += kBlock) {
      const int64_t stop = std::min(end, at + kBlock);
      math::TileArgs block = args;
      for (int i = 0; i < operands; ++i) {
        const Tensor& input = call.inputs[static_cast<size_t>(i)];
        if (input.layout().dense) {
          block.in[i] = static_cast<const std::byte*>(args.in[i]) + static_cast<size_t>(at) * size_of(input.dtype());
          continue;
        }
        const Spreader spreader(input, shape);
        if (at == begin || !spreader.uniform()) spreader.fill(scratch[i], at, stop);
        block.in[i] = scratch[i];
      }
      block.out = static_cast<std::byte*>(args.out) + static_cast<size_t>(at) * out_item;
      tile(block, 0, stop - at);
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
      add_kernels(
          *op, {{.name = "cpu.elementwise", .refuses = refuses, .run = run, .reads_strides = true, .in_place = true}});
  }
}

}  // namespace hone
