#include "hone/backend/cpu/map_code.h"

#include <algorithm>
#include <cstring>

#include "hone/ops/attrs.h"
#include "hone/ops/table.h"

namespace hone {
namespace {

std::atomic<int64_t> compiled_count{0}, run_count{0};

}  // namespace

MapCodeCounts map_code_counts() { return {compiled_count, run_count}; }

MapCode::MapCode(const ir::Graph& body, IsaLevel level, uint64_t splats)
    : MachineCode("a fused call, which runs tile by tile"), level_(level), splats_(splats) {
  std::vector<int32_t> place(body.values());  // of a value of the body: operands first
  const auto add = [&](ir::ValueId v) {
    place[v] = static_cast<int32_t>(types_.size());
    types_.push_back(static_cast<int32_t>(body.type(v).dtype));
  };
  for (const ir::Input& input : body.inputs()) {
    add(input.value);
    items_.push_back(static_cast<uint8_t>(size_of(body.type(input.value).dtype)));
  }
  for (const ir::Node& node : body.nodes()) {
    codegen::MapStep step{};
    step.row = node.op == &ops::convert ? codegen::MapStep::kConvert : node.op->elementwise;
    step.operands = static_cast<int32_t>(node.operands);
    const std::span<const ir::ValueId> operands = body.operands(node);
    step.type = static_cast<int32_t>(body.type(operands[node.op == &ops::select ? 1 : 0]).dtype);
    for (size_t i = 0; i < operands.size(); ++i) step.in[i] = place[operands[i]];
    if (node.attrs.type() == &attr_type<ParamAttrs>()) {
      step.params[0] = node.attrs.as<ParamAttrs>().a;
      step.params[1] = node.attrs.as<ParamAttrs>().b;
    }
    steps_.push_back(step);
    add(node.first_result);
  }
  for (const ir::ValueId output : body.outputs()) {
    results_.push_back(place[output]);
    items_.push_back(static_cast<uint8_t>(size_of(body.type(output).dtype)));
  }
  const int32_t counts[] = {static_cast<int32_t>(level), static_cast<int32_t>(body.inputs().size()),
                            static_cast<int32_t>(steps_.size())};
  name_ = name(level);
  key_ = "map";
  append_key<int32_t>(key_, counts);
  append_key<uint64_t>(key_, {&splats_, 1});
  append_key<int32_t>(key_, types_);
  append_key<codegen::MapStep>(key_, steps_);
  append_key<int32_t>(key_, results_);
}

std::shared_ptr<MapCode> MapCode::of(const ir::Graph& body, IsaLevel level, uint64_t splats) {
  return std::static_pointer_cast<MapCode>(shared(std::shared_ptr<MapCode>(new MapCode(body, level, splats))));
}

MachineCode::Made MapCode::make(const codegen::Generator& generator, const codegen::TextSink& sink) {
  const codegen::MapCode code = generator.compile_map(
      {static_cast<codegen::Level>(level_), static_cast<int32_t>(types_.size() - steps_.size()), splats_, types_.data(),
       steps_.data(), static_cast<int32_t>(steps_.size()), results_.data(), static_cast<int32_t>(results_.size())},
      sink);
  if (code.run) lanes_ = code.lanes, ++compiled_count;
  return {reinterpret_cast<Function>(code.run), code.owner};
}

void MapCode::run(std::span<void* const> pointers, int64_t n) const {
  const auto code = reinterpret_cast<codegen::MapFn>(function());
  const int64_t whole = n - n % lanes_;
  if (whole > 0) code(pointers.data(), whole);
  if (whole < n) run_rest(pointers, whole, n - whole);
}

// The last elements, repeated to fill a vector: other lanes do what these do, and no more.
void MapCode::run_rest(std::span<void* const> pointers, int64_t begin, int64_t n) const {
  struct alignas(64) Pad {
    Pad() {}  // NOLINT(modernize-use-equals-default): which would fill it with zeros first
    std::byte bytes[codegen::kVectorBytes];
  };
  SmallVector<Pad, 24> pads(pointers.size());
  SmallVector<void*, 24> moved;
  const size_t operands = pointers.size() - results_.size();
  for (size_t i = 0; i < pointers.size(); ++i) {
    std::byte* const pad = pads[i].bytes;
    const bool splat = i < operands && codegen::splat(splats_, i);
    moved.push_back(splat ? pointers[i] : pad);
    if (i >= operands || splat) continue;
    const auto item = static_cast<int64_t>(items_[i]), bytes = lanes_ * item;
    std::memcpy(pad, static_cast<const std::byte*>(pointers[i]) + begin * item, static_cast<size_t>(n * item));
    for (int64_t filled = n * item; filled < bytes; filled *= 2)
      std::memcpy(pad + filled, pad, static_cast<size_t>(std::min(filled, bytes - filled)));
  }
  reinterpret_cast<codegen::MapFn>(function())(moved.data(), lanes_);
  for (size_t i = operands; i < pointers.size(); ++i) {
    const auto item = static_cast<int64_t>(items_[i]);
    std::memcpy(static_cast<std::byte*>(pointers[i]) + begin * item, pads[i].bytes, static_cast<size_t>(n * item));
  }
}

void MapCode::count_run() { run_count.fetch_add(1, std::memory_order_relaxed); }

}  // namespace hone
